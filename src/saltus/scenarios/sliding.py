"""Scenarios of kind "sliding": point masses and rods on a surface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple, Self

import pydantic

from saltus.scenarios.base import KnownStart, Model, Nonnegative, Pair, Positive, Scenario, Solve
from saltus.scenarios.release import ElasticModel, ReleaseModel
from saltus.scenarios.surfaces import AnySurface

if TYPE_CHECKING:
    from saltus.hybrid import State
    from saltus.io.release import ReleaseMasses
    from saltus.surfaces import AbstractSurface
    from saltus.surfaces.known import KnownSurface
    from saltus.systems import Raft, SlidingMasses


class MassModel(Model):
    """An entry of [[masses]]."""

    advice: ClassVar[dict[str, str]] = {
        "position": "Give x and y; z follows from the surface.",
        "velocity": "Give the horizontal components; the third follows from the surface.",
    }

    mass: Positive
    position: Pair
    velocity: Pair = [0.0, 0.0]
    mu: Nonnegative | None = None


class RodModel(Model):
    """An entry of [[rods]]; its length is the distance at the start. Without a stiffness it is rigid."""

    not_given: ClassVar[dict[str, str]] = {
        "length": "A rod is as long as its masses are apart at the start, so its length is not given. Move the masses."
    }

    between: Annotated[list[int], pydantic.Field(min_length=2, max_length=2)]
    stiffness: Positive | None = None
    damping: Nonnegative | None = None
    strength: Positive | None = None

    @pydantic.model_validator(mode="after")
    def _rigid_rods_do_not_break(self) -> Self:
        for name in ("damping", "strength"):
            if self.stiffness is None and getattr(self, name) is not None:
                raise ValueError(f"A rod with `{name}` needs a `stiffness` as well: a rigid rod has no {name}.")
        return self

    def elastic(self) -> ElasticModel:
        """Stiffness, damping and strength of this rod, as a rod of a raft has them."""
        if self.stiffness is None:
            raise ValueError("A rigid rod has no stiffness, so it is no rod of a raft.")
        return ElasticModel(stiffness=self.stiffness, damping=self.damping or 0.0, strength=self.strength)


class FrictionModel(Model):
    """The table [friction], for the masses without a `mu` of their own."""

    mu: Nonnegative


class SlidingSolve(Solve):
    """The table [solve] of a sliding scenario."""

    formulation: Literal["full", "tangent"] = "full"
    friction_reaction: Literal["abs", "signed"] = "abs"
    adhesion: bool = True  # where it is not given, false on a terrain: see SlidingScenario
    restitution: Annotated[float, pydantic.Field(ge=0, le=1)] = 0.0
    project: bool = False


class _Laid(NamedTuple):
    """Masses and the rods between them, and which of the masses a release area laid out."""

    place: list[list[float]]
    velocity: list[list[float]]
    weights: list[float]
    mu: list[float]
    pairs: list[tuple[int, int]]
    elastic: list[ElasticModel]
    released: ReleaseMasses | None


class SlidingScenario(Scenario):
    """Point masses joined by rods, sliding on a surface."""

    paths: ClassVar[tuple[str, ...]] = ("surface.file", "release.polygon", "release.raster")

    kind: Literal["sliding"]
    gravity: Positive = 9.81
    surface: AnySurface
    masses: Annotated[list[MassModel], pydantic.Field(min_length=1)] = []
    release: ReleaseModel | None = None
    rods: list[RodModel] = []
    friction: FrictionModel | None = None
    solve: SlidingSolve

    @pydantic.model_validator(mode="after")
    def _rods_join_masses(self) -> Self:
        count, seen = len(self.masses), {}
        for index, rod in enumerate(self.rods):
            first, second = rod.between
            for end in rod.between:
                if not 0 <= end < count:
                    raise ValueError(
                        f"Rod {index} joins mass {end}, which does not exist. The masses are numbered 0 to {count - 1}."
                    )
            if first == second:
                raise ValueError(
                    f"Rod {index} joins mass {first} to itself. Give `between` as two different masses, such as [0, 1]."
                )
            pair = frozenset(rod.between)
            if pair in seen:
                raise ValueError(f"Rods {seen[pair]} and {index} join the same masses {first} and {second}.")
            seen[pair] = index
        return self

    @pydantic.model_validator(mode="after")
    def _there_are_masses(self) -> Self:
        if not self.masses and self.release is None:
            raise ValueError("`masses` is missing. Give masses one by one under [[masses]], or many by [release].")
        stiff = [rod.stiffness is not None for rod in self.rods]
        if self.release is not None and self.release.rods is not None:
            stiff.append(True)
        if any(stiff) and not all(stiff):
            index = stiff.index(False)
            raise ValueError(f"Rod {index} is rigid while others are elastic. Give all rods a `stiffness`, or none.")
        return self

    @pydantic.model_validator(mode="after")
    def _ground_does_not_pull(self) -> Self:
        """Unless it is said otherwise, masses can leave a terrain; those of a raft stay on it."""
        given = "adhesion" in self.solve.model_fields_set
        if self.surface.type == "terrain" and not given and not self.is_raft:
            object.__setattr__(self.solve, "adhesion", False)  # not as if the file had set it
        return self

    @pydantic.model_validator(mode="after")
    def _rafts_are_stepped(self) -> Self:
        if self.is_raft:
            if self.solve.method is not None:
                raise ValueError("Elastic rods are stepped implicitly: leave `solve.method` out; `solve.step` is free.")
            for name, only in (("formulation", "full"), ("friction_reaction", "abs"), ("adhesion", True)):
                if getattr(self.solve, name) != only:
                    raise ValueError(f"With elastic rods `solve.{name}` must be {str(only).lower()}.")
        return self

    @pydantic.model_validator(mode="after")
    def _every_mass_has_friction(self) -> Self:
        for index, mass in enumerate(self.masses):
            if mass.mu is None and self.friction is None:
                raise ValueError(
                    f"`masses.{index}.mu` is missing. Give mu for every mass, or once under [friction]; 0.0 means none."
                )
        return self

    @pydantic.model_validator(mode="after")
    def _released_masses_have_friction(self) -> Self:
        if self.release is not None and self.release.mu is None and self.friction is None:
            raise ValueError("`release.mu` is missing. Give mu there, or once under [friction]; 0.0 means none.")
        return self

    @property
    def is_raft(self) -> bool:
        """Whether the rods are elastic."""
        return bool(self.rods and self.rods[0].stiffness is not None) or bool(self.release and self.release.rods)

    @property
    def common_mu(self) -> float:
        """Friction coefficient of what is given none of its own [-]."""
        return self.friction.mu if self.friction else 0.0

    @property
    def mu(self) -> list[float]:
        """Friction coefficient of each mass that is given one by one [-]."""
        return [self.common_mu if mass.mu is None else mass.mu for mass in self.masses]

    def _laid(self, surface: AbstractSurface | KnownSurface) -> _Laid:
        """All masses and rods: those given one by one, then those of the release area."""
        place = [mass.position for mass in self.masses]
        velocity = [mass.velocity for mass in self.masses]
        weights, mu = [mass.mass for mass in self.masses], self.mu
        pairs: list[tuple[int, int]] = [(rod.between[0], rod.between[1]) for rod in self.rods]
        elastic = [rod.elastic() for rod in self.rods] if self.is_raft else []
        released = None if self.release is None else self.release.lay(surface)
        if self.release is not None and released is not None:
            pairs += [(i + len(place), j + len(place)) for i, j in released.pairs]
            elastic += [self.release.rods] * len(released.pairs) if self.release.rods else []
            count = len(released.position)
            place, velocity = place + released.position.tolist(), velocity + [self.release.velocity] * count
            weights = weights + [self.release.mass] * count
            mu = mu + [self.common_mu if self.release.mu is None else self.release.mu] * count
        return _Laid(place, velocity, weights, mu, pairs, elastic, released)

    def _look(self) -> KnownStart | None:
        import numpy as np

        from saltus.starts import point_masses as starts

        surface = self.surface.known()
        laid = self._laid(surface)
        place, velocity, weights, mu = (
            np.asarray(given, float) for given in (laid.place, laid.velocity, laid.weights, laid.mu)
        )
        rubs = bool((mu > 0.0).any())
        if not self.is_raft:
            starts.check_network(laid.pairs, len(place), symmetric=surface.flat or not rubs)
        sight = surface.at(*place.T)
        if laid.released is not None:
            laid.released.check_margin(np.asarray(sight.margin)[-len(laid.released.position) :])
        starts.check_domain(sight.margin, place)
        position, velocity = starts.in_space(sight, place, velocity)
        rods = starts.rods_at(position, velocity, laid.pairs)
        starts.check_lengths(rods.length, laid.pairs)
        if self.is_raft:
            return KnownStart()
        if self.solve.project:
            velocity = starts.corrected(velocity, rods, laid.pairs, sight.normal, weights)
            if velocity is None:
                return None
            rods = starts.rods_at(position, velocity, laid.pairs)
        speed = np.sqrt(np.sum(velocity**2, axis=1))
        if not np.isfinite([*speed, *rods.length]).all():
            return None
        starts.check_stretching(rods.stretching, speed, laid.pairs)
        if rubs and not surface.flat:
            starts.check_redundancy(sight.normal, rods.direction, laid.pairs)
        tangent = self.solve.formulation == "tangent"
        modes = starts.known_modes(sight, velocity, rods, laid.pairs, weights, mu, self.gravity, tangent)
        return None if modes is None else KnownStart(modes)

    def build(self) -> tuple[SlidingMasses | Raft, State]:
        from saltus import systems
        from saltus.programs.arrays import numbers

        surface = self.surface.build()
        laid = self._laid(surface)
        weights, mu, place, velocity = (numbers(given) for given in (laid.weights, laid.mu, laid.place, laid.velocity))
        system = self._system(surface, weights, laid.pairs, mu, laid.elastic)
        self.prepare(system, system.blank())
        if isinstance(system, systems.Raft):
            system.prepare_breaks()
        if laid.released is not None:  # now: programs of the run are made meanwhile
            laid.released.check_on_surface(surface)
        if isinstance(system, systems.Raft):
            return system, system.start(place, velocity)
        return system, system.start(place, velocity, project=self.solve.project)

    def _system(self, surface, masses, pairs, mu, elastic: list[ElasticModel]) -> SlidingMasses | Raft:
        """Masses on a surface, joined by rigid rods or by elastic ones."""
        from saltus import systems

        if self.is_raft:
            stiffness, damping = [rod.stiffness for rod in elastic], [rod.damping for rod in elastic]
            strength = [float("inf") if rod.strength is None else rod.strength for rod in elastic]
            return systems.Raft(
                surface,
                masses,
                pairs,
                mu=mu,
                stiffness=stiffness,
                damping=damping,
                strength=strength,
                gravity=self.gravity,
            )
        return systems.SlidingMasses(
            surface,
            masses,
            rods=pairs,
            mu=mu,
            gravity=self.gravity,
            formulation=self.solve.formulation,
            friction_reaction=self.solve.friction_reaction,
            adhesion=self.solve.adhesion,
            restitution=self.solve.restitution,
        )
