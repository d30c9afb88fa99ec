"""The engine that fits a system: one for each contract of `hybrid`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NotRequired, Protocol, TypedDict

from saltus import checks
from saltus.hybrid import AbstractQueuedSystem, AbstractSteppedSystem, AbstractSystem, AbstractTrajectory, State

if TYPE_CHECKING:
    from saltus.engines.event_driven import EventDriven
    from saltus.engines.fixed_step import FixedStep
    from saltus.engines.step_control import AbstractSteps, Stepper

# Engines are imported where one is chosen: a run needs one of them.


class Engine(Protocol):
    """What lets a system move."""

    contract: ClassVar[type]  # of `hybrid`, that its systems keep

    @property
    def rtol(self) -> float | None:
        """Relative error allowed per step; None where steps are constant and no error is promised."""
        ...

    def run(self, system: Any, start: State, until: float, progress: Callable | None = None) -> AbstractTrajectory:
        """Let the system move from `start` to time `until`."""
        ...


class Limits(TypedDict):
    """Bounds of a run, as engines take them."""

    max_events: int
    max_steps: NotRequired[int]


@dataclasses.dataclass(frozen=True)
class Options:
    """What may be asked of an engine, as in `simulate`; each engine takes what matters to it."""

    method: str | None = None
    rtol: float = 1e-10
    atol: float = 1e-12
    step: float | None = None
    max_events: int = 10_000
    max_steps: int | None = None

    def limits(self) -> Limits:
        """Bounds on events and, if given, steps."""
        if self.max_steps is None:
            return {"max_events": self.max_events}
        return {"max_events": self.max_events, "max_steps": self.max_steps}

    def names_of_changes(self) -> list[str]:
        """Names of the options that are not left as they are."""
        return [field.name for field in dataclasses.fields(self) if getattr(self, field.name) != field.default]


def engine_for(system: Any, options: Options) -> Engine:
    """The engine for a system, by the contract that it keeps."""
    for contract, build in ENGINES.items():
        if isinstance(system, contract):
            return build(system, options)
    known = ", ".join(contract.__name__ for contract in ENGINES)
    raise TypeError(f"No engine runs a {type(system).__name__}. Derive it from one of saltus.hybrid: {known}.")


def check_fit(engine: Engine, system: Any, options: Options) -> None:
    """Refuse an engine for other systems, and options that are the engine's own."""
    name = type(engine).__name__
    if not isinstance(system, engine.contract):
        raise TypeError(
            f"{name} runs systems of the contract {engine.contract.__name__}, and {type(system).__name__} is none. "
            "Leave `engine` out, and the one that fits is taken."
        )
    if isinstance(system, AbstractSystem):
        _refuse_implicit(system, getattr(engine, "method", ""))
    if options.names_of_changes():
        raise ValueError(f"`{options.names_of_changes()[0]}` belongs to the engine. Give it there, as in {name}(...).")


def parts_for(system: Any, options: Options, origin: Any) -> tuple[Any, Stepper, AbstractSteps]:
    """What `simulate` would run a flowing system with, for those who drive its parts themselves.

    Returns:
        The system as it is run with these tolerances, the stepper, and the control of its steps.

    Args:
        system: What moves; an `AbstractSystem`.
        options: As in `simulate`.
        origin: Time from which constant steps are counted [s].
    """
    from saltus.engines.step_control import steps_for
    from saltus.engines.steppers import stepper

    checks.instance("system", system, AbstractSystem, "Only systems that flow until a guard fires run this way.")
    engine = _for_flow(system, options)
    system = system.with_tolerance(engine.rtol or 0.0)
    control = steps_for(system, options.rtol, options.atol, options.step, origin)
    return system, stepper(engine.method, options.rtol), control


def _for_flow(system: AbstractSystem, options: Options) -> EventDriven | FixedStep:
    from saltus.engines.event_driven import EventDriven
    from saltus.engines.fixed_step import FixedStep
    from saltus.engines.steppers import is_fixed

    method = options.method or system.method
    _refuse_implicit(system, method)
    if is_fixed(method) and options.step is None:
        raise ValueError(f"Method {method!r} needs `step`, the constant time step in seconds, such as 0.01.")
    if options.step is not None:
        return FixedStep(step=options.step, method=method, **options.limits())
    return EventDriven(method=method, rtol=options.rtol, atol=options.atol, **options.limits())


def _refuse_implicit(system: AbstractSystem, method: str) -> None:
    """Refuse an implicit method for a system that has no derivatives for it."""
    from saltus.engines.steppers import IMPLICIT

    if system.explicit_only and method in IMPLICIT:
        raise ValueError(
            f"Method {method!r} cannot run a {type(system).__name__}: implicit steps need derivatives of its rate, "
            "which leave out those of slow slip. Take an explicit one, such as 'dopri8'."
        )


def _for_own_steps(system: AbstractSteppedSystem, options: Options) -> Engine:
    from saltus.engines.time_stepping import TimeStepping

    return TimeStepping(step=options.step, **options.limits())


def _for_queue(system: AbstractQueuedSystem, options: Options) -> Engine:
    from saltus.engines.event_queue import EventQueue

    checks.positive("rtol", options.rtol)
    return EventQueue(rtol=options.rtol, max_events=options.max_events)


ENGINES: dict[type, Callable[[Any, Options], Engine]] = {
    AbstractSystem: _for_flow,
    AbstractSteppedSystem: _for_own_steps,
    AbstractQueuedSystem: _for_queue,
}
