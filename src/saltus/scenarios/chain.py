"""Scenarios of kind "chain": a chain that slides off a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import pydantic

from saltus.scenarios.base import EndTime, KnownStart, Nonnegative, Positive, Scenario, Solve

if TYPE_CHECKING:
    from saltus.hybrid import State
    from saltus.systems import Chain

# How long a run "until off" may take where friction may hold the chain, in units of sqrt(length / gravity).
PATIENCE = 1000.0


def _one_or_many(value: Any) -> Any:
    """A positive number, or a list of them."""
    numbers = value if isinstance(value, list) else [value]
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise ValueError(f"Masses and lengths are a number or a list of numbers, got {value!r}.")
    return [float(number) for number in numbers] if isinstance(value, list) else float(value)


PerPiece = Annotated[Any, pydantic.BeforeValidator(_one_or_many)]


class ChainSolve(Solve):
    """The table [solve] of a chain: `until` may be "off", as the last particle leaves the table."""

    until: EndTime | Literal["off"] = "off"
    links: Literal["rod", "string"] = "rod"

    @pydantic.field_validator("until", mode="before")
    @classmethod
    def _time_or_off(cls, value: Any) -> Any:
        if isinstance(value, str) and value != "off":
            raise ValueError(f'`solve.until` must be a time > 0 in seconds or "off", got {value!r}.')
        if isinstance(value, int | float) and not value > 0:
            raise ValueError(f'`solve.until` must be > 0, or "off" for the last particle\'s leaving, got {value}.')
        return value


class ChainScenario(Scenario):
    """A chain laid over the edge of a table and let go."""

    angles: ClassVar[tuple[str, ...]] = ("angle",)

    kind: Literal["chain"]
    links: Annotated[int, pydantic.Field(ge=1)]
    overhang: Positive
    angle: float | None = None
    mass: PerPiece = 1.0
    length: PerPiece = 1.0
    gravity: Positive = 9.81
    table_friction: Nonnegative = 0.0
    static_friction: Nonnegative | None = None
    edge_friction: Nonnegative = 0.0
    engagement: Literal["limit", "plastic", "printed", "frozen"] = "limit"
    solve: ChainSolve = ChainSolve()

    @pydantic.model_validator(mode="after")
    def _pieces_fit(self) -> Self:
        for name, count, what in (("mass", self.links + 1, "particle"), ("length", self.links, "link")):
            value = getattr(self, name)
            if isinstance(value, list) and len(value) != count:
                raise ValueError(
                    f"`{name}` must be one number, or {count} of them, one per {what} of a chain with "
                    f"{self.links} links, got {len(value)}."
                )
        return self

    @property
    def end_time(self) -> float:
        """When the run ends at the latest [s]; a chain that friction may hold is not waited for without end."""
        if self.solve.until != "off":
            return float(self.solve.until)
        if max(self.table_friction, self.static_friction or 0.0) == 0.0:
            return math.inf
        whole = sum(self.length) if isinstance(self.length, list) else self.links * self.length
        return PATIENCE * math.sqrt(whole / self.gravity)

    def end_of(self, start: State) -> float:
        """As for any run; but a chain that hangs straight down and is held stays so, and needs no patience."""
        from saltus.systems.chain.starts import hangs_held

        return math.inf if self.solve.until == "off" and hangs_held(start) else self.end_time

    def _look(self) -> KnownStart:
        import numpy as np

        from saltus.starts import chain as starts

        starts.check_pieces("length", self.length, self.links, "one per link")
        starts.check_pieces("mass", self.mass, self.links + 1, "one per particle")
        if self.static_friction is not None:
            starts.check_static_friction(self.static_friction, self.table_friction)
        if self.engagement in starts.CREATE_ENERGY:
            starts.warn_of_energy(self.engagement)
        lengths = np.broadcast_to(np.asarray(self.length, float), (self.links,))
        hanging, rest, angle = starts.split_overhang(lengths, self.overhang, self.angle)
        starts.check_edge(starts.edge_place(rest, angle), lengths, hanging)
        return KnownStart()

    def build(self) -> tuple[Chain, State]:
        from saltus.systems import Chain

        system = Chain(
            self.links,
            mass=self.mass,
            length=self.length,
            gravity=self.gravity,
            table_friction=self.table_friction,
            static_friction=self.static_friction,
            edge_friction=self.edge_friction,
            engagement=self.engagement,
            material=self.solve.links,
            ends_off_table=self.solve.until == "off",
        )
        return system, system.start(self.overhang, angle=self.angle)
