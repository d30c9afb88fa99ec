"""Derivatives through events against differences of fresh runs, for scenarios near those of the catalogue."""

import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.mutants import STRUCTURE, neighbour

from saltus.scenarios import load
from saltus.scenarios.kinds import model_of
from saltus.scenarios.replace import replace_keys

# Their directions are all numbers but those that must fit each other, and those at the end of what is allowed.
KEPT = (*STRUCTURE, "principal_inertia", "restitution", "solve")
STEPS = 1e-4, 5e-5, 1e-5, 5e-6  # relative; two pairs, each extrapolated
RIGHT = 3e-5
# How far derivatives of times may be off: by anything where the time is a matter of the tolerance.
TIMES = {"creeps": np.inf, "spins": np.inf, "slip_vanishes": 1e-3}
FIRST = 4  # events that are looked at: later ones may be chaos
CASES = {
    "sticking-pair": 3, "bowl-pendulum-friction": 3, "expression-surface": 3, "dome": 3, "chain": 2,
    "chain-friction": 3, "plane-spin-down": 3, "billiard-roll": 3, "rails-lost": 3, "rails-to-rest": 3,
    "butterfly-slip": 9, "tippe-top": 3, "stone-down-a-slope": 4,
}  # fmt: skip


def numbers(part, path=()):
    """The numbers of a scenario that are not zero, by their dotted keys."""
    for key, value in part.items() if isinstance(part, dict) else enumerate(part):
        if key in KEPT:
            continue
        if isinstance(value, dict | list):
            yield from numbers(value, (*path, str(key)))
        elif isinstance(value, float) and value != 0.0:
            yield ".".join((*path, str(key))), value


def first_events(run):
    return [(event.name, event.index) for event in run.events[:FIRST]]


def between_events(run):
    """The middle of each stretch between two of the first events, and of what follows them."""
    times = [0.0, *(event.t for event in run.events[:FIRST])]
    after = run.events[FIRST].t if len(run.events) > FIRST else float(run.end.t)
    middles = [0.5 * (a + b) for a, b in zip(times, [*times[1:], after], strict=True) if b - a > 1e-3]
    return np.array(middles or [0.5 * after])


def results(times, states):
    parts = [jnp.reshape(jnp.asarray(part), (states.t.size, -1)) for part in (states.q, states.v)]
    return jnp.asarray(times)[:FIRST], jnp.concatenate(parts, axis=1)


def extrapolated(fresh):
    """Two extrapolated differences of all results, each with what it may be off by."""
    differences = [jax.tree.map(lambda a, b, h=h: (a - b) / (2 * h), fresh(h), fresh(-h)) for h in STEPS]
    for coarse, fine in (differences[:2], differences[2:]):
        yield jax.tree.map(lambda x, y: ((4 * y - x) / 3, jnp.abs(y - x) / 3 + 1e-12), coarse, fine)


def off_by(derivative, found, unsure, scale):
    """How far a derivative is from differences, beyond what these may be off by."""
    return np.max(
        np.where(jnp.abs(derivative - found) > 3 * unsure, jnp.abs(derivative - found) / scale, 0.0), initial=0
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_derivatives_of_a_run_are_those_of_fresh_runs(name):
    base = load(name, []).scenario.model_dump(mode="json", exclude_none=True, exclude={"ensemble"})
    rng = random.Random(f"derivative {name}")
    for _ in range(CASES[name]):
        scenario = neighbour(base, rng)
        scenario["solve"].update(rtol=1e-11, atol=1e-13)
        model, known = model_of(scenario["kind"]).model_validate(scenario), dict(numbers(scenario))
        way = {key: rng.uniform(-1.0, 1.0) for key in known}

        def moved(share, model=model, known=known, way=way):
            return replace_keys(model, {key: value * (1.0 + share * way[key]) for key, value in known.items()})

        run = model.simulate()
        times = between_events(run)

        def again(share, run=run, times=times, moved=moved):
            replay = run.replay(*moved(share).build(), times=times)
            return results(replay.event_times, replay.states)

        def fresh(share, run=run, times=times, moved=moved):
            other = moved(share).simulate()
            assert first_events(other) == first_events(run)
            return results([event.t for event in other.events], other.states(times))

        _, (of_times, of_states) = jax.jvp(again, (0.0,), (1.0,))
        allowed = np.array([TIMES.get(event.name, RIGHT) for event in run.events[:FIRST]]) / RIGHT
        worst = []
        for (t, t_unsure), (state, unsure) in extrapolated(fresh):
            scale = jnp.maximum(jnp.max(jnp.abs(state), axis=1, keepdims=True), 1e-9)
            in_time = off_by(of_times, t, t_unsure, jnp.maximum(jnp.abs(t), 1e-6) * allowed)
            worst.append(max(in_time, off_by(of_states, state, unsure, scale)))
        assert min(worst) < RIGHT, scenario
