"""A gas from start to results, with checkpoints from which it goes on bit by bit."""

from __future__ import annotations

import bisect
import copy
import dataclasses
import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from saltus.errors import ScenarioError
from saltus.gas.dataset import dataset_of
from saltus.gas.measure import Gas, Report
from saltus.hybrid import Outcome
from saltus.io.files import atomic_write
from saltus.programs.arrays import numbers as as_numbers

if TYPE_CHECKING:
    import xarray as xr

    from saltus.systems.gas import Bodies

SAVE_EVERY = 10.0  # seconds between two checkpoints
FORM = 3  # of a checkpoint
MOVING = ("place", "velocity", "quaternion", "momentum")  # what of a body changes


@dataclasses.dataclass(frozen=True)
class GasRun:
    """A gas that has been let run.

    Args:
        gas: What was measured.
        outcome: Why it ended.
        wall_time: Seconds it took to compute.
        more: Further variables of its dataset.
        facts: Attributes of its dataset that the gas does not know.
    """

    gas: Gas
    outcome: Outcome
    wall_time: float
    more: dict[str, Any] = dataclasses.field(default_factory=dict)
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)
    events: tuple = ()

    def at(self, t: float) -> Bodies:
        """The bodies at any time between the first and the last of the states that are kept [s].

        They fly and collide again from the last kept state before that, for a few contacts per body at most (one in
        large boxes), each of which loses about a digit of 1e-16.
        """
        times = [when for when, _, _ in self.gas.film]
        if not times or not times[0] <= t <= times[-1]:
            kept = f"from {times[0]:.9g} to {times[-1]:.9g} s" if times else "nowhere"
            raise ValueError(f"`t` must be a time at which states are kept, {kept}, got {t}.")
        k = bisect.bisect_right(times, t) - 1
        again = copy.copy(self.gas.hard)
        again.outcome = None
        again.restart(self.gas.film[k][2])
        if t > times[k]:
            again.advance(t - times[k])
        return again.snapshot()

    def to_dataset(self, times: Any = None, attributes: dict[str, Any] | None = None) -> xr.Dataset:
        """Averages, correlations and the last states.

        Args:
            times: Times at which states are wanted instead of those that are kept (`at`) [s]; a mere number of times
                is not used.
            attributes: Further attributes of the dataset.
        """
        states = None if np.ndim(times) == 0 else [(float(t), self.at(float(t))) for t in np.asarray(times, float)]
        return dataset_of(self.gas, self.outcome, self.facts | (attributes or {}), states).assign(self.more)


def run(
    gas: Gas | Callable[[], Gas],
    *,
    equilibrate: int,
    collisions: float = np.inf,
    until: float = np.inf,
    report: Report | None = None,
    checkpoint: Checkpoint | None = None,
) -> GasRun:
    """Equilibrate and measure.

    Args:
        gas: The gas, or what makes it; from a checkpoint it is made and then filled.
        equilibrate: Contacts before averages begin.
        collisions: Contacts that enter the averages.
        until: Time at which to end at the latest [s].
        report: Called with the time and the number of contacts.
        checkpoint: Where to save now and then, and to go on from.
    """
    began = time.perf_counter()
    gas = gas() if callable(gas) else gas
    if checkpoint is not None:
        checkpoint.restore(gas)

    def is_due() -> bool:
        return checkpoint is not None and checkpoint.is_due()

    def save() -> bool:
        if checkpoint is not None and checkpoint.is_due():
            checkpoint.save(gas)
        return False

    if gas.begun is None:
        gas.equilibrate(equilibrate, report, stop=save)
    gas.measure(collisions, until, report, stop=save, due=is_due)
    outcome = gas.outcome or Outcome(
        "finished", f"{gas.contacts} collisions were measured up to t = {gas.hard.time:g} s."
    )
    if checkpoint is not None:
        checkpoint.path.unlink(missing_ok=True)
    return GasRun(gas, outcome, time.perf_counter() - began)


class Checkpoint:
    """A file with all numbers of a gas, from which it goes on bit by bit.

    Args:
        path: The file (.npz).
        identity: Text of the scenario; another one is refused.
        resume: Whether to go on from the file, if it is there.
        every: Seconds between two saves.
    """

    def __init__(self, path: Path, identity: str, *, resume: bool, every: float = SAVE_EVERY):
        self.path, self.resume, self.every = Path(path), resume, every
        self.identity = hashlib.sha256(identity.encode()).hexdigest()
        self.last = time.monotonic()

    def is_due(self) -> bool:
        """Whether the last time that it was saved is long ago."""
        return time.monotonic() - self.last >= self.every

    def save(self, gas: Gas) -> None:
        """Save all numbers, whole or not at all."""
        hard, series, memory = gas.hard, gas.series, gas.correlations
        numbers = {f"fluid_{k}": np.asarray(leaf) for k, leaf in enumerate(jax.tree.leaves(hard.fluid))}
        # Both are empty before averages begin.
        numbers |= {f"ring_{k}": part for k, part in enumerate(memory.ring)}
        numbers |= {f"film_{name}": np.array([getattr(one, name) for _, _, one in gas.film]) for name in MOVING}
        begun = np.nan if gas.begun is None else gas.begun
        with atomic_write(self.path) as temporary:
            np.savez(
                temporary,
                form=FORM,
                identity=np.array(self.identity),
                sizes=np.array([hard.arena.room, hard.arena.cell_room]),
                clock=np.array([hard.time, float(hard.terms.scale), gas.step, begun, gas.energy, gas.lost]),
                film=np.array([(t, lost) for t, lost, _ in gas.film]).reshape(-1, 2),
                counts=np.array([gas.equilibrated, gas.next_pairs, series.per_bin, series.n_pending]),
                samples=gas.pairs.samples,
                bins=series.bins,
                pending=series.pending,
                sums=memory.sums,
                lags=memory.counts,
                pairs=gas.pairs.counts,
                allow_pickle=False,
                **numbers,
            )
        self.last = time.monotonic()

    def restore(self, gas: Gas) -> None:
        """Fill a newly made gas with what was saved; without a file, or if not asked to, leave it as it is."""
        if not self.resume or not self.path.exists():
            return
        try:
            with np.load(self.path, allow_pickle=False) as saved:
                numbers = {name: saved[name] for name in saved.files}
            known = int(numbers["form"]) == FORM and str(numbers["identity"])
        except (OSError, ValueError, KeyError) as error:
            raise ScenarioError(f"Cannot read {str(self.path)!r} as a checkpoint: {error}.") from error
        if known != self.identity:
            raise ScenarioError(
                f"{str(self.path)!r} is the checkpoint of another scenario. Remove it, or run without --resume."
            )
        _fill(gas, numbers)


def _fill(gas: Gas, numbers: dict[str, np.ndarray]) -> None:
    """A gas as it was when its checkpoint was written."""
    hard = gas.hard
    room, cell_room = (int(size) for size in numbers["sizes"])
    hard.arena = dataclasses.replace(hard.arena, room=room, cell_room=cell_room)
    form = jax.tree.structure(hard.fluid)
    hard.fluid = jax.tree.unflatten(form, [as_numbers(numbers[f"fluid_{k}"], None) for k in range(form.num_leaves)])
    hard.time, scale, gas.step, begun, gas.energy, gas.lost = (float(number) for number in numbers["clock"])
    gas.begun = None if np.isnan(begun) else begun
    states = zip(*(numbers[f"film_{name}"] for name in MOVING), strict=True)
    bodies = [dataclasses.replace(hard.bodies, **dict(zip(MOVING, state, strict=True))) for state in states]
    gas.film = [(float(t), float(lost), one) for (t, lost), one in zip(numbers["film"], bodies, strict=True)]
    # As the run itself makes them: numbers of another type would be for another program, which rounds in its own way.
    hard.terms = dataclasses.replace(hard.terms, scale=as_numbers(scale))
    gas.equilibrated, gas.next_pairs, per_bin, n_pending = (int(number) for number in numbers["counts"])
    gas.series.bins, gas.series.pending = numbers["bins"], numbers["pending"]
    gas.series.per_bin, gas.series.n_pending = per_bin, n_pending
    gas.correlations.sums, gas.correlations.counts = numbers["sums"], numbers["lags"]
    gas.correlations.ring = tuple(numbers[name] for name in ("ring_0", "ring_1", "ring_2") if name in numbers)
    gas.pairs.counts, gas.pairs.samples = numbers["pairs"], int(numbers["samples"])
