"""Constant steps of many lanes at once, as one GPU kernel with the whole loop over time inside.

The kernel is made from the system's own rate, guards and watched quantities (`ScalarSystem`): one lane per
thread, all its numbers in registers. It does the steps of `FixedStep` with "rk4", halves those that may hold
an event, and hands back a lane when the shortest one may; the search and the jump are done outside, by the
same code as for a single run. On a machine without a GPU the same steps run as a plain XLA program.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from saltus.engines.block_steps import block_flow
from saltus.engines.flat import Watch
from saltus.engines.scalar_system import ScalarSystem
from saltus.engines.trial import Status
from saltus.hybrid import AbstractSystem, State
from saltus.hybrid.parts import as_array
from saltus.hybrid.state import unpack
from saltus.numerics.scalars import CannotScalariseError, quick

THREADS = 128  # lanes in a block of the kernel
LANES = 32  # lanes in a block without a GPU: enough for the vector units, few enough for the cache


class LaneFlow(eqx.Module):
    """How far many lanes went; each with a leading axis of lanes.

    Args:
        state: Where each lane is.
        status: `Status`: `reached`, `doubtful` (the next step is to be searched), `going` (steps used up).
        t_next: End of the next step [s].
        largest: Largest values so far of what is watched, at the ends of steps.
        steps: Steps taken.
    """

    state: State
    status: Int[Array, " lanes"]
    t_next: Float[Array, " lanes"]
    largest: Float[Array, "lanes k"]
    steps: Int[Array, " lanes"]


def flow_lanes(
    system: AbstractSystem,
    state: State,
    status: Int[Array, " lanes"],
    largest: Float[Array, "lanes k"],
    watch: Watch,
    *,
    until,
    step: float,
    origin: float = 0.0,
    max_steps: int = 1 << 30,
    like: AbstractSystem | None = None,
    varying: tuple[bool, ...] | None = None,
    device: str | None = None,
    threads: int = THREADS,
) -> LaneFlow:
    """Take constant steps in every lane until the time asked for, or a step that may hold an event.

    Lanes that are all in mode 0 and the others run in programs of their own; those that go are packed
    together, so that the rest costs nothing. What a lane gives hangs on its own numbers alone.

    Args:
        system: The systems, stacked: every array leaf has a leading axis of lanes.
        state: Their states, stacked.
        status: `Status.going` for the lanes to move; the others are left alone.
        largest: Largest values so far of what is watched.
        watch: `watch(system, state)`: what to keep the largest values of, 1-D.
        until: Time of the end of each lane [s].
        step: Length of a step [s].
        origin: Time from which steps are counted [s].
        max_steps: Steps after which a lane comes back in any case (rounded up to the next 16).
        like: One lane's system, whose numbers stand for those leaves that do not vary.
        varying: For each array leaf of `like` whether it differs between lanes; all if not given.
        device: "gpu" (a kernel), "cpu" (plain XLA) or "interpret" (the kernel, interpreted); by default
            what there is.
        threads: Lanes in a block of the kernel, a power of two, at least 32.

    Raises:
        CannotScalariseError: If the system cannot be written as operations on scalars.
    """
    device = device or ("gpu" if jax.default_backend() == "gpu" else "cpu")
    status = jnp.asarray(status, jnp.int32)
    until = jnp.broadcast_to(jnp.asarray(until, float), status.shape)
    flowed = LaneFlow(state, status, state.t, largest, jnp.zeros(status.shape, jnp.int32))
    sorts, some = _sort_by_mode(state.mode, status)
    for which, any_of_it, known in zip(sorts, np.asarray(some), (True, False), strict=True):
        if any_of_it:
            program = lanes_program(system, state, like, varying, known, watch)
            flowed = _run(program, system, flowed, which, until, step, origin, max_steps, device, threads)
    return flowed


@jax.jit
def _sort_by_mode(mode, status):
    """Which lanes go in mode 0, and which go in another; and whether there are any."""
    mode = as_array(mode)
    home = (mode.reshape(mode.shape[0], -1) == 0).all(axis=1)
    going = status == Status.going
    sorts = going & home, going & ~home
    return sorts, jnp.stack([jnp.any(which) for which in sorts])


class _Program:
    """A program for lanes of one kind, with what it needs to find its inputs; compared by `key`."""

    def __init__(self, key, scalar: ScalarSystem, varying):
        self.key, self.scalar, self.varying = key, scalar, varying

    def __hash__(self):
        return hash(self.key)

    def __eq__(self, other):
        return isinstance(other, _Program) and self.key == other.key


KEPT = 64  # programs that are remembered, the last ones used
_PROGRAMS: OrderedDict[Any, _Program | CannotScalariseError] = OrderedDict()


def lanes_program(system, state: State, like, varying, home: bool, watch: Watch) -> _Program:
    """The scalar program of these lanes; made once for each kind of system."""
    arrays, static = eqx.partition(system, eqx.is_array)
    leaves, tree = jax.tree.flatten(arrays)
    numbers = jax.tree.leaves(eqx.filter(like, eqx.is_array)) if like is not None else leaves
    varying = tuple(varying) if varying is not None and like is not None else (True,) * len(leaves)
    baked = tuple(None if v else np.asarray(x).tobytes() for v, x in zip(varying, numbers, strict=True))
    shapes = tuple((x.shape[1:], str(x.dtype)) for x in jax.tree.leaves((leaves, state)))
    static_leaves, static_tree = jax.tree.flatten(static)
    key = (tree, static_tree, tuple(static_leaves), baked, shapes, home, watch)
    if key not in _PROGRAMS:
        first, begin = jax.tree.map(lambda x: jnp.asarray(np.asarray(x[0])), (arrays, state))
        one = like if like is not None else eqx.combine(first, static)
        mode = np.zeros_like(np.asarray(begin.mode)) if home else None
        try:
            _PROGRAMS[key] = _Program(key, ScalarSystem(one, begin, varying, mode, watch), varying)
        except CannotScalariseError as error:  # remembered: to find it out takes seconds
            _PROGRAMS[key] = error
    _PROGRAMS.move_to_end(key)
    if len(_PROGRAMS) > KEPT:
        _PROGRAMS.popitem(last=False)
    program = _PROGRAMS[key]
    if isinstance(program, CannotScalariseError):
        raise program
    return program


@functools.partial(jax.jit, static_argnums=(0, 7, 8, 9))
def _run(
    program: _Program, system, before: LaneFlow, which, until, step, origin, max_steps: int, device: str, threads: int
) -> LaneFlow:
    """The lanes in `which`, packed together: rows of numbers in, rows of numbers out."""
    scalar, state, count = program.scalar, before.state, which.shape[0]
    leaves = jax.tree.leaves(eqx.filter(system, eqx.is_array))
    parameters = [x.reshape(count, -1) for x, varies in zip(leaves, program.varying, strict=True) if varies]
    modes = [as_array(state.mode).reshape(count, -1).astype(jnp.int32)] if scalar.modes else []
    flat = [as_array(x).reshape(count, -1) for x in (state.q, state.v, state.ledger)]
    slot = _slots(which)
    times = [state.t[:, None], until[:, None]]
    groups = (parameters, modes, flat, times, [before.largest])
    width = threads if device != "cpu" else LANES
    missing = -count % width
    tables = [_rows(x, count) for x in groups]
    rows = [jnp.zeros((x.shape[0], count + missing), x.dtype).at[:, slot].set(x, unique_indices=True) for x in tables]
    going = jnp.arange(count + missing) < jnp.sum(which)
    status = jnp.where(going, int(Status.going), int(Status.reached)).astype(jnp.int32)
    grid = jnp.stack([jnp.asarray(x, float) for x in (step, origin)])
    numbers, modes, vectors, times, largest = rows
    advance = _kernel if device != "cpu" else _blocks
    ends = advance(scalar, grid, numbers, modes, vectors, times, largest, status, max_steps, device, width)
    y, t, t_next, status, largest, steps = (x[..., slot] for x in ends)
    one = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), state)
    moved = unpack(one, t, y.T, state.mode)
    after = LaneFlow(moved, status, t_next, largest.T[:, : before.largest.shape[1]], before.steps + steps)
    return jax.tree.map(lambda a, b: jnp.where(which.reshape(-1, *(1,) * (a.ndim - 1)), a, b), after, before)


def _slots(which) -> Int[Array, " lanes"]:
    """A place for each lane, those in `which` first."""
    first = jnp.cumsum(which)
    return jnp.where(which, first - 1, first[-1] + jnp.cumsum(~which) - 1)


def _rows(parts: list, count: int) -> Array:
    """Columns of the parts as rows of one array; one empty row if there are none."""
    return jnp.concatenate(parts, axis=1).T if parts and sum(p.shape[1] for p in parts) else jnp.zeros((1, count))


# ---- all blocks: as a kernel, or as plain XLA ------------------------------------------------------


def _cast_modes(scalar: ScalarSystem, modes) -> list:
    """Modes in the type that the system gave them."""
    return [row.astype(node.dtype) for row, node in zip(modes, scalar.modes, strict=True)]


def _kernel(scalar: ScalarSystem, grid, parameters, modes, y, t, largest, status, max_steps, device, width):
    """The blocks as a Triton kernel: one lane per thread."""
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    lanes = status.shape[0]
    operations = quick.from_single_precision() if device == "interpret" else quick.from_instructions()

    def kernel(grid, parameters, modes, y, t, largest, status, y_end, t_end, t_next, status_end, largest_end, steps):
        def rows(ref, count):
            return [ref[k, :] for k in range(count)]

        block = block_flow(
            scalar, (t[1, :], grid[0], grid[1]), rows(parameters, len(scalar.parameters)),
            _cast_modes(scalar, rows(modes, len(scalar.modes))), rows(y, len(scalar.y)), t[0, :],
            rows(largest, len(scalar.watched)), status[:], max_steps, operations,
        )  # fmt: skip
        for k, row in enumerate(block[0]):
            y_end[k, :] = row
        t_end[:], t_next[:], status_end[:], steps[:] = block[1], block[2], block[3], block[5]
        for k, row in enumerate(block[4]):
            largest_end[k, :] = row

    def table(x):
        return pl.BlockSpec((x.shape[0], width), lambda i: (0, i))

    line = pl.BlockSpec((width,), lambda i: (i,))
    vector = jax.ShapeDtypeStruct((lanes,), t.dtype)
    whole = jax.ShapeDtypeStruct((lanes,), jnp.int32)
    options: dict[str, Any] = (
        {"interpret": True}
        if device == "interpret"
        else {"compiler_params": triton.CompilerParams(num_warps=width // 32, num_stages=1)}
    )
    return pl.pallas_call(
        kernel,
        grid=(lanes // width,),
        in_specs=[pl.BlockSpec((2,), lambda i: (0,)), *map(table, (parameters, modes, y, t, largest)), line],
        out_specs=[table(y), line, line, line, table(largest), line],
        out_shape=[
            jax.ShapeDtypeStruct(y.shape, y.dtype), vector, vector, whole,
            jax.ShapeDtypeStruct(largest.shape, largest.dtype), whole,
        ],
        **options,
    )(grid, parameters, modes, y, t, largest, status)  # fmt: skip


def _blocks(scalar: ScalarSystem, grid, parameters, modes, y, t, largest, status, max_steps, device, width):
    """The blocks one after the other, as plain XLA."""

    def one(block):
        parameters, modes, y, t, largest, status = block
        typed = _cast_modes(scalar, modes[: len(scalar.modes)])
        ends = block_flow(
            scalar, (t[1], grid[0], grid[1]), list(parameters[: len(scalar.parameters)]), typed,
            list(y), t[0], list(largest[: len(scalar.watched)]), status, max_steps, roll=True,
        )  # fmt: skip
        y_end, t_end, t_next, status, largest, steps = ends
        return jnp.stack(y_end), t_end, t_next, status, jnp.stack(largest or [t_end]), steps

    def cut(x):
        return jnp.moveaxis(x.reshape(*x.shape[:-1], -1, width), -2, 0)

    def join(x):
        return jnp.moveaxis(x, 0, -2).reshape(*x.shape[1:-1], -1)

    return jax.tree.map(join, lax.map(one, tuple(map(cut, (parameters, modes, y, t, largest, status)))))
