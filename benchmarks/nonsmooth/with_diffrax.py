"""Benchmark problems through plain diffrax: `diffeqsolve` with `Event`, and a restart from Python after each of them."""

from __future__ import annotations

from collections.abc import Mapping

import saltus  # noqa: F401  (double precision)

import diffrax  # isort: skip
import jax  # isort: skip
import jax.numpy as jnp
import numpy as np
import optimistix as optx

from saltus.validation.nonsmooth import Problem, ProblemEvent, Record

RTOL, ATOL = 1e-12, 1e-14
MAX_EVENTS = 400
OVER = 1e-9  # [s]; how far a restart steps over an event of its own


def _solver(problem: Problem, mode: str):
    """One compiled solve in a mode: from (t, y) to an event or the end."""
    rules = [rule for rule in problem.rules if rule.armed is None or mode in rule.armed]
    rate = problem.rates[mode]

    def field(t, y, p):
        return jnp.stack([jnp.asarray(one, float) for one in rate(jnp, t, y, p)])

    conditions = [lambda t, y, args, r=rule, **_: r.function(jnp, t, y, args) for rule in rules]
    event = diffrax.Event(conditions, optx.Newton(1e-14, 1e-14), direction=[False] * len(rules)) if rules else None

    @jax.jit
    def solve(t, y, until, p):
        found = diffrax.diffeqsolve(
            diffrax.ODETerm(field), diffrax.Dopri8(), t, until, None, y, p, event=event, max_steps=100_000,
            stepsize_controller=diffrax.PIDController(rtol=RTOL, atol=ATOL), throw=False,
        )  # fmt: skip
        fired = jnp.stack([jnp.asarray(one) for one in found.event_mask]) if rules else jnp.zeros(0, bool)
        return found.ts[-1], found.ys[-1], fired, field(t, y, p)

    return rules, solve


class Diffrax:
    """Solves one model; its programs are kept."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.solvers = {mode: _solver(problem, mode) for mode in problem.rates}

    def solve(self, given: Mapping[str, float]) -> Record:
        """The record of the problem with these numbers."""
        problem, modes, mode = self.problem, list(self.problem.rates), 0
        p = {name: jnp.asarray(value, float) for name, value in given.items()}
        t, y, until = problem.begins(given), jnp.asarray(problem.start(given), float), problem.until(given)
        events: list[ProblemEvent] = []
        while t < until and len(events) < MAX_EVENTS:
            rules, solve = self.solvers[modes[mode]]
            t_new, y_new, fired, rate = solve(t, y, until, p)
            t_new, fired = float(t_new), np.flatnonzero(np.asarray(fired))
            if not fired.size:
                return Record(tuple(events), t_new, np.asarray(y_new))
            if t_new <= t + 1e-14:
                t, y = t + OVER, y + OVER * rate  # fires at its own restart: step over it
                continue
            rule, before = rules[fired[0]], np.asarray(y_new)
            after = before if rule.jump is None else np.asarray(rule.jump(np, t_new, before, given), float)
            if isinstance(rule.to, str):
                mode = modes.index(rule.to)
            elif rule.to is not None:
                mode = int(rule.to(np, t_new, before, given))
            events.append(ProblemEvent(rule.name, t_new, before, after))
            t, y = t_new, jnp.asarray(after)
            if rule.ends:
                break
        return Record(tuple(events), t, np.asarray(y))


_kept: dict[int, Diffrax] = {}


def solve(problem: Problem, given: Mapping[str, float]) -> Record:
    """The record of a problem."""
    return _kept.setdefault(id(problem), Diffrax(problem)).solve(given)
