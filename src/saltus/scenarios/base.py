"""What every kind of scenario has: checked keys, how to solve, and the way to a run.

Nothing here imports JAX: a wrong key is found before anything slow happens.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Self

import pydantic

from saltus import checks
from saltus.errors import ScenarioError
from saltus.scenarios.ensemble import EnsembleModel
from saltus.scenarios.table import Model

if TYPE_CHECKING:
    from saltus.hybrid import HybridSystem, State
    from saltus.simulation import Run

# The methods of `engines.steppers`, which cannot be asked without importing JAX.
IMPLICIT_METHODS = ("kvaerno5", "kvaerno3")
ADAPTIVE_METHODS = ("dopri8", "dopri5", "tsit5", "bosh3", *IMPLICIT_METHODS)
FIXED_METHODS = ("rk4",)

Positive = Annotated[float, pydantic.Field(gt=0)]
Nonnegative = Annotated[float, pydantic.Field(ge=0)]
Pair = Annotated[list[float], pydantic.Field(min_length=2, max_length=2)]
Triple = Annotated[list[float], pydantic.Field(min_length=3, max_length=3)]
EndTime = Annotated[float, pydantic.Field(gt=0, allow_inf_nan=True)]


def is_known(value: Any) -> bool:
    """Whether a value of a scenario is a plain number or text, not one that JAX traces."""
    return isinstance(value, int | float | str)


class Solve(Model):
    """The table [solve]: how far, how exactly, and how densely sampled."""

    advice: ClassVar[dict[str, str]] = {
        "until": "Give the time at which the run ends in seconds, such as until = 10.0 under [solve]."
    }

    until: EndTime
    method: str | None = None
    step: Positive | None = None
    rtol: Positive = 1e-10
    atol: Positive = 1e-12
    samples: Annotated[int, pydantic.Field(ge=2, le=10_000_000)] = 1001
    max_events: Annotated[int, pydantic.Field(ge=1)] = 10_000
    max_steps: Annotated[int, pydantic.Field(ge=1)] | None = None
    expect: str | None = None

    @pydantic.model_validator(mode="after")
    def _method_fits_step(self) -> Self:
        if self.method is not None:
            checks.one_of("method", self.method, (*ADAPTIVE_METHODS, *FIXED_METHODS))
        if self.method in FIXED_METHODS and self.step is None:
            raise ValueError(
                f"Method {self.method!r} needs `solve.step`, the constant time step in seconds, such as 0.01."
            )
        if self.expect is not None:
            from saltus.hybrid.outcome import OUTCOMES

            checks.one_of("expect", self.expect, OUTCOMES)
        if isinstance(self.until, float) and math.isnan(self.until):
            raise ValueError("`solve.until` must be > 0, got nan.")
        return self


class KnownStart(NamedTuple):
    """A start that is certainly possible.

    Args:
        modes: Mode of each mass, for masses that slide.
        left: What of it only the run finds; empty if nothing.
    """

    modes: list[str] | None = None
    left: str = ""


class Scenario(Model):
    """A ready case: a system, its start, and how to solve it.

    A kind subclasses this with its own tables and `build`; `kind` names it in `scenarios.kinds`.
    """

    # Keys that name files, such as "surface.file"; they are looked for beside the scenario's file.
    paths: ClassVar[tuple[str, ...]] = ()
    angles: ClassVar[tuple[str, ...]] = ()  # keys in radians; each may be given in degrees with the ending _deg

    advice: ClassVar[dict[str, str]] = {
        "solve": "Give the table [solve] with the time at which the run ends in seconds, such as until = 10.0."
    }

    kind: str
    solve: Solve
    ensemble: EnsembleModel | None = None

    @pydantic.model_validator(mode="before")
    @classmethod
    def _degrees(cls, data: Any) -> Any:
        """Angles given as `<key>_deg` become radians."""
        if not isinstance(data, dict):
            return data
        data = dict(data)
        for name in cls.angles:
            degrees = data.pop(f"{name}_deg", None)
            if degrees is None:
                continue
            if name in data:
                raise ValueError(f"Both `{name}` and `{name}_deg` are given. Give one of them.")
            if isinstance(degrees, bool) or not isinstance(degrees, int | float):
                raise ValueError(f"`{name}_deg` must be a number of degrees, got {degrees!r}.")
            data[name] = math.radians(degrees)
        return data

    @abc.abstractmethod
    def build(self) -> tuple[HybridSystem, State]:
        """The system and its start; `ValueError` in one sentence for what cannot be built."""

    def success(self, outcome: str) -> bool:
        """Whether a run with this outcome did what the scenario is for: ended as expected, or else as asked."""
        from saltus.hybrid.outcome import OUTCOMES

        return OUTCOMES[outcome] if self.solve.expect is None else outcome == self.solve.expect

    @property
    def end_time(self) -> float:
        """When the run ends at the latest [s]; infinite if only an event of the system ends it."""
        return float(self.solve.until)

    @property
    def leaves_python_free(self) -> bool:
        """Whether a run is a few long calls of one program, during which Python can do something else."""
        return False

    def end_of(self, start: State) -> float:
        """When a run from this start ends at the latest [s]."""
        return self.end_time

    def assemble(self) -> tuple[HybridSystem, State]:
        """What `build` returns; what it refuses is an error of the scenario."""
        try:
            return self.build()
        except ScenarioError:
            raise
        except ValueError as error:
            raise ScenarioError(str(error)) from error

    @property
    def start_is_soon_known(self) -> bool:
        """Whether `known_start` takes no time that one would notice, so that a run may ask it first."""
        return True

    def known_start(self) -> KnownStart | None:
        """What is certain of the start without building it, which needs JAX; `ScenarioError` if it is impossible.

        None where only building it tells.
        """
        from numpy.linalg import LinAlgError

        try:
            return self._look()
        except ScenarioError:
            raise
        except (ArithmeticError, LinAlgError):  # numbers out of range, which building tells in words
            return None
        except ValueError as error:
            raise ScenarioError(str(error)) from error

    def _look(self) -> KnownStart | None:
        """See `known_start`; by NumPy alone, and `ValueError` in one sentence for what cannot be built."""
        return None

    def possible(self) -> tuple[HybridSystem, State] | None:
        """System and start, where the scenario gives one; `ScenarioError` if it is impossible."""
        return self.assemble()

    def simulate(self, progress: Callable[[float, int], None] | None = None) -> Run:
        """Run the scenario; `progress` is called with the time reached and the number of events."""
        from saltus.simulation import simulate

        system, start = self.assemble()
        self.prepare(system, start)
        return simulate(system, start, self.end_of(start), progress=progress, **self.options())

    def prepare(self, system: HybridSystem, like: State) -> None:
        """Have another thread make the programs of a single run, the first of its form (`ahead.load_ahead`).

        Where the start takes time, `build` calls it before with a state of its form.
        """
        from saltus import simulation
        from saltus.programs import ahead

        if ahead.samples() is not None:
            simulation.prepare(system, like, **self.options())
            ahead.wait_for_python()
            from saltus.io import dataset  # after it: xarray is loaded while programs are made

            dataset.prepare(system, like)

    def options(self) -> dict[str, Any]:
        """What `simulate` is told beside the system, its start and the end."""
        solve = self.solve
        return {
            "method": solve.method,
            "rtol": solve.rtol,
            "atol": solve.atol,
            "step": solve.step,
            "max_events": solve.max_events,
            "max_steps": solve.max_steps,
        }
