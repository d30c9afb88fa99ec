"""Tables of scenarios in which a gas of bodies is filled, measured or compressed; JAX is imported when one is run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
import pydantic

from saltus.scenarios.base import KnownStart, Nonnegative, Positive
from saltus.scenarios.shape import ShapeTable
from saltus.scenarios.table import Model

if TYPE_CHECKING:
    from saltus.gas import Gas, Species
    from saltus.gas.run import GasRun
    from saltus.scenarios.bodies import BodiesScenario, BodyTable
    from saltus.starts.bodies import Placed
    from saltus.systems.gas import Bodies

Count = Annotated[int, pydantic.Field(ge=1, le=100_000)]
Fraction = Annotated[float, pydantic.Field(gt=0, lt=1)]
EQUILIBRATION = 100  # contacts per body before averages begin, unless said otherwise


class SpeciesTable(Model):
    """One entry of [[fill.others]]: bodies of another kind in a mixture."""

    shape: ShapeTable
    count: Count
    density: Positive | None = None
    mass: Positive | None = None

    @pydantic.model_validator(mode="after")
    def _mass_once(self) -> Self:
        if self.density is not None and self.mass is not None:
            raise ValueError("Both `density` and `mass` are given. Give one of them.")
        return self

    def density_of_one(self) -> float:
        """Density of a body [kg m-3]: as given, or from its mass; 1 without either."""
        if self.mass is not None:
            return self.mass / self.shape.volume()
        return 1.0 if self.density is None else self.density


class FillTable(SpeciesTable):
    """The table [fill]: many bodies in the box, reproducible by seed.

    With `temperature` (kT) their velocities are thermal and volume fractions up to 0.6 can be filled; without, they
    are put one by one at random places, and `speed` and `spin` are root mean squares of the velocity components.
    `file` is the result of a run of the same bodies, which go on from its last state at this temperature.
    """

    others: list[SpeciesTable] = []
    volume_fraction: Fraction | None = None
    temperature: Positive | None = None
    thermal_spin: bool = False
    start: Literal["random", "crystal"] = "random"
    file: str | None = None
    speed: Nonnegative = 1.0
    spin: Nonnegative = 1.0
    seed: Annotated[int, pydantic.Field(ge=0)] = 0

    @pydantic.model_validator(mode="after")
    def _thermal_keys(self) -> Self:
        if self.temperature is None:
            keys = ("others", "start", "file", "thermal_spin", "volume_fraction")
            given = [key for key in keys if getattr(self, key) != type(self).model_fields[key].default]
            if given:
                raise ValueError(f"`{given[0]}` needs thermal velocities. Give `fill.temperature` (kT) too.")
        elif given := {"speed", "spin"} & self.model_fields_set:
            raise ValueError(f"Both `temperature` and `{min(given)}` are given. The temperature sets all velocities.")
        if self.file is not None and "start" in self.model_fields_set:
            raise ValueError("Both `start` and `file` are given. Give one of them.")
        if self.start == "crystal" and self.others:
            raise ValueError("A crystal has one kind of bodies. Leave out `fill.others`, or take a random start.")
        return self

    def species(self) -> list[Species]:
        """What bodies."""
        from saltus.gas import Species

        found = []
        for table in (self, *self.others):
            mass = table.density_of_one() * table.shape.volume() if table.mass is None else table.mass
            shape = table.shape.axes if table.shape.is_ellipsoid else table.shape.build()
            found.append(Species(shape, table.count, mass=mass))
        return found

    def box_size(self, size: list[float] | None) -> list[float]:
        """Edges of the box: as given, or the cube with the wanted volume fraction."""
        if self.volume_fraction is None:
            if size is None:
                raise ValueError("The box has no size. Give `box.size`, or `fill.volume_fraction` for a cube.")
            return size
        if size is not None:
            raise ValueError("Both `box.size` and `fill.volume_fraction` are given. Give one of them.")
        volume = sum(table.count * table.shape.volume() for table in (self, *self.others))
        return [(volume / self.volume_fraction) ** (1 / 3)] * 3


class MeasureTable(Model):
    """The table [measure]: what of a gas enters the averages."""

    equilibrate: Annotated[int, pydantic.Field(ge=0)] | None = None
    collisions: Annotated[int, pydantic.Field(ge=1)] | None = None
    events: Annotated[int, pydantic.Field(ge=0, le=10_000_000)] = 0  # the last so many are kept one by one


class CompressTable(Model):
    """The table [compress]: bodies grow until they jam."""

    rate: Annotated[float, pydantic.Field(gt=0, le=10)] = 0.02
    compressibility: Annotated[float, pydantic.Field(gt=10, le=1e9)] = 2000.0


def look_at_filling(scenario: BodiesScenario) -> KnownStart:
    """What is certain of a thermal filling before bodies grow to their size: they and the box are possible."""
    from saltus.starts import gas as starts

    fill, box = scenario.filling, np.asarray(scenario.box_edges(), float)
    tables = (fill, *fill.others)
    volume = sum(table.count * table.shape.volume() for table in tables)
    radius, count = max(table.shape.radius() for table in tables), sum(table.count for table in tables)
    if fill.start == "crystal":
        starts.crystal_cells(fill.count, box, np.asarray(fill.shape.axes), volume, radius, fill.shape.is_ellipsoid)
        return KnownStart()
    starts.check_box(volume, radius, box, scenario.periodic)
    grow = starts.first_scale(count, box, radius) < 1.0
    return KnownStart(left="whether the bodies can grow to their size in this box" if grow else "")


def fill_with_round_bodies(
    fill: FillTable, box: list[float], periodic: bool, among: list[BodyTable]
) -> list[Placed] | None:
    """The bodies that are put at random places in a box; None where only JAX tells whether they fit."""
    from saltus.starts.bodies import Placed
    from saltus.starts.filling import Seat, Stock, UnknownGapError, random_seats

    def stock(shape: ShapeTable) -> Stock:
        axes = np.asarray(shape.axes, float) if shape.is_ellipsoid else None
        return Stock(shape.radius(), axes, shape.kind)

    def seat(table: BodyTable) -> Seat:
        placed = table.placed()
        return stock(table.shape).at(placed.center, placed.quaternion)

    seats = random_seats(
        stock(fill.shape), fill.count, box, speed=0.0, spin=0.0, seed=fill.seed, periodic=periodic,
        among=[seat(table) for table in among],
    )  # fmt: skip
    axes, exponent = np.asarray(fill.shape.axes, float), float(np.max(fill.shape.exponents))
    try:
        return [Placed(axes, exponent, seat.center, seat.quaternion, seat.radius) for seat, *_ in seats]
    except UnknownGapError:
        return None


def start_of(scenario: BodiesScenario) -> Bodies:
    """The bodies of a thermal filling."""
    from saltus.gas import crystal, random_start

    fill, box = scenario.filling, scenario.box_edges()
    if fill.temperature is None:
        raise ValueError("A gas needs `fill.temperature`.")
    if fill.file is not None:
        return _stored_bodies(scenario, fill.file, box, fill.temperature)
    if fill.start == "crystal":
        return crystal(fill.species()[0], box, temperature=fill.temperature, seed=fill.seed, spins=_spins(scenario))
    return random_start(
        fill.species(),
        box,
        periodic=scenario.periodic,
        temperature=fill.temperature,
        seed=fill.seed,
        spins=_spins(scenario),
    )


def _stored_bodies(scenario: BodiesScenario, file: str, box: list[float], temperature: float) -> Bodies:
    """The bodies in the last state of a stored run, with velocities scaled to the temperature."""
    from saltus.gas.states import bodies_of, freedoms, last_state, scale_velocities
    from saltus.io import read

    fill = scenario.filling
    bodies = last_state(read(file), bodies_of(fill.species(), fill.seed), box, repr(file))
    kept = 3 if scenario.periodic and not scenario.walls else 0
    return scale_velocities(bodies, temperature, freedoms(bodies, _spins(scenario), kept)[1])


def _spins(scenario: BodiesScenario) -> bool:
    """Friction turns bodies of revolution about their axes too."""
    return scenario.filling.thermal_spin or scenario.impact.mu > 0.0


def gas_of(scenario: BodiesScenario) -> Gas:
    """The gas of a scenario at its start."""
    from saltus.gas import Gas, HardBodies

    hard = HardBodies(
        start_of(scenario),
        scenario.box_edges(),
        periodic=scenario.periodic,
        walls=[(wall.normal, wall.offset) for wall in scenario.walls],
        gravity=scenario.gravity,
        law=scenario.impact.law(),
        log=0 if scenario.measure is None else scenario.measure.events,
    )
    # Spins that nothing changes enter no average.
    return Gas(hard, spins=scenario.impact.mu > 0.0)


def measure_gas(scenario: BodiesScenario, report, checkpoint: Path | None, resume: bool, identity: str) -> GasRun:
    """Run the gas of a scenario."""
    from saltus.gas.run import Checkpoint, run

    table, fill = scenario.measure, scenario.filling
    if table is None:
        raise ValueError("Nothing is measured: give the table [measure].")
    count = sum(one.count for one in (fill, *fill.others))
    saved = None if checkpoint is None else Checkpoint(checkpoint, identity, resume=resume)
    return run(
        lambda: gas_of(scenario),
        equilibrate=EQUILIBRATION * count // 2 if table.equilibrate is None else table.equilibrate,
        collisions=math.inf if table.collisions is None else table.collisions,
        until=scenario.end_time,
        report=report,
        checkpoint=saved,
    )


def compress(scenario: BodiesScenario, report: Callable[[float, int], None] | None) -> GasRun:
    """Compress the bodies of a scenario until they jam."""
    from saltus.gas import Gas, HardBodies
    from saltus.gas.packing import compress
    from saltus.gas.run import GasRun
    from saltus.hybrid import Outcome

    began, table, fill = time.perf_counter(), scenario.compress, scenario.filling
    if table is None:
        raise ValueError("Nothing is compressed: give the table [compress].")
    packing = compress(
        fill.species(),
        rate=table.rate,
        compressibility=table.compressibility,
        seed=fill.seed,
        report=report,
    )
    name = "finished" if packing.jammed else "stalled"
    text = (
        f"{'Jammed' if packing.jammed else 'Not jammed'} at a volume fraction of {packing.volume_fraction:.5g} after "
    )
    text += f"{packing.collisions} collisions, with {packing.contacts_per_body:.3g} contacts per body."
    units = {"units": "1"}
    more = {
        "jammed_volume_fraction": ((), packing.volume_fraction, units | {"long_name": "volume fraction"}),
        "contacts_per_body": ((), packing.contacts_per_body, units | {"long_name": "near contacts of a body"}),
        "compressibility": ((), packing.compressibility, units | {"long_name": "p V / (N kT) at the end"}),
    }
    gas = Gas(HardBodies(packing.bodies, packing.box))
    gas.pairs.add(packing.bodies.place, gas.hard.periodic)
    facts = {"collisions": packing.collisions, "deepest_overlap": packing.deepest}
    return GasRun(gas, Outcome(name, text), time.perf_counter() - began, more, facts)
