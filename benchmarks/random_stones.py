"""Random stones on random ground, many at once: what must hold for every one of them.

    python benchmarks/random_stones.py --first 0 --count 10000 --workers 16

Each stone has its own number, which decides its shape (half of them ellipsoids, half blocks), density, friction,
restitution, pose and throw; `TOGETHER` stones in a row share a piece of ground. Checked after every jump and every
step of every stone: its energy has not grown, and it is not inside the ground by more
than 1e-9 m. Then: it comes to an end; the same stones computed once more, without looking, end with the same bits; and
the first stone of every group does in its first bounces what it does alone. One line for each stone that fails, and one
for each group; the exit code is 1 if one fails.

The stones of all groups run in the same compiled programs, which one process makes and the others load.
"""

from __future__ import annotations

import argparse
import fcntl
import functools
import os
import sys
import tempfile
import time
from concurrent.futures import as_completed
from pathlib import Path

import numpy as np

TOGETHER = 200  # stones in one batch, on one piece of ground
FEW = 16  # stones that are run before all others, so that everything is compiled once
RTOL, ATOL = 1e-7, 1e-9
GROWTH = 1e-6  # of the energy that a stone loses in all; the tolerances promise a tenth of it per step
DEEPEST = 1e-9  # [m]
BOUNCES, ALIKE = 3, 1e-6  # events up to which a stone is compared with itself alone, and how near it must be [m]
ENDS = {"at_rest", "left_domain", "several_contacts", "finished", "ill_posed"}


def numbers_of(stone: int) -> np.ndarray:
    """What is random about a stone."""
    rng = np.random.default_rng([stone, 15])
    axes, exponent = rng.uniform(0.2, 0.6, 3), rng.choice([2.0, rng.uniform(2.0, 4.0)])
    rest = rng.uniform([2000.0, 0.3, 0.1, 0.3, 0.05, 10.0, 40.0, 0.1], [3000.0, 0.8, 0.5, 0.8, 0.15, 30.0, 70.0, 2.0])
    return np.concatenate([axes, [exponent], rest, rng.normal(size=10)])


def ground(group: int):
    """A slope of 25 degrees with random hills, about a metre high and ten metres wide."""
    from scipy.ndimage import gaussian_filter

    from saltus.surfaces import Terrain

    rough = gaussian_filter(np.random.default_rng([group, 16]).normal(size=(24, 40)), 2.0) * 8.0
    return Terrain(rough - 0.47 * 5.0 * np.arange(40), spacing=5.0)


def stone(numbers, surface):
    """The system of a stone and its start."""
    from saltus.laws.friction import Coulomb
    from saltus.laws.impact import Soil
    from saltus.shapes import Block, Solid
    from saltus.systems import BodyOnGround

    axes, exponent, density, mu, restitution, rub, lever, x, y, height = (numbers[:3], *numbers[3:12])
    body = Solid(Block(axes, exponent), density=density)
    system = BodyOnGround(
        surface, body, Coulomb(mu), Soil(restitution, rub, reference_mass=300.0), rolling_friction=lever,
        settle_height=1e-4, patience=200.0,
    )  # fmt: skip
    start = system.start(
        [x, y], velocity=numbers[12:15], quaternion=numbers[15:19], angular_velocity=numbers[19:22], height=height
    )
    return system.with_tolerance(RTOL), start


def build(vectors: np.ndarray, surface):
    """The systems of many stones, apart into what differs and what they share, and their starts."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    from saltus import checks

    kept: list = []

    def make(vector):
        with checks.noting():
            system, start = stone(vector, surface)
        varying, shared = eqx.partition(system, lambda leaf: isinstance(leaf, type(vector)))
        kept[:] = [shared, jax.tree.structure(varying)]
        return jax.tree.leaves(varying), start

    leaves, start = jax.tree.map(np.asarray, jax.vmap(make)(jnp.asarray(vectors)))
    return jax.tree.unflatten(kept[1], leaves), kept[0], start


@functools.cache
def measurement():
    """The program that tells energies and gaps of many stones."""
    import equinox as eqx
    import jax

    from saltus.programs import program
    from saltus.systems.ground_body.mechanics import look

    @program
    def measure(varying, shared, states):
        def one(varying, state):
            system = eqx.combine(varying, shared)
            return sum(system.energies(state)), look(system, state).touch.gap

        return jax.vmap(one)(varying, states)

    return measure


class Watcher:
    """Looks at the stones of a group at their steps and jumps: energies, gaps, and where the first one bounces.

    Args:
        varying: The numbers of the stones that differ, stacked.
        courses: Where they went (`engines.batch_times.Courses`).
        lanes: Their ends.
    """

    def __init__(self, varying, courses, lanes):
        from saltus.engines.trial import Status

        self.first, self.last, self.growth, self.depth = np.zeros((4, TOGETHER))
        for row in range(TOGETHER):
            knots = courses.knots(row)
            energy, gap = measure(varying, courses.shared, row, knots)
            self.first[row], self.last[row] = energy[0], energy[-1]
            self.growth[row] = np.diff(energy).max(initial=0.0)
            # Beyond a border, such as that of the map, nothing is known of the ground.
            known = (knots.t < knots.t[-1]) | (lanes.status[row] not in (Status.event, Status.over))
            self.depth[row] = -gap[known].min(initial=0.0)
        knots = courses.knots(0)
        jumps = (np.diff(knots.mode) != 0) | ((np.diff(knots.t) == 0.0) & np.diff(knots.v.velocity, axis=0).any(axis=1))
        events = np.concatenate([[0], np.cumsum(jumps)])
        self.passages = list(zip(events, knots.t, knots.q.centre, strict=True))[1:-1]


def measure(varying, shared, row: int, knots) -> tuple[np.ndarray, np.ndarray]:
    """Energy and gap of one stone at all its knots."""
    import jax

    same, found = jax.tree.map(lambda part: np.asarray(part)[np.full(TOGETHER, row)], varying), []
    for first in range(0, len(knots.t), TOGETHER):
        rows = np.minimum(np.arange(first, first + TOGETHER), len(knots.t) - 1)
        some = jax.tree.map(lambda part, rows=rows: part[rows], knots)
        found.append([np.asarray(part)[: len(knots.t) - first] for part in measurement()(same, shared, some)])
    energy, gap = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return energy, gap


def run_group(group: int, first: int, last: int) -> tuple[list[str], dict[str, int], float]:
    """Run stones of a group, all before `last`: what fails, how they end, and the CPU time of a plain run [s]."""
    import jax

    from saltus.engines import batch
    from saltus.engines.batch_times import Courses
    from saltus.engines.choice import Options, parts_for
    from saltus.ensembles.compute import outputs

    surface = ground(group)
    count = last - first
    vectors = np.stack([numbers_of(min(k, last - 1)) for k in range(first, first + TOGETHER)])
    varying, shared, start = build(vectors, surface)
    own = stone(vectors[0], surface)
    _, stepper, control = parts_for(own[0], Options(rtol=RTOL, atol=ATOL), 0.0)
    settings = batch.BatchSettings(stepper, control, outputs.watch(()), 4096, 100_000)
    goes, courses = np.arange(TOGETHER) < count, Courses(varying, shared, settings, start)
    looked = batch.run(varying, shared, start, np.inf, settings, goes=goes, keep_knots=courses.keep)
    watcher = Watcher(varying, courses, looked)
    began = time.process_time()
    again = batch.run(varying, shared, start, np.inf, settings, goes=goes)
    took = time.process_time() - began
    outcomes = ends_of(looked, shared)[:count]
    fall = np.maximum(watcher.first - watcher.last, 1e-3 * np.abs(watcher.first))
    differs = np.zeros(TOGETHER, bool)
    for one, other in zip(jax.tree.leaves(looked.state), jax.tree.leaves(again.state), strict=True):
        differs |= ~(one == other).reshape(TOGETHER, -1).all(axis=1)
    failures = []
    for k in range(count):
        what = [f"ends as {outcomes[k]}"] if outcomes[k] not in ENDS else []
        what += [f"gains {watcher.growth[k] / fall[k]:.1e} of its loss"] if watcher.growth[k] > GROWTH * fall[k] else []
        what += [f"is {watcher.depth[k]:.1e} m inside the ground"] if watcher.depth[k] > DEEPEST else []
        what += ["ends elsewhere when computed again"] if differs[k] else []
        what += [apart] if k == 0 and (apart := alone(own, watcher.passages)) else []
        failures += [f"stone {first + k}: {', '.join(what)}"] if what else []
    return failures, {name: outcomes.count(name) for name in sorted(set(outcomes))}, took


def ends_of(lanes, shared) -> list[str]:
    """How each stone ended."""
    from saltus.engines.trial import Status

    names = [guard.ends or guard.name for guard in shared.guards()]
    told = {Status.full: "too_many_steps", Status.reached: "at_rest"}
    return [
        names[by] if by >= 0 else told.get(Status(status), Status(status).name)
        for by, status in zip(lanes.ended_by, lanes.status, strict=True)
    ]


def alone(own, passages) -> str:
    """How a stone alone differs from the same in its group, over its first events; empty if it does not."""
    import saltus as sl

    some = [passage for passage in passages if passage[0] <= BOUNCES]
    if not some:
        return ""
    times = np.array([t for _, t, _ in some])
    run = sl.simulate(*own, times[-1], rtol=RTOL, atol=ATOL)
    off = np.abs(np.asarray(run.states(times).q.centre) - np.array([place for _, _, place in some])).max()
    return f"alone it is {off:.1e} m elsewhere in its first bounces" if off > ALIKE else ""


def work(group: int, first: int, last: int, folder: str) -> tuple[list[str], dict[str, int], float]:
    """A group, by one of the processes; the first of them compiles what the others load."""
    import saltus as sl

    sl.configure()
    with open(Path(folder) / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (ready := Path(folder) / "ready").exists():
            run_group(group, first, min(first + FEW, last))
            ready.touch()
    return run_group(group, first, last)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=TOGETHER)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    end = asked.first + asked.count
    groups = [
        (group, max(group * TOGETHER, asked.first), min((group + 1) * TOGETHER, end))
        for group in range(asked.first // TOGETHER, -(-end // TOGETHER))
    ]
    from saltus.processes import pool

    began, failed, ends, cpu = time.perf_counter(), 0, {}, 0.0
    with tempfile.TemporaryDirectory() as folder, pool(min(asked.workers, len(groups)), int) as executor:
        tasks = {executor.submit(work, *group, folder): group for group in groups}
        for done in as_completed(tasks):
            failures, outcomes, took = done.result()
            number, first, last = tasks[done]
            for line in failures:
                print(line, flush=True)
            print(
                f"group {number}: {last - first} stones, {len(failures)} fail, {took:.0f} s of CPU, at "
                f"{time.perf_counter() - began:.0f} s",
                flush=True,
            )
            failed, cpu = failed + len(failures), cpu + took
            for name, number in outcomes.items():
                ends[name] = ends.get(name, 0) + number
    told = ", ".join(f"{number} {name}" for name, number in sorted(ends.items()))
    print(f"{asked.count} stones in {time.perf_counter() - began:.0f} s: {failed} fail. They end as {told}.")
    print(f"A plain run takes {cpu / asked.count:.3f} s of CPU per stone.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
