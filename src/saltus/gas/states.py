"""States of many bodies: random ones, crystals, thermal velocities."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from saltus import checks
from saltus.numerics.on_host import rotation_matrices
from saltus.shapes import AbstractShape, Ellipsoid
from saltus.shapes.body import measure
from saltus.starts import gas as given
from saltus.systems.gas.bodies import Bodies, Shapes
from saltus.systems.gas.hard_bodies import HardBodies

if TYPE_CHECKING:
    import xarray as xr

GROWTH = 0.4  # rate at which bodies grow to their size, in units of speed over radius
GIVE_UP = 3000  # contacts per body after which a volume fraction counts as out of reach


@dataclasses.dataclass(frozen=True)
class Species:
    """So many bodies of one shape.

    Args:
        axes: Semi-axes of an ellipsoid [m], or a shape.
        count: How many.
        mass: Mass of one; that of unit density if not given [kg].
        inertia: Principal moments of inertia; those of a homogeneous body if not given [kg m2].
    """

    axes: Sequence[float] | AbstractShape
    count: int
    mass: float | None = None
    inertia: Sequence[float] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.axes, AbstractShape):
            checks.shaped("axes", self.axes, (3,), "Give three semi-axes, such as [1.0, 0.5, 0.5], or a shape.")
            checks.positive("axes", self.axes)
        if self.count < 1:
            raise ValueError(f"`count` must be >= 1, got {self.count}.")
        if self.mass is not None:
            checks.positive("mass", self.mass)
        if self.inertia is not None:
            checks.shaped("inertia", self.inertia, (3,), "Give three principal moments.")
            checks.positive("inertia", self.inertia)

    def shape(self) -> AbstractShape:
        """The shape of one."""
        return self.axes if isinstance(self.axes, AbstractShape) else Ellipsoid(self.axes)


def bodies_of(species: Sequence[Species], seed: int) -> Bodies:
    """All bodies of these species at the origin, at rest, with random orientations."""
    random = np.random.default_rng([seed, 1])
    counts = [kind.count for kind in species]
    axes, mass, inertia = (np.repeat(parts, counts, axis=0) for parts in zip(*map(_one_of, species), strict=True))
    n = len(axes)
    quaternion = random.standard_normal((n, 4))
    quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
    zero = np.zeros((n, 3))
    known = None
    if any(isinstance(kind.axes, AbstractShape) for kind in species):
        known = Shapes.of([kind.shape() for kind in species], np.repeat(np.arange(len(counts)), counts))
    return Bodies(axes, mass, inertia, zero, zero, quaternion, zero, known)


def _one_of(kind: Species) -> tuple[np.ndarray, float, np.ndarray]:
    """Semi-axes, mass and principal moments of inertia of one body."""
    if isinstance(kind.axes, AbstractShape):
        volume, gyration = (np.asarray(part) for part in measure(kind.axes))
        axes, mass = np.asarray(kind.axes.proxy_axes()), float(volume) if kind.mass is None else kind.mass
        return axes, mass, mass * gyration if kind.inertia is None else np.asarray(kind.inertia, float)
    axes = np.asarray(kind.axes, float)
    mass = 4.0 / 3.0 * np.pi * float(np.prod(axes)) if kind.mass is None else kind.mass
    moments = mass * (np.sum(axes**2) - axes**2) / 5.0
    return axes, mass, moments if kind.inertia is None else np.asarray(kind.inertia, float)


def freedoms(bodies: Bodies, spins: bool = False, kept: int = 3) -> tuple[np.ndarray, int]:
    """Which of the principal axes of each body turn in impacts, and the number of degrees of freedom.

    Args:
        bodies: The bodies.
        spins: Whether bodies of revolution turn about their axes too; frictionless impacts never do that, nor do they
            turn a ball at all.
        kept: Along how many directions the total momentum is kept: these are no degrees of freedom. Three in a
            periodic box, none between walls.
    """
    turning = np.ones((bodies.n, 3), bool) if spins else ~bodies.symmetric
    return turning, 3 * bodies.n - kept + int(turning.sum())


def thermal(bodies: Bodies, temperature: float, seed: int, *, spins: bool = False, kept: int = 3) -> Bodies:
    """The bodies with Maxwell's velocities at a temperature; total momentum zero, energy exact.

    Args:
        bodies: The bodies.
        temperature: kT, such that the kinetic energy is kT / 2 per degree of freedom [J].
        seed: The same seed gives the same velocities.
        spins: Whether bodies of revolution spin about their axes too.
        kept: Along how many directions the total momentum will be kept (`freedoms`).
    """
    checks.positive("temperature", temperature)
    random = np.random.default_rng([seed, 2])
    turning, count = freedoms(bodies, spins, kept)
    velocity = random.standard_normal((bodies.n, 3)) / np.sqrt(bodies.mass)[:, None]
    velocity -= (bodies.mass @ velocity) / bodies.mass.sum()
    spin = random.standard_normal((bodies.n, 3)) * np.sqrt(bodies.inertia) * turning
    momentum = np.einsum("nij,nj->ni", rotation_matrices(bodies.quaternion), spin)
    moving = dataclasses.replace(bodies, velocity=velocity, momentum=momentum)
    return scale_velocities(moving, temperature, count)


def scale_velocities(bodies: Bodies, temperature: float, count: int) -> Bodies:
    """The bodies with all velocities times the factor that gives this temperature."""
    energy = sum(float(part.sum()) for part in bodies.energies())
    factor = np.sqrt(0.5 * count * temperature / energy) if energy > 0.0 else 0.0
    return dataclasses.replace(bodies, velocity=bodies.velocity * factor, momentum=bodies.momentum * factor)


def random_start(
    species: Sequence[Species],
    box: Sequence[float] | np.ndarray,
    *,
    periodic=True,
    temperature: float,
    seed: int,
    spins: bool = False,
) -> Bodies:
    """Bodies at random places with random orientations and thermal velocities, none overlapping.

    Small ones are put on the points of a lattice and grow while they collide (Lubachevsky and Stillinger).

    Args:
        species: What bodies.
        box: Edge lengths of the box about the origin [m].
        periodic: Whether the box has no walls; for all edges, or for each.
        temperature: kT [J].
        seed: The same seed gives the same state.
        spins: Whether bodies of revolution spin about their axes too.
    """
    box = np.asarray(box, float)
    bodies = bodies_of(species, seed)
    largest = float(bodies.radius.max())
    given.check_box(bodies.volume, largest, box, periodic)
    place, _ = lattice(bodies.n, box, np.random.default_rng([seed, 3]))
    kept = int(np.sum(np.broadcast_to(periodic, 3)))
    bodies = thermal(dataclasses.replace(bodies, place=place), temperature, seed, spins=spins, kept=kept)
    begin = given.first_scale(bodies.n, box, largest)
    if begin == 1.0:
        return bodies
    return _grow(bodies, box, periodic, begin, temperature, freedoms(bodies, spins, kept)[1])


def _grow(bodies: Bodies, box: np.ndarray, periodic, begin: float, temperature: float, count: int) -> Bodies:
    """The bodies at full size, grown from a part of it while they collide."""
    rate = GROWTH * float(np.sqrt(temperature / bodies.mass.mean())) / float(bodies.radius.max())
    hard = HardBodies(bodies, box, periodic=periodic, scale=begin, growth=rate, largest=1.0)
    piece, most = max(20 * bodies.n, 1000), GIVE_UP * bodies.n
    while hard.scale < 1.0:
        hard.advance((1.0 - hard.scale) / rate, contacts=piece)
        if 1.0 - hard.scale < 1e-13:
            break
        if hard.outcome is not None or int(hard.fluid.tally.contacts) > most:
            reached = bodies.volume * hard.scale**3 / float(np.prod(box))
            raise ValueError(
                f"The volume fraction {bodies.volume / float(np.prod(box)):.4g} was not reached from a random start: "
                f"the bodies jam at about {reached:.3g}. Take a larger box or fewer bodies."
            )
        hard.restart(scale_velocities(hard.snapshot(), temperature, count), growth=rate)
    # The last digits of the scale are rounding; nobody grows by more than that.
    return scale_velocities(hard.snapshot(), temperature, count)


def lattice(n: int, box: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, float]:
    """`n` points of a lattice that fills the box, in random order, and the distance of neighbours."""
    per = given.lattice_cells(n, box)
    points = np.stack(np.meshgrid(*(np.arange(k) for k in per), indexing="ij"), axis=-1).reshape(-1, 3)
    chosen = points[random.permutation(len(points))[:n]]
    return (chosen + 0.5) * box / per - box / 2.0, float(np.min(box / per))


def last_state(dataset: xr.Dataset, bodies: Bodies, box: Sequence[float], name: str) -> Bodies:
    """The bodies where, and as fast as, they are at the end of a stored run.

    Args:
        dataset: Result of a run of the same bodies.
        bodies: Their shapes and masses.
        box: Edge lengths of the box that they are to be in [m].
        name: What to call the dataset in messages.
    """
    wanted = ("position", "velocity", "quaternion", "angular_velocity", "semi_axes")
    missing = [one for one in wanted if one not in dataset]
    if missing:
        raise ValueError(f"{name} has no {missing[0]!r}. Give the result of a run with [measure] or [compress].")
    axes = np.asarray(dataset["semi_axes"].values, float)
    if axes.shape != bodies.axes.shape or np.abs(axes / bodies.axes - 1.0).max() > 1e-9:
        raise ValueError(f"{name} holds {len(axes)} bodies of other shapes or numbers than [fill]. Make them the same.")
    edges = np.asarray(json.loads(dataset.attrs["box"]), float)
    if np.abs(edges / np.asarray(box, float) - 1.0).max() > 1e-9:
        found = edges.tolist()
        raise ValueError(f"{name} holds a box of {found} m, not {list(box)} m. Give `box.size` as it is there.")
    place, velocity, quaternion, omega = (np.asarray(dataset[one].values[-1], float) for one in wanted[:4])
    turns = rotation_matrices(quaternion)
    spin = np.einsum("nij,ni->nj", turns, omega) * bodies.inertia
    momentum = np.einsum("nij,nj->ni", turns, spin)
    return dataclasses.replace(bodies, place=place, velocity=velocity, quaternion=quaternion, momentum=momentum)


def crystal(
    species: Species, box: Sequence[float] | np.ndarray, *, temperature: float, seed: int, spins: bool = False
) -> Bodies:
    """Bodies of one kind on a face-centred lattice stretched to the box, all with the same orientation.

    The cells along each edge are as many as leave the most room between the bodies.

    Args:
        species: What bodies; their number must be a multiple of 4, and should be 4 k^3 for balls in a cube.
        box: Edge lengths of the box about the origin [m].
        temperature: kT [J].
        seed: Of the velocities.
        spins: Whether bodies of revolution spin about their axes too.
    """
    box = np.asarray(box, float)
    bodies = bodies_of([species], seed)
    radius = float(bodies.radius.max())
    per = given.crystal_cells(species.count, box, bodies.axes[0], bodies.volume, radius, bodies.shapes is None)
    cell = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]) / 2.0
    corners = np.stack(np.meshgrid(*(np.arange(k) for k in per), indexing="ij"), axis=-1).reshape(-1, 1, 3)
    place = ((corners + cell + 0.25).reshape(-1, 3) / per - 0.5) * box
    upright = np.tile([1.0, 0.0, 0.0, 0.0], (bodies.n, 1))
    return thermal(dataclasses.replace(bodies, place=place, quaternion=upright), temperature, seed, spins=spins)
