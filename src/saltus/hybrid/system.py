"""What an engine needs to know of a system: how it flows, when it jumps, what it shows."""

from __future__ import annotations

import abc
import dataclasses
import math
from collections.abc import Callable
from typing import Any, ClassVar, Self

import equinox as eqx
from jaxtyping import Array

from saltus import checks
from saltus.hybrid.guard import Guard, unchanged
from saltus.hybrid.state import Rate, State


@dataclasses.dataclass(frozen=True)
class Quantity:
    """How one variable of a result is called and measured.

    Args:
        dims: Names of the dimensions after `time`.
        units: SI units, as in "m s-1"; "1" for pure numbers.
        long_name: A phrase for a plot's axis.
    """

    dims: tuple[str, ...]
    units: str
    long_name: str


class HybridSystem(eqx.Module):
    """What every system shows of itself, whatever engine runs it.

    How it moves is told by one of three contracts, each of which an engine knows:
    `AbstractSystem` flows until a guard fires; `AbstractSteppedSystem` knows its own implicit step;
    `AbstractQueuedSystem` has many members whose events are foreseen.

    Numbers are differentiable leaves; choices are static fields.
    """

    kind: ClassVar[str]
    mode_names: ClassVar[tuple[str, ...]] = ("flow",)

    @abc.abstractmethod
    def quantities(self) -> dict[str, Quantity]:
        """Name and meaning of everything that `observe` returns."""

    @abc.abstractmethod
    def observe(self, state: State) -> dict[str, Array]:
        """The quantities of one state, by name; traced by JAX."""

    def observe_rows(self, states: State) -> dict[str, Any] | None:
        """The quantities of many states (stacked, in NumPy), as `observe` has them; None if that is not known."""
        return None

    def coordinates(self) -> dict[str, list[Any]]:
        """Labels of the dimensions that have some, such as {"axis": ["x", "y", "z"]}."""
        return {}

    def attributes(self) -> dict[str, str | int | float]:
        """What a result should say of the system beside its kind, such as the law it obeys."""
        return {}

    def event_quantities(self) -> dict[str, Quantity]:
        """Units and meaning of what events tell, where the common names of `io` do not."""
        return {}

    @property
    def balanced(self) -> bool:
        """Whether energies and constraints close as exactly as the motion is solved; False for cruder models."""
        return True

    def with_tolerance(self, rtol: float) -> Self:
        """The system as it is run with this relative tolerance: what it takes for a stop must be above the errors."""
        return self

    def begin_run(self, start: State) -> State:
        """The start as a run of this system takes it: what its tolerance does not tell from a stop has stopped."""
        return start

    @property
    def others_go_on(self) -> bool:
        """Whether a part that leaves the domain is gone (mode "gone") while the rest moves on."""
        return False


class AbstractSystem(HybridSystem):
    """A system that flows smoothly within a mode until a guard fires, and jumps.

    Every method but `event_data` is traced by JAX, so it branches with `jnp.where` or `lax.cond`, never `if`
    on numbers.
    """

    @abc.abstractmethod
    def rate(self, state: State) -> Rate:
        """Time derivatives in the mode of `state`; NaN outside the domain shortens the step."""

    @property
    def method(self) -> str:
        """Method of the steps where none is asked for (`engines.steppers.METHODS`)."""
        return "dopri8"

    @property
    def explicit_only(self) -> bool:
        """Whether implicit methods cannot run it: Newton's iteration needs derivatives of the rate, all of them."""
        return False

    @property
    def eventful(self) -> bool:
        """Whether runs have events by the hundred, whose search is worth optimised code from the first on."""
        return False

    @property
    def apart(self) -> tuple[tuple[int, ...], ...]:
        """The modes in which something moves, in groups that each get their own part of a program for many runs.

        For long rates of which a group of modes needs but a part. Such runs go one by one. Empty: all modes go
        together.
        """
        return ()

    @property
    def moving_modes(self) -> tuple[int, ...]:
        """The modes of all groups of `apart`."""
        return tuple(mode for group in self.apart for mode in group)

    def guards(self) -> tuple[Guard, ...]:
        """All guards of the system, in any order; the same list for every mode."""
        return ()

    def entwined(self, mode: int | None = None) -> bool:
        """Whether `rate`, the guards and `project` have most of their computation in common, in a mode or in all.

        Engines then ask for it once (`see`) and for the three by what it gives, in one place of a program, which is
        compiled in less time.
        """
        return type(self).see is not AbstractSystem.see

    def see(self, state: State) -> Any:
        """What `rate`, the guards and `project` have in common, for systems that are `entwined`."""
        return None

    def rate_by(self, state: State, seen: Any) -> Rate:
        """The rate by what `see` gave."""
        return self.rate(state)

    def guards_by(self, state: State, seen: Any) -> list[Array]:
        """The value of each guard by what `see` gave."""
        return [guard.function(state) for guard in self.guards()]

    def project_by(self, state: State, seen: Any) -> State:
        """The projected state by what `see` gave."""
        return self.project(state)

    def observe_by(self, state: State, seen: Any) -> dict[str, Array]:
        """Everything worth showing, by what `see` gave."""
        return self.observe(state)

    def jump(self, state: State, guard: str, index: Array) -> State:
        """The state after the event of `guard` (for its element `index`), as the guard itself says.

        A system that overrides this serves those of its guards that carry no jump of their own.
        """
        rule = self.guard(guard)
        return _own_jump(self, rule)(state, index)

    def guard(self, name: str) -> Guard:
        """The guard of this name; the first of several."""
        guards = {guard.name: guard for guard in reversed(self.guards())}
        checks.one_of(f"guard of {type(self).__name__}", name, guards)
        return guards[name]

    def project(self, state: State) -> State:
        """The nearest state that satisfies the constraints; applied after every step."""
        return state

    def atol_limit(self) -> float:
        """Largest absolute tolerance with which the guards still work; engines use no larger one.

        A stop by friction is found at a small speed. Errors must stay well below it, or the motion never gets there
        and crawls.
        """
        return math.inf

    def look_interval(self, state: State) -> Array | None:
        """The longest time between two looks at the guards in which none dips below zero and returns unseen [s].

        Adaptive steps are kept so short; None: their error does that. It does not where the flow is easy and guards are
        not, as in free flight over rough ground, which steps of any length follow.
        """
        return None

    def rough(self, state: State) -> Array | None:
        """Whether the rate is not smooth near `state` although the motion is (a removable singularity).

        Constant steps from there are taken by collocation, which keeps their order. None: nowhere.
        """
        return None

    def event_data(self, guard: str, index: int, before: State, after: State) -> dict[str, Any]:
        """What belongs to an event beside its name and index: floats, ints, strings, vectors.

        For all guards that do not tell it themselves (`Guard.data`); `guard` is the name of the event.
        The time of the event is that of `before`, unless a key "t" says otherwise (a jump may
        carry a motion over its last moments in closed form).
        """
        return {}


def jump_of(system: AbstractSystem, guard: Guard) -> Callable[[State, Array], State]:
    """`jump(state, index)` of a guard: its own, else the system's, else nothing if it ends the run."""
    if guard.jump is None and type(system).jump is not AbstractSystem.jump:
        return lambda state, index: system.jump(state, guard.name, index)
    return _own_jump(system, guard)


def _own_jump(system: AbstractSystem, guard: Guard) -> Callable[[State, Array], State]:
    if guard.jump is not None:
        return guard.jump
    if guard.ends is not None:
        return unchanged
    raise ValueError(
        f"Guard {guard.name!r} of {type(system).__name__} does not say what happens when it fires. Give it a jump, as "
        f"in Guard({guard.name!r}, ..., jump=function of (state, index)), or let it end the run, as in ends='finished'."
    )


def checked_guards(system: AbstractSystem) -> tuple[Guard, ...]:
    """The guards of a system, each of which says what happens when it fires."""
    guards = tuple(system.guards())
    for guard in guards:
        if not isinstance(guard, Guard):
            raise TypeError(f"`guards` of {type(system).__name__} must return hybrid.Guard objects, got {guard!r}.")
        jump_of(system, guard)
    return guards
