"""What is kept of every run of an ensemble: how it ended, its extremes, its last state."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.hybrid.outcome import OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Callable

    from jaxtyping import Array

    from saltus.hybrid import HybridSystem, State

FAILED = "failed"  # a sample that could not be built
OUTCOME_NAMES = (*OUTCOMES, FAILED)

# Quantities whose largest size over a run is kept, where a system has them, and what that is called.
PEAKS = {
    "velocity": ("largest_speed", "largest speed of any body"),
    "angular_velocity": ("largest_angular_speed", "largest angular speed of any body"),
    "slip": ("largest_slip", "largest slip at any contact"),
    "normal_force": ("largest_normal_force", "largest reaction of a support"),
    "rod_force": ("largest_rod_force", "largest force in any rod, pull or push"),
    "tension": ("largest_tension", "largest tension in any link"),
    "edge_force": ("largest_edge_force", "largest force of the edge of the table"),
    "jump_height": ("largest_jump_height", "largest height over the ground"),
}
# Such as are wanted of some kinds only.
PEAKS_OF_KINDS = {"ground_body": {"kinetic_energy": ("largest_kinetic_energy", "largest kinetic energy")}}
# Quantities of the last state that are kept.
LAST = ("position", "velocity", "quaternion", "angular_velocity", "mode")
HORIZONTAL_KINDS = ("sliding", "raft", "rails", "plane_ball", "ground_body")  # x and y are horizontal there


STOPPED = "stopped"
MISSING, RESTS = "missing energy", "rests"  # of what `at_end` tells, those that are not kept
# Where a run has not stopped, what it reached says only that the value is no smaller (censored on the right).
CENSORED = {"censored_unless": STOPPED}


@dataclasses.dataclass(frozen=True)
class Column:
    """One number or small array per sample.

    Args:
        dims: Names of the dimensions after `sample`.
        shape: Their lengths.
        dtype: Type of the numbers.
        units: SI units; "1" for pure numbers.
        long_name: A phrase for a plot's axis.
        attributes: More to say, such as the names of codes.
    """

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype
    units: str
    long_name: str
    attributes: dict = dataclasses.field(default_factory=dict)


def flags(names: Sequence[str]) -> dict[str, Any]:
    """What the codes 0, 1, ... of a column mean, as its attributes."""
    return {"flag_values": list(range(len(names))), "flag_meanings": " ".join(name.replace(" ", "_") for name in names)}


def columns(system: HybridSystem, start: State) -> dict[str, Column]:
    """What is kept of a run of this system."""
    import equinox as eqx

    known, real, whole = system.quantities(), np.dtype(float), np.dtype(np.int32)
    shapes = eqx.filter_eval_shape(lambda system, state: system.observe(state), system, start)
    kept = {
        "outcome": Column((), (), whole, "1", "how the run ended", flags(OUTCOME_NAMES)),
        "stop_time": Column((), (), real, "s", "time at which nothing moved any more, or the run ended", CENSORED),
        STOPPED: Column((), (), whole, "1", "1 if nothing moves any more at the end, 0 if the run ended before"),
        "events": Column((), (), whole, "1", "number of events"),
    }
    if "dissipated_energy" in known:
        kept["energy_lost"] = Column((), (), real, "J", "energy lost in the run")
    if "position" in known and system.kind in HORIZONTAL_KINDS:
        kept["run_out"] = Column((), (), real, "m", "largest horizontal distance between start and end", CENSORED)
    if system.others_go_on:
        kept["masses_left"] = Column((), (), whole, "1", "masses that left the region of the surface")
    for name in peaks(system):
        label, phrase = about_peak(system, name)
        kept[label] = Column((), (), real, known[name].units, phrase)
    for name in _last(system):
        if name in known:
            about, shape = known[name], tuple(shapes[name].shape)
            dtype, more = (whole, flags(system.mode_names)) if name == "mode" else (real, {})
            kept[f"final_{name}"] = Column(about.dims, shape, dtype, about.units, f"{about.long_name} at the end", more)
    return kept


def peaks(system: HybridSystem) -> tuple[str, ...]:
    """The quantities of the system whose largest size is kept."""
    known = system.quantities()
    return tuple(name for name in (*PEAKS, *PEAKS_OF_KINDS.get(system.kind, ())) if name in known)


def about_peak(system: HybridSystem, name: str) -> tuple[str, str]:
    """What the largest size of a quantity is called, and a phrase for it."""
    return PEAKS[name] if name in PEAKS else PEAKS_OF_KINDS[system.kind][name]


@functools.cache
def watch(names: tuple[str, ...]) -> Callable[[HybridSystem, State], Array]:
    """The function that gives the sizes of these quantities at an instant; the same one for the same names."""
    import jax.numpy as jnp

    def largest(system, state, *seen):
        observed, known = system.observe_by(state, *seen) if seen else system.observe(state), system.quantities()
        if not names:
            return jnp.zeros(0)
        return jnp.stack([jnp.max(sizes(jnp, observed[name], known[name].dims), initial=0.0) for name in names])

    return largest


def sizes(xp, values, dims):
    """Lengths of a vector quantity, or absolute values of another; NaN does not count."""
    if dims and dims[-1] == "axis":
        values = xp.sqrt(xp.sum(values**2, axis=-1))
    return xp.nan_to_num(xp.abs(values))


def stop_times(rests, end_time, last_event) -> np.ndarray:
    """When each run came to rest for good; the time of its end if something moves there.

    Args:
        rests: Which runs are at rest at their end.
        end_time: When each ended [s].
        last_event: Time of the last event of each, 0 for none [s].
    """
    return np.where(rests, last_event, np.asarray(end_time))


def has_stopped(rests, end_time, outcome, until) -> np.ndarray:
    """Which of these runs showed their end: at rest, or finished by an event of their own before `until`."""
    from saltus.engines.loop import FOREVER

    finished = np.asarray(outcome) == OUTCOME_NAMES.index("finished")
    by_event = finished & (np.asarray(end_time) < np.minimum(until, FOREVER))
    return (np.asarray(rests) | by_event).astype(np.int32)


def at_end(system: HybridSystem, start: State, end: State) -> dict[str, Array]:
    """What follows from the first and the last state of one run; traced."""
    import jax.numpy as jnp

    first, last = system.observe(start), system.observe(end)
    kept = {RESTS: _rests(system, end)}
    if "dissipated_energy" in last:
        kept["energy_lost"] = last["dissipated_energy"] - first["dissipated_energy"]
    if system.balanced and {"kinetic_energy", "potential_energy", "dissipated_energy"} <= last.keys():
        kept[MISSING] = _missing_energy(first, last)
    if "position" in last and system.kind in HORIZONTAL_KINDS:
        way = (last["position"] - first["position"])[..., :2]
        kept["run_out"] = jnp.max(jnp.sqrt(jnp.sum(way**2, axis=-1)))
    if system.others_go_on:
        kept["masses_left"] = jnp.sum(last["mode"] == system.mode_names.index("gone"))
    return kept | {f"final_{name}": last[name] for name in _last(system) if name in last}


def _rests(system: HybridSystem, state: State) -> Array:
    """Whether nothing moves: no velocity, or, in a system that keeps none apart, no rate of anything; traced."""
    import jax
    import jax.numpy as jnp

    from saltus.hybrid import AbstractSystem

    moving = [part for part in jax.tree.leaves(state.v) if part.size]
    if not moving and isinstance(system, AbstractSystem):
        moving = jax.tree.leaves(system.rate(state))
    return jnp.all(jnp.stack([jnp.all(part == 0.0) for part in moving]))


def _missing_energy(first: dict[str, Array], last: dict[str, Array]) -> Array:
    """Share of the exchanged energy that is unaccounted for at the end, as `diagnostics.energy` has it; traced."""
    import jax.numpy as jnp

    from saltus.diagnostics.energy import ENERGIES, residual_of

    over_time = {name: jnp.stack([first[name], last[name]]) for name in ENERGIES if name in last}
    residual, scale, rounding = residual_of(over_time, jnp)
    return jnp.where(residual <= rounding, 0.0, residual) / jnp.where(scale > 0.0, scale, 1.0)


def _last(system: HybridSystem) -> tuple[str, ...]:
    """The quantities of the last state that are kept: of a system of the user's own, all of them."""
    return tuple(system.quantities()) if system.kind == "own" else LAST
