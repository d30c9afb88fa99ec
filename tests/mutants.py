"""Scenarios made from others by changing numbers: what a run of any of them must keep to."""

from __future__ import annotations

import copy
import math
import random
import warnings

import numpy as np
import pydantic

from saltus.diagnostics import energy_balance
from saltus.errors import ScenarioError
from saltus.hybrid.outcome import OUTCOMES
from saltus.scenarios.ground_body import EXTRAS
from saltus.scenarios.kinds import model_of
from saltus.simulation import Run

# Keys whose numbers change the program, not its data: another one would be compiled for each.
STRUCTURE = ("links", "between", "exponents", "samples", "max_events", "max_steps", "seed", "count")
EXTREME = (0.0, -1.0, 1e-12, 1e12, 1e-6, 1e6, 1e-300, 1e300, 5e-324)
LIMITS = {"max_steps": 2000, "max_events": 40, "samples": 101}


def mutant(base: dict, rng: random.Random, kept: tuple[str, ...] = ()) -> dict:
    """A scenario with one to three numbers changed: a little, by powers of ten, or to an extreme.

    Args:
        base: The scenario that is changed.
        rng: Where chance comes from.
        kept: More keys that stay as they are.
    """
    scenario = copy.deepcopy(base)
    scenario.setdefault("solve", {}).update(LIMITS)
    places = list(_numbers(scenario, (*STRUCTURE, *kept)))
    for holder, key in rng.sample(places, rng.randint(1, min(3, len(places)))):
        holder[key] = _changed(float(holder[key]), rng)
    if rng.random() < 0.3:
        scenario["solve"][rng.choice(["rtol", "atol"])] = 10.0 ** rng.uniform(-15, 0)
    if rng.random() < 0.1 and isinstance(scenario["solve"].get("until"), float):
        scenario["solve"]["until"] = rng.choice([1e-12, 1e6, 1e12, math.inf])
    return scenario


# Keys of numbers that choose another program where they are zero (no friction, a point contact), and of bounded ones.
SWITCHES = ("mu", "spot_radius", "half_angle", "table_friction")
BOUNDED = ("restitution", "principal_inertia")


def neighbour(base: dict, rng: random.Random) -> dict:
    """A scenario with every number changed by up to a quarter; zeros, tolerances and switches stay.

    Args:
        base: The scenario that is changed.
        rng: Where chance comes from.
    """
    scenario = copy.deepcopy(base)
    scenario.setdefault("solve", {}).update(max_events=60, samples=101)
    for holder, key in list(_numbers(scenario, (*STRUCTURE, *SWITCHES, *BOUNDED, "rtol", "atol", "step", "patience"))):
        holder[key] = float(holder[key]) * 10.0 ** rng.uniform(-0.1, 0.1)
    shape = scenario.get("body", {}).get("shape", {})
    # What belongs to shapes of another form has its default, and may have no other.
    for key, form in EXTRAS.items():
        if key in shape and form not in shape:
            shape[key] = base["body"]["shape"][key]
    return scenario


def _changed(value: float, rng: random.Random) -> float:
    choice = rng.random()
    if choice < 0.5:
        return value * 10.0 ** rng.uniform(-0.5, 0.5) if value else rng.uniform(-1.0, 1.0)
    if choice < 0.8:
        return math.copysign(10.0 ** rng.uniform(-12, 12), value)
    return rng.choice(EXTREME)


def _numbers(part, kept: tuple[str, ...]):
    """Where numbers stand in a scenario: what holds them, and their key."""
    items = part.items() if isinstance(part, dict) else enumerate(part)
    for key, value in items:
        if key in kept:
            continue
        if isinstance(value, dict | list):
            yield from _numbers(value, kept)
        elif isinstance(value, float):
            yield part, key


def run_mutant(scenario: dict) -> Run | str:
    """Its run, or why it is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return model_of(scenario["kind"]).model_validate(scenario).simulate()
        except (ScenarioError, pydantic.ValidationError) as error:
            return str(error)


def faults(scenario: dict) -> list[str]:
    """What is wrong with the run of a scenario; nothing if it is refused in words."""
    run = run_mutant(scenario)
    if isinstance(run, str):
        return [] if run.strip() else ["refused without a word"]
    found = []
    if run.outcome.name not in OUTCOMES or not run.outcome.message:
        found.append(f"ended without a word: {run.outcome}")
    if getattr(run.trajectory, "steps", 0) > 4 * LIMITS["max_steps"]:
        found.append(f"took {run.trajectory.steps} steps")
    dataset = run.to_dataset(times=LIMITS["samples"])
    if OUTCOMES[dataset.attrs["outcome"]]:
        balance = energy_balance(dataset)
        names = ("kinetic_energy", "potential_energy", "dissipated_energy")
        if not all(np.isfinite(dataset[name].values).all() for name in names):
            found.append("energies that are no numbers, without a word")
        if balance.relative > run.promise.relative:
            found.append(f"energy balance off by {balance.relative:.1e}, without a word")
    return found
