"""Benchmark problems through saltus: the adaptor that others are modelled on."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import jax.numpy as jnp
import numpy as np

from saltus import hybrid
from saltus.simulation import simulate
from saltus.validation.nonsmooth import problem
from saltus.validation.nonsmooth.problem import Formula, ProblemEvent, Record, Rule

RTOL, ATOL = 1e-12, 1e-14
MAX_EVENTS = 2000


def _array(formula: Formula):
    """A formula as a function of (t, y, p) that gives an array."""
    return lambda t, y, p: jnp.stack([jnp.asarray(one, float) for one in formula(jnp, t, y, p)])


def _number(formula: Formula):
    return lambda t, y, p: formula(jnp, t, y, p)


def _guard(rule: Rule) -> hybrid.Guard:
    armed = hybrid.always if rule.armed is None else rule.armed
    jump = None if rule.jump is None else _array(rule.jump)
    to = _number(rule.to) if callable(rule.to) else rule.to
    return hybrid.Guard(
        rule.name, _number(rule.function), armed, jump=jump, to=to, settle=rule.rest,
        ends="finished" if rule.ends else None,
    )  # fmt: skip


@functools.cache
def _template(model: str, names: tuple[str, ...]) -> hybrid.FunctionSystem:
    """The system of a model; one for all its cases, so that its program is compiled once."""
    chosen = problem(model)
    rates = {mode: _array(formula) for mode, formula in chosen.rates.items()}
    ones = dict.fromkeys(names, 1.0)
    size = len(chosen.start({**ones, "w": 0.5}))
    return hybrid.system(rates, jnp.zeros(size), [_guard(rule) for rule in chosen.rules], parameters=ones)


def system(model: str, given: Mapping[str, float]) -> tuple[hybrid.FunctionSystem, hybrid.State]:
    """The system of a model with these numbers, and its start."""
    chosen = problem(model)
    made = _template(model, tuple(given)).with_parameters(dict(given))
    return made, made.start(jnp.asarray(chosen.start(given), float), t=chosen.begins(given))


def solve(model: str, given: Mapping[str, float]) -> Record:
    """The record of a model with these numbers."""
    chosen = problem(model)
    made, start = system(model, given)
    run = simulate(made, start, chosen.until(given), rtol=RTOL, atol=ATOL, max_events=MAX_EVENTS)
    settled = next((event.t for event in run.events if event.name.endswith("_settled")), None)
    events = tuple(
        ProblemEvent(event.name, event.t, np.asarray(event.before.q), np.asarray(event.after.q)) for event in run.events
    )
    return Record(events, float(run.end.t), np.asarray(run.end.q), settled)
