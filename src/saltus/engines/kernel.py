"""Constant steps of many lanes at once, as one GPU kernel with the whole loop over time inside.

The kernel is made from the system's own rate, guards and watched quantities (`Lanewise`): one lane per
thread, all its numbers in registers. It does the steps of `FixedStep` with "rk4", and hands back a lane as
soon as a step may hold an event; the search and the jump are done outside, by the same code as for a single
run. On a machine without a GPU the same steps run as a plain XLA program.

What is handed back: the guards are looked at where the rate is computed anyway, at the start, the middle
(third stage), the fourth stage and the end of a step. A step is taken only if every armed guard is, at start,
middle and end, above 0.6 of its second difference plus what fourth stage and end differ by. That is more
cautious than the five looks of the engine as long as the fourth difference of a guard over quarter steps is
below 1.7 times its second one; it always catches a guard that dips like |x| (a speed that passes through zero),
and a stage that friction has turned round. A guard that is armed and not positive, and anything that is not
finite, is handed back too.
"""

from __future__ import annotations

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from saltus.engines.advance import Status
from saltus.engines.lanewise import Lanewise, Values, Watch
from saltus.hybrid import AbstractSystem, State
from saltus.numerics import quick

CAUTION = 0.6  # share of the second difference that a guard must be above; 0.5 catches every |x|
TURNS = 16  # steps between two looks at whether any lane of a block still goes
THREADS = 128  # lanes in a block of the kernel
LANES = 1024  # lanes in a block without a GPU: enough for the vector units, few enough for the cache


class Flowed(eqx.Module):
    """How far many lanes went; each with a leading axis of lanes.

    Args:
        state: Where each lane is.
        status: `Status`: `reached`, `doubtful` (the next step is to be looked into), `going` (steps used up).
        t_next: End of the next step [s].
        largest: Largest values so far of what is watched, at the ends of steps.
        steps: Steps taken.
    """

    state: State
    status: Int[Array, " lanes"]
    t_next: Float[Array, " lanes"]
    largest: Float[Array, "lanes k"]
    steps: Int[Array, " lanes"]


class Moving(eqx.Module):
    """A block of lanes on its way: lists of vectors over the lanes."""

    y: list
    rate: list
    guards: list
    t: Any
    n: Any
    status: Any
    largest: list
    steps: Any


def flow_lanes(
    system: AbstractSystem,
    state: State,
    status: Int[Array, " lanes"],
    largest: Float[Array, "lanes k"],
    watch: Watch,
    *,
    until: float,
    step: float,
    origin: float = 0.0,
    max_steps: int = 1 << 30,
    like: AbstractSystem | None = None,
    varying: tuple[bool, ...] | None = None,
    project: bool = False,
    device: str | None = None,
    threads: int = THREADS,
) -> Flowed:
    """Take constant steps in every lane until the time asked for, or a step that may hold an event.

    Lanes that are all in mode 0 and the others run in programs of their own; those that go are packed
    together, so that the rest costs nothing. What a lane gives hangs on its own numbers alone.

    Args:
        system: The systems, stacked: every array leaf has a leading axis of lanes.
        state: Their states, stacked.
        status: `Status.going` for the lanes to move; the others are left alone.
        largest: Largest values so far of what is watched.
        watch: `watch(system, state)`: what to keep the largest values of, 1-D.
        until: Time of the end [s].
        step: Length of a step [s].
        origin: Time from which steps are counted [s].
        max_steps: Steps after which a lane comes back in any case (rounded up to the next 16).
        like: One lane's system, whose numbers stand for those leaves that do not vary.
        varying: For each array leaf of `like` whether it differs between lanes; all if not given.
        project: Whether the constraints are restored after each step.
        device: "gpu" (a kernel), "cpu" (plain XLA) or "interpret" (the kernel, interpreted); by default
            what there is.
        threads: Lanes in a block of the kernel, a power of two, at least 32.

    Raises:
        NotImplementedError: If the system cannot be written as operations on scalars.
    """
    device = device or ("gpu" if jax.default_backend() == "gpu" else "cpu")
    status = jnp.asarray(status, jnp.int32)
    flowed = Flowed(state, status, state.t, largest, jnp.zeros(status.shape, jnp.int32))
    sorts, some = _sorted_out(state.mode, status)
    for which, any_of_it, known in zip(sorts, np.asarray(some), (True, False), strict=True):
        if any_of_it:
            program = lanes_program(system, state, like, varying, known, watch, project)
            flowed = _run(program, system, flowed, which, (until, step, origin), max_steps, device, threads)
    return flowed


@jax.jit
def _sorted_out(mode, status):
    """Which lanes go in mode 0, and which go in another; and whether there are any."""
    home = (mode.reshape(mode.shape[0], -1) == 0).all(axis=1)
    going = status == Status.going
    sorts = going & home, going & ~home
    return sorts, jnp.stack([jnp.any(which) for which in sorts])


class _Program:
    """A program for lanes of one kind, with what it needs to find its inputs; compared by `key`."""

    def __init__(self, key, lanewise: Lanewise, varying):
        self.key, self.lanewise, self.varying = key, lanewise, varying

    def __hash__(self):
        return hash(self.key)

    def __eq__(self, other):
        return isinstance(other, _Program) and self.key == other.key


_PROGRAMS: dict[Any, _Program] = {}


def lanes_program(system, state: State, like, varying, home: bool, watch: Watch, project: bool) -> _Program:
    """The scalar program of these lanes; made once for each kind of system."""
    arrays, static = eqx.partition(system, eqx.is_array)
    leaves, tree = jax.tree.flatten(arrays)
    numbers = jax.tree.leaves(eqx.filter(like, eqx.is_array)) if like is not None else leaves
    varying = tuple(varying) if varying is not None and like is not None else (True,) * len(leaves)
    baked = tuple(None if v else np.asarray(x).tobytes() for v, x in zip(varying, numbers, strict=True))
    shapes = tuple((x.shape[1:], str(x.dtype)) for x in jax.tree.leaves((leaves, state)))
    static_leaves, static_tree = jax.tree.flatten(static)
    key = (tree, static_tree, tuple(static_leaves), baked, shapes, home, watch, project)
    if key not in _PROGRAMS:
        first, begin = jax.tree.map(lambda x: jnp.asarray(np.asarray(x[0])), (arrays, state))
        one = like if like is not None else eqx.combine(first, static)
        mode = np.zeros_like(np.asarray(begin.mode)) if home else None
        _PROGRAMS[key] = _Program(key, Lanewise(one, begin, varying, mode, watch, project), varying)
    return _PROGRAMS[key]


@functools.partial(jax.jit, static_argnums=(0, 5, 6, 7))
def _run(program: _Program, system, before: Flowed, which, times, max_steps: int, device: str, threads: int) -> Flowed:
    """The lanes in `which`, packed together: rows of numbers in, rows of numbers out."""
    lanewise, state, count = program.lanewise, before.state, which.shape[0]
    leaves = jax.tree.leaves(eqx.filter(system, eqx.is_array))
    parameters = [x.reshape(count, -1) for x, varies in zip(leaves, program.varying, strict=True) if varies]
    modes = [state.mode.reshape(count, -1).astype(jnp.int32)] if lanewise.modes else []
    flat = [x.reshape(count, -1) for x in (state.q, state.v, state.ledger)]
    slot = _packed(which)
    groups = (parameters, modes, flat, [state.t[:, None]], [before.largest])
    width = threads if device != "cpu" else min(LANES, -(-count // 8) * 8)
    missing = -count % width
    tables = [_rows(x, count) for x in groups]
    rows = [jnp.zeros((x.shape[0], count + missing), x.dtype).at[:, slot].set(x, unique_indices=True) for x in tables]
    going = jnp.arange(count + missing) < jnp.sum(which)
    status = jnp.where(going, int(Status.going), int(Status.reached)).astype(jnp.int32)
    common = jnp.stack([jnp.asarray(x, float) for x in times])
    ends = (_kernel if device != "cpu" else _blocks)(lanewise, common, *rows, status, max_steps, device, width)
    y, t, t_next, status, largest, steps = (x[..., slot] for x in ends)
    nq, nv = flat[0].shape[1], flat[1].shape[1]
    moved = State(
        t,
        y[:nq].T.reshape(state.q.shape),
        y[nq : nq + nv].T.reshape(state.v.shape),
        y[nq + nv :].T.reshape(state.ledger.shape),
        state.mode,
    )
    after = Flowed(moved, status, t_next, largest.T[:, : before.largest.shape[1]], before.steps + steps)
    return jax.tree.map(lambda a, b: jnp.where(which.reshape(-1, *(1,) * (a.ndim - 1)), a, b), after, before)


def _packed(which) -> Int[Array, " lanes"]:
    """A place for each lane, those in `which` first."""
    first = jnp.cumsum(which)
    return jnp.where(which, first - 1, first[-1] + jnp.cumsum(~which) - 1)


def _rows(parts: list, count: int) -> Array:
    """Columns of the parts as rows of one array; one empty row if there are none."""
    return jnp.concatenate(parts, axis=1).T if parts and sum(p.shape[1] for p in parts) else jnp.zeros((1, count))


# ---- one block of lanes ---------------------------------------------------------------------------


def block_flow(lanewise: Lanewise, common, parameters, modes, y, t, largest, status, max_steps: int, operations=None):
    """Steps of a block of lanes until none goes on; everything is a vector over the lanes."""
    until, step, origin = common
    values = lanewise.given(parameters, modes, t)
    rate, guards, _ = _looks(lanewise, values, t, y, operations)
    status = jnp.where((status == Status.going) & (t >= until), int(Status.reached), status)
    if lanewise.autonomous:
        still = _all([part == 0.0 for part in rate], status == status)
        resting = still & (status == Status.going)
        t, status = jnp.where(resting, until, t), jnp.where(resting, int(Status.reached), status)
    n = jnp.floor((t - origin) / step + 1e-6)
    start = Moving(y, rate, guards, t, n, status, largest, jnp.zeros_like(status))
    turns = -(-max_steps // TURNS)

    def going_on(carry):
        turn, moving = carry
        return (turn < turns) & (jnp.max((moving.status == Status.going).astype(jnp.int32)) > 0)

    def turn(carry):
        number, moving = carry
        taken = lax.fori_loop(0, TURNS, lambda _, m: _one_step(lanewise, values, common, m, operations), moving)
        return number + 1, taken

    _, end = lax.while_loop(going_on, turn, (jnp.int32(0), start))
    t_next = jnp.minimum(origin + (end.n + 1.0) * step, until)
    return end.y, end.t, t_next, end.status, end.largest, end.steps


def _all(conditions: list, true):
    return functools.reduce(lambda a, b: a & b, conditions, true)


def _one_step(lanewise: Lanewise, values: Values, common, moving: Moving, operations) -> Moving:
    """One Runge-Kutta step (classical, fourth order) of the lanes that go; kept where nothing may happen in it."""
    until, step, origin = common
    t, y, flowing = moving.t, moving.y, lanewise.flowing
    n_new = moving.n + 1.0
    t_new = jnp.minimum(origin + n_new * step, until)
    h = t_new - t

    def ahead(length, k):
        place = list(y)
        for p, slope in zip(flowing, k, strict=True):
            place[p] = y[p] + length * slope
        return place

    def add(weight, k):
        for p, slope in zip(flowing, k, strict=True):
            whole[p] = whole[p] + weight * slope

    half, third, sixth = 0.5 * h, h * (1.0 / 3.0), h * (1.0 / 6.0)
    whole = list(y)
    add(sixth, moving.rate)
    k, _, _ = _looks(lanewise, values, t + half, ahead(half, moving.rate), operations)
    add(third, k)
    k, middle, _ = _looks(lanewise, values, t + half, ahead(half, k), operations)
    add(third, k)
    k, reached, _ = _looks(lanewise, values, t_new, ahead(h, k), operations)
    add(sixth, k)
    if lanewise.projected is not None:
        whole = lanewise.at(values, t_new, whole, lanewise.projected, t, operations)
    rate, guards, seen = _looks(lanewise, values, t_new, whole, operations)

    safe = _safe(lanewise, values, moving.guards, middle, reached, guards)
    accept = _all([*safe, _finite(_once([*(whole[p] for p in flowing), *rate]))], moving.status == Status.going)
    ended = jnp.where(t_new >= until, int(Status.reached), int(Status.going))
    ended = jnp.where(accept, ended, int(Status.doubtful)).astype(jnp.int32)
    return Moving(
        y=[jnp.where(accept, new, old) if new is not old else old for new, old in zip(whole, y, strict=True)],
        rate=rate,
        guards=guards,
        t=jnp.where(accept, t_new, t),
        n=jnp.where(accept, n_new, moving.n),
        status=jnp.where(moving.status == Status.going, ended, moving.status),
        largest=[jnp.where(accept & (new > old), new, old) for new, old in zip(seen, moving.largest, strict=True)],
        steps=moving.steps + accept.astype(jnp.int32),
    )


def _looks(lanewise: Lanewise, values: Values, t, y: list, operations) -> tuple[list, list, list]:
    """Rates, guards (in single precision: they are only compared with zero) and watched quantities at a state."""
    rates, guards = [lanewise.rate[p] for p in lanewise.flowing], [g.value for g in lanewise.guards]
    found = lanewise.at(values, t, y, [*rates, *guards, *lanewise.watched], t, operations)
    n, m = len(rates), len(rates) + len(guards)
    return found[:n], [g.astype(jnp.float32) for g in found[n:m]], found[m:]


def _finite(values: list):
    """Whether all are finite, from their exponents: the units for double precision are busy enough."""
    upper = [(lax.bitcast_convert_type(x, jnp.int64) >> 32).astype(jnp.int32) & 0x7FFFFFFF for x in values]
    return functools.reduce(jnp.maximum, upper) < 0x7FF00000


def _once(values: list) -> list:
    """Each value once, if it is there several times."""
    return list({id(value): value for value in values}.values())


def _safe(lanewise: Lanewise, values: Values, before: list, middle: list, reached: list, after: list) -> list:
    """For each guard, whether it surely stays positive, or is not armed."""
    safe = []
    for guard, a, b, r, c in zip(lanewise.guards, before, middle, reached, after, strict=True):
        doubt = CAUTION * jnp.abs((a + c) - 2.0 * b) + jnp.abs(c - r)
        positive = (a > doubt) & (b > doubt) & (c > doubt)
        safe.append(positive if guard.armed.known else positive | ~values[guard.armed])
    return safe


# ---- all blocks: as a kernel, or as plain XLA ------------------------------------------------------


def _kernel(lanewise: Lanewise, common, parameters, modes, y, t, largest, status, max_steps, device, width):
    """The blocks as a Triton kernel: one lane per thread."""
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    lanes = status.shape[0]
    operations = quick.from_single_precision() if device == "interpret" else quick.from_instructions()

    def kernel(common, parameters, modes, y, t, largest, status, y_end, t_end, t_next, status_end, largest_end, steps):
        def rows(ref, count):
            return [ref[k, :] for k in range(count)]

        block = block_flow(
            lanewise, tuple(common[k] for k in range(3)), rows(parameters, len(lanewise.parameters)),
            [row.astype(node.dtype) for row, node in zip(rows(modes, len(lanewise.modes)), lanewise.modes, strict=True)],
            rows(y, len(lanewise.y)), t[0, :], rows(largest, len(lanewise.watched)), status[:], max_steps, operations,
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
        in_specs=[pl.BlockSpec((3,), lambda i: (0,)), *map(table, (parameters, modes, y, t, largest)), line],
        out_specs=[table(y), line, line, line, table(largest), line],
        out_shape=[
            jax.ShapeDtypeStruct(y.shape, y.dtype), vector, vector, whole,
            jax.ShapeDtypeStruct(largest.shape, largest.dtype), whole,
        ],
        **options,
    )(common, parameters, modes, y, t, largest, status)  # fmt: skip


def _blocks(lanewise: Lanewise, common, parameters, modes, y, t, largest, status, max_steps, device, width):
    """The blocks one after the other, as plain XLA."""

    def one(block):
        parameters, modes, y, t, largest, status = block
        typed = [row.astype(node.dtype) for row, node in zip(modes[: len(lanewise.modes)], lanewise.modes, strict=True)]
        ends = block_flow(
            lanewise, tuple(common[k] for k in range(3)), list(parameters[: len(lanewise.parameters)]), typed,
            list(y), t[0], list(largest[: len(lanewise.watched)]), status, max_steps,
        )  # fmt: skip
        y_end, t_end, t_next, status, largest, steps = ends
        return jnp.stack(y_end), t_end, t_next, status, jnp.stack(largest or [t_end]), steps

    def cut(x):
        return jnp.moveaxis(x.reshape(*x.shape[:-1], -1, width), -2, 0)

    def joined(x):
        return jnp.moveaxis(x, 0, -2).reshape(*x.shape[1:-1], -1)

    return jax.tree.map(joined, lax.map(one, tuple(map(cut, (parameters, modes, y, t, largest, status)))))
