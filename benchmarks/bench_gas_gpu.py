"""Many boxes of hard bodies in lockstep, on a GPU or a CPU: `python benchmarks/bench_gas_gpu.py [boxes ...]`.

The loop over contacts is mapped over replicas: each turn gives every box its next contact, new list or look. Boxes
start from one arrangement with velocities of their own. Printed are contacts per second of all boxes together,
after compilation, for 1, 64 and 1000 boxes (or the numbers given) of 64 bodies 3:1:1 at a volume fraction of 0.3.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from stamp import Report

import saltus
from saltus.gas import HardBodies, Species, random_start
from saltus.gas.states import thermal
from saltus.systems.gas.arena import RUNNING, Arena, Fluid, Terms
from saltus.systems.gas.bodies import rows_of
from saltus.systems.gas.flight import MOMENTUM, VELOCITY, settle_row
from saltus.systems.gas.hard_bodies import begin
from saltus.systems.gas.loop import turn

saltus.configure()

N, FRACTION, AXES = 64, 0.3, (3.0, 1.0, 1.0)
TURNS = 250  # of all boxes in one call
SECONDS = 20.0  # for which each number of boxes is run, at least
PARTS = ("velocity", "momentum")
ROOM = 64  # of the lists: no box may need more, since all have the same


def one_box() -> HardBodies:
    """Bodies in equilibrium in a periodic box, made on the CPU."""
    axes = np.asarray(AXES) * 0.5 / np.prod(AXES) ** (1 / 3)
    box = np.full(3, (N * np.pi / 6.0 / FRACTION) ** (1 / 3))
    hard = HardBodies(random_start([Species(axes, N, mass=1.0)], box, temperature=1.0, seed=1), box)
    hard.advance(contacts=100 * N)
    bodies = hard.snapshot()
    roomy = HardBodies(bodies, box)
    roomy.arena = dataclasses.replace(roomy.arena, room=ROOM)
    roomy.fluid = begin(roomy.arena, roomy.terms, rows_of(roomy.arena.flight, bodies, roomy.walls))
    return roomy


def replicas(hard: HardBodies, count: int) -> Fluid:
    """The fluid so many times, with other velocities each."""
    flight = hard.arena.flight
    moving = [thermal(hard.bodies, 1.0, seed) for seed in range(count)]

    def replica(fluid, velocity, momentum):
        rows = fluid.rows.at[:N, VELOCITY].set(velocity).at[:N, MOMENTUM].set(momentum)
        return eqx.tree_at(lambda f: f.rows, fluid, jax.vmap(lambda row: settle_row(flight, row))(rows))

    velocity, momentum = (jnp.asarray(np.stack([getattr(one, name) for one in moving])) for name in PARTS)
    return jax.jit(jax.vmap(replica, in_axes=(None, 0, 0)))(hard.fluid, velocity, momentum)


@functools.partial(jax.jit, static_argnums=0, donate_argnums=2)
def lockstep(arena: Arena, terms: Terms, fluids: Fluid) -> Fluid:
    """So many turns of every box."""
    one = jax.vmap(functools.partial(turn, arena), in_axes=(None, 0))
    return jax.lax.fori_loop(0, TURNS, lambda _, now: one(terms, now), fluids)


def speed(hard: HardBodies, count: int, seconds: float) -> tuple[float, float, float]:
    """Contacts per second of all boxes together, turns of a box per second, and seconds of compilation."""
    device = jax.devices()[0]
    with jax.default_device(jax.devices("cpu")[0]):
        fluids = replicas(hard, count)
    terms, fluids = jax.device_put((hard.terms, fluids), device)
    began = time.perf_counter()
    fluids = jax.block_until_ready(lockstep(hard.arena, terms, fluids))
    first = time.perf_counter() - began
    before, calls, began = int(np.sum(fluids.tally.contacts)), 0, time.perf_counter()
    while time.perf_counter() - began < seconds or calls == 0:
        fluids = jax.block_until_ready(lockstep(hard.arena, terms, fluids))
        calls += 1
    passed = time.perf_counter() - began
    if not np.all(np.asarray(fluids.stop) == RUNNING):
        raise RuntimeError("A box has stopped: its lists or cells are full. Raise ROOM.")
    deepest = float(np.min(fluids.tally.deepest))
    if deepest < -1e-12:
        raise RuntimeError(f"Bodies overlap by {-deepest:.3g} at a contact.")
    contacts = int(np.sum(fluids.tally.contacts)) - before
    return contacts / passed, calls * TURNS / passed, first


def main() -> None:
    counts = [int(word) for word in sys.argv[1:]] or [1, 64, 1000]
    report = Report("gas_gpu")
    report.line(f"{N} bodies 3:1:1 at volume fraction {FRACTION} per box; {jax.devices()[0].device_kind}")
    with jax.default_device(jax.devices("cpu")[0]):
        hard = one_box()
    for count in counts:
        found, turns, first = speed(hard, count, SECONDS)
        report.line(
            f"{count:5d} boxes  {found:10.0f} contacts/s of all boxes  {turns:8.0f} turns/s of each  "
            f"first call {first:.1f} s"
        )
    report.write()


if __name__ == "__main__":
    main()
