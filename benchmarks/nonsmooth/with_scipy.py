"""Benchmark problems through SciPy: `solve_ivp` with terminal events, and a restart after each of them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from scipy.integrate import solve_ivp

from saltus.validation.nonsmooth import Problem, ProblemEvent, Record

RTOL, ATOL, METHOD = 1e-12, 1e-14, "DOP853"
MAX_EVENTS = 400
OVER = 1e-9  # [s]; how far a restart steps over an event of its own


def solve(problem: Problem, p: Mapping[str, float], max_step: float = np.inf) -> Record:
    """The record of a problem; events that pile up are not told from others."""
    modes, mode = list(problem.rates), 0
    t, y, until = problem.begins(p), np.asarray(problem.start(p), float), problem.until(p)
    events: list[ProblemEvent] = []
    while t < until and len(events) < MAX_EVENTS:
        name = modes[mode]
        rules = [rule for rule in problem.rules if rule.armed is None or name in rule.armed]
        rate = problem.rates[name]

        def watched(rule):
            def value(t, y):
                return float(rule.function(np, t, y, p))

            value.terminal, value.direction = True, -1.0
            return value

        span = (t, until)
        found = solve_ivp(
            lambda t, y, rate=rate: np.asarray(rate(np, t, y, p), float), span, y, METHOD,
            events=[watched(rule) for rule in rules], rtol=RTOL, atol=ATOL, max_step=max_step,
        )  # fmt: skip
        fired = [k for k, times in enumerate(found.t_events or ()) if len(times)]
        if not fired:
            return Record(tuple(events), float(found.t[-1]), found.y[:, -1])
        first = min(fired, key=lambda k: found.t_events[k][-1])
        if found.t_events[first][-1] <= t:
            # A guard that is zero at the restart fires at once, for ever: step over it, as users do.
            y = y + OVER * np.asarray(rate(np, t, y, p), float)
            t += OVER
            continue
        t, y = float(found.t_events[first][-1]), found.y_events[first][-1]
        rule, before = rules[first], y
        y = np.asarray(rule.jump(np, t, y, p), float) if rule.jump else y.copy()
        if isinstance(rule.to, str):
            mode = modes.index(rule.to)
        elif rule.to is not None:
            mode = int(rule.to(np, t, before, p))
        events.append(ProblemEvent(rule.name, t, before, y))
        if rule.ends:
            return Record(tuple(events), t, y)
        if not np.isfinite(y).all():
            return Record(tuple(events), math.nan, y)
    return Record(tuple(events), t, y)
