"""Whether a run is as accurate as its tolerances promise: told by its own energy balance and constraints.

Every system of saltus knows its energies, so an error shows without a reference. The promise is stated in `rtol`
alone: `atol` has units, and one that is too large for a state shows up here as what it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from saltus.diagnostics.drift import DRIFTS, drift_of
from saltus.diagnostics.energy import ENERGIES, balance_of
from saltus.hybrid import Outcome

FINEST = 1e-7  # relative balance that no run need keep better than, whatever its tolerance
COARSEST = 1e-2  # and the one beyond which a number means nothing any more
STEPS = 1e3  # errors of so many steps, each of size rtol, may add up
PER_STEP = 0.1  # and this part of the errors of all steps, if they are more

# What of `observe` tells the accuracy of a run.
TELLING = (*ENERGIES, *DRIFTS)


@dataclasses.dataclass(frozen=True)
class Promise:
    """What a run promises of its energy balance and constraints.

    Args:
        rtol: Relative error allowed per step; None for constant steps, which promise nothing.
        steps: Steps taken.
    """

    rtol: float | None
    steps: int = 0

    @property
    def relative(self) -> float:
        """Largest share of the exchanged energy that may be missing, and relative error of a length."""
        if self.rtol is None:
            return np.inf
        return min(max(FINEST, self.rtol * max(STEPS, PER_STEP * self.steps)), COARSEST)


def accuracy_measures(observed: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Of all that was observed, what tells the accuracy; elastic rods are meant to change their length."""
    left_out = ("rod_length",) if "rod_whole" in observed else ()
    return {name: np.asarray(observed[name]) for name in TELLING if name in observed and name not in left_out}


def assess(outcome: Outcome, observed: Mapping[str, np.ndarray], promise: Promise) -> Outcome:
    """The outcome of a run as its balance has it: `inaccurate` or `not_finite` in place of a success that is none.

    Of a body on the ground that was seen inside it: `overlap`.

    A run that ended otherwise keeps its outcome, with the same words added. A system that does not know its
    kinetic, potential and dissipated energy is taken at its word.

    Args:
        outcome: How the run ended.
        observed: Observed quantities, by name, over the run; the first axis is time.
        promise: What it promises.
    """
    values = accuracy_measures(observed)
    name, fault = _fault(values, promise)
    if fault is None:
        name, fault = _sunk(observed, promise)
    if fault is None:
        return outcome
    return Outcome(name if outcome.ok else outcome.name, f"{outcome.message} {fault}")


def _sunk(observed: Mapping[str, np.ndarray], promise: Promise) -> tuple[str, str | None]:
    """What is wrong with a body that was seen inside its ground, deeper than errors of this size can bring it."""
    if not {"gap", "jump_height", "contact_point", "position"} <= observed.keys():
        return "", None
    size = np.linalg.norm(observed["contact_point"] - observed["position"], axis=-1)
    near = size[(observed["jump_height"] == 0.0) & np.isfinite(size)]
    depth = -np.nanmin(observed["gap"], initial=0.0)
    if not near.size or not depth > min(promise.relative, COARSEST) * near.max():
        return "", None
    return "overlap", (
        f"But the body was seen {depth:.2g} m inside the ground, so that it has missed a landing. The ground has "
        "features much narrower than the body: make them wider, or the body smaller."
    )


def _fault(values: dict[str, np.ndarray], promise: Promise) -> tuple[str, str | None]:
    energies = {name: values[name] for name in ENERGIES if name in values}
    bad = [name for name, column in energies.items() if not np.isfinite(column).all()]
    if bad:
        text = f"But its {bad[0].replace('_', ' ')} is not a finite number: some quantity is too large or undefined."
        return "not_finite", text
    advice = "Lower rtol and atol (atol must be small against the state itself), or choose other units."
    if {"kinetic_energy", "potential_energy", "dissipated_energy"} <= energies.keys():
        relative = balance_of(energies).relative
        if relative > promise.relative:
            text = f"But {relative:.2g} of the exchanged energy is unaccounted for"
            return "inaccurate", f"{text}; the tolerances promise {promise.relative:.1g}. {advice}"
    drift = drift_of(values)
    if drift is not None and not drift <= promise.relative:
        text = f"But a length that is constant has changed by {drift:.2g} of itself"
        return "inaccurate", f"{text}; the tolerances promise {promise.relative:.1g}. {advice}"
    return "", None
