"""Whether a system of one's own keeps to the contract: what is wrong with it, in sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from saltus.engines import EventDriven
from saltus.engines.fire import still_due
from saltus.engines.flat import guard_sizes
from saltus.hybrid import AbstractSystem, State
from saltus.hybrid.system import jump_of
from saltus.hybrid.trajectory import Trajectory

PARTS = ("q", "v", "ledger")
MAX_EVENTS = 200  # of the trial run
LOOKS = 400  # instants of the trial run at which guards and energy are looked at
GROWTH = 1e-7  # share of the energy by which it may grow: what the tolerances of a run allow, and some
DEPTH = 1e-6  # share of a guard's largest value by which it may be negative
AGAIN = 1e-8  # relative difference between a run and its replay


@dataclasses.dataclass(frozen=True)
class Findings:
    """What `check` found.

    Args:
        problems: What is wrong, one sentence each.
        remarks: What may be meant so, one sentence each.
    """

    problems: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __str__(self) -> str:
        head = "No problem was found." if self.ok else f"{len(self.problems)} problem(s):"
        remarks = ["Remarks:", *(f"- {one}" for one in self.remarks)] if self.remarks else []
        return "\n".join([head, *(f"- {one}" for one in self.problems), *remarks])


def check(system: AbstractSystem, start: Any, until: float = 1.0) -> Findings:
    """Try a system: its functions at the start, each jump, and a run to `until`.

    A system that passes may still be the wrong model. What is looked at: whether the functions can be compiled; whether
    rates, guards and jumps keep shapes and types and are finite; whether a jump leaves its own guard falling, so
    that it fires again or is passed through; whether the energy (a result called "energy", or kinetic_energy and
    potential_energy) grows; whether each guard changes its sign; whether the run ends well; whether its replay, and so
    its derivatives, agree with it.

    Args:
        system: The system.
        start: A state to begin with (`hybrid.State`).
        until: How far the trial run goes [s], after the start.
    """
    if not isinstance(start, State):
        return Findings((f"The start must be a hybrid.State, got {type(start).__name__}; `system.start()` makes one.",))
    problems = [*_compiles(system, start)]
    if not problems:
        problems = [*_shapes(system, start), *_finite(system, start)]
    if problems:
        return Findings(tuple(problems))
    run = EventDriven(max_events=MAX_EVENTS).run(system, start, float(start.t) + until)
    problems = [
        *_ending(run),
        *_jumps(system, run),
        *_passings(system, run),
        *_energy(system, run),
        *_replay(system, run),
    ]
    return Findings(tuple(dict.fromkeys(problems)), tuple(_unused_guards(system, run)))


# ---- at the start ------------------------------------------------------------------------------


def _compiles(system: AbstractSystem, start: State) -> Iterator[str]:
    """Each function traced; what cannot be traced cannot be compiled."""
    guards = system.guards()
    names = [guard.name for guard in guards]
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        yield f"Two guards are called {name!r}; an event could not tell them apart."
    index = jnp.asarray(0)
    functions: dict[str, Any] = {"rate": system.rate, "observe": system.observe, "project": system.project}
    functions |= {f"function of guard {guard.name!r}": guard.function for guard in guards}
    functions |= {f"`armed` of guard {guard.name!r}": guard.armed for guard in guards}
    functions |= {f"jump of guard {guard.name!r}": lambda s, g=guard: jump_of(system, g)(s, index) for guard in guards}
    for what, function in functions.items():
        try:
            eqx.filter_eval_shape(function, start)
        except jax.errors.JAXTypeError as error:
            yield (
                f"The {what} cannot be compiled: it asks for the value of a number that is not known yet. Branch with "
                f"jnp.where, not with `if`; use jax.numpy, not numpy or math. JAX says: {_first_line(error)}"
            )
        except Exception as error:
            yield f"The {what} raises {type(error).__name__}: {_first_line(error)}"


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else ""


def _shapes(system: AbstractSystem, start: State) -> Iterator[str]:
    """Shapes and types of what the functions return."""
    for part in PARTS:
        kind = getattr(start, part).dtype
        if kind != jnp.float64:
            yield f"`{part}` of the start is {kind}; events need float64. Import saltus before you build arrays."
    rate = eqx.filter_eval_shape(system.rate, start)
    yield from _same("The rate", rate, start)
    for guard in system.guards():
        value = eqx.filter_eval_shape(guard.function, start)
        if value.ndim > 1:
            yield f"The function of guard {guard.name!r} returns shape {value.shape}, not a number or a 1-D array."
        after = eqx.filter_eval_shape(lambda s, g=guard: jump_of(system, g)(s, jnp.asarray(0)), start)
        yield from _same(f"The jump of guard {guard.name!r}", after, start)
        if jnp.issubdtype(after.mode.dtype, jnp.floating):
            yield f"The jump of guard {guard.name!r} gives the mode as {after.mode.dtype}; it must be a whole number."
    observed, known = set(eqx.filter_eval_shape(system.observe, start)), set(system.quantities())
    if observed != known:
        yield (
            f"`observe` and `quantities` name different results: only observed {sorted(observed - known)}, "
            f"only described {sorted(known - observed)}."
        )


def _same(what: str, found: Any, start: State) -> Iterator[str]:
    for part in PARTS:
        got, wanted = getattr(found, part), getattr(start, part)
        if got.shape != wanted.shape:
            yield f"{what} has shape {got.shape} in `{part}`, the state {wanted.shape}."
        elif got.dtype != wanted.dtype:
            yield f"{what} is {got.dtype} in `{part}`, the state {wanted.dtype}."


def _finite(system: AbstractSystem, start: State) -> Iterator[str]:
    """Whether the numbers at the start are finite."""
    if not all(bool(jnp.isfinite(getattr(start, part)).all()) for part in PARTS):
        yield "The start holds a number that is not finite."
        return
    rate = eqx.filter_jit(system.rate)(start)
    if not all(bool(jnp.isfinite(getattr(rate, part)).all()) for part in PARTS):
        yield "The rate is not finite at the start."
    for guard in system.guards():
        if not bool(jnp.isfinite(guard.function(start)).all()):
            yield f"The function of guard {guard.name!r} is not finite at the start."


# ---- along a run --------------------------------------------------------------------------------


def _ending(run: Trajectory) -> Iterator[str]:
    if run.outcome.name == "too_many_events":
        yield f"{run.outcome.message} A jump may fire again and again; see what the last events have in common."
    elif not run.outcome.ok and run.outcome.name != "left_domain":
        yield run.outcome.message


def _jumps(system: AbstractSystem, run: Trajectory) -> Iterator[str]:
    """Whether a jump leaves its own guard falling below zero."""
    by_name = {guard.name: guard for guard in system.guards()}
    for event in run.events:
        guard = by_name.get(event.name)
        if guard is None:
            continue
        if guard.ends is None and _falls(system, guard.name, event.after, event.index):
            yield (
                f"The jump of guard {guard.name!r} at t = {event.t:.6g} s leaves its guard at zero and falling: it "
                "would fire again at once, or be passed through. Turn the motion round, or change the mode."
            )


def _falls(system: AbstractSystem, name: str, state: State, index: int) -> bool:
    """Whether an element of a guard that is watched falls from here, and is zero or below."""
    first = sum(guard_sizes(system, state)[: [guard.name for guard in system.guards()].index(name)])
    return bool(_due(system, state)[first + index])


@eqx.filter_jit
def _due(system: AbstractSystem, state: State) -> Bool[Array, " g"]:
    """Which guard values are due in a state, as engines judge it."""
    return still_due(system, state, jnp.ones(sum(guard_sizes(system, state)), bool))


def _samples(run: Trajectory) -> State:
    times = np.linspace(float(run.start.t), float(run.end.t), LOOKS)
    return run.states(times)


def _passings(system: AbstractSystem, run: Trajectory) -> Iterator[str]:
    """Whether a guard that is watched gets clearly negative: the motion has passed through it."""
    states = _samples(run)
    for guard in system.guards():
        if guard.ends is not None:
            continue
        values, armed = (np.asarray(jax.vmap(f)(states), float) for f in (guard.function, guard.armed))
        values = values.reshape(LOOKS, -1)
        below = np.where(np.broadcast_to(armed.reshape(LOOKS, -1), values.shape) > 0, values, np.inf)
        began_above = values[0] > 0.0
        deep = (below < -DEPTH * max(float(np.max(np.abs(values[: LOOKS // 2]))), 1e-300)) & began_above
        if deep.any():
            row = int(np.argmax(deep.any(axis=1)))
            yield (
                f"Guard {guard.name!r} is below zero at t = {float(states.t[row]):.6g} s while it is watched "
                f"({float(below[row].min()):.3g}): the motion has passed through it."
            )


def _energy(system: AbstractSystem, run: Trajectory) -> Iterator[str]:
    """Whether energy comes from nowhere."""
    known = system.quantities()

    def energy(state):
        seen = system.observe(state)
        return seen["energy"] if "energy" in seen else seen["kinetic_energy"] + seen["potential_energy"]

    if "energy" not in known and not {"kinetic_energy", "potential_energy"} <= set(known):
        return
    compiled = eqx.filter_jit(energy)
    along = np.asarray(jax.vmap(energy)(_samples(run)))
    scale = max(float(np.ptp(along)), float(np.max(np.abs(along))), 1e-300)
    for event in run.events:
        gain = float(compiled(event.after)) - float(compiled(event.before))
        if gain > GROWTH * scale:
            yield f"The energy grows by {gain:.3g} J at the event {event.name!r} at t = {event.t:.6g} s."
            return
    lost = sum(float(compiled(event.before)) - float(compiled(event.after)) for event in run.events)
    gain = float(along[-1] - along[0]) + lost
    if gain > GROWTH * scale:
        yield f"The energy grows by {gain:.3g} J between the events, up to t = {float(run.end.t):.6g} s."


def _replay(system: AbstractSystem, run: Trajectory) -> Iterator[str]:
    """Whether the replay, of which derivatives are taken, is the run."""
    settled = any(event.name.endswith("_settled") for event in run.events)
    if settled or len(run.events) > 50:
        return
    end = run.replay(system, run.start).end
    found, wanted = (np.concatenate([np.ravel(np.asarray(getattr(s, p))) for p in PARTS]) for s in (end, run.end))
    if not np.allclose(found, wanted, rtol=AGAIN, atol=AGAIN):
        yield f"A replay of the run ends {np.max(np.abs(found - wanted)):.3g} off: derivatives would be wrong."


def _unused_guards(system: AbstractSystem, run: Trajectory) -> Iterator[str]:
    """Guards that did nothing."""
    fired = {event.name.removesuffix("_settled") for event in run.events}
    states = _samples(run)
    for guard in system.guards():
        if guard.name in fired:
            continue
        values = np.asarray(jax.vmap(guard.function)(states))
        armed = np.asarray(jax.vmap(guard.armed)(states))
        end = float(run.end.t)
        if not armed.any():
            yield f"Guard {guard.name!r} was not watched up to t = {end:.6g} s."
        elif (values <= 0.0).all():
            yield (
                f"Guard {guard.name!r} is never positive up to t = {end:.6g} s; a guard fires as it falls through "
                "zero. Is its sign right?"
            )
        else:
            yield f"Guard {guard.name!r} did not fall through zero up to t = {end:.6g} s, so its jump was not tried."
