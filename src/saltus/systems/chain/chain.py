"""A chain of point masses and massless links that slides off a table."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from saltus import checks
from saltus.hybrid import AbstractSystem, Guard, Quantity, Rate, State
from saltus.laws.impact.engagement import ENGAGEMENTS, AbstractEngagement
from saltus.programs.arrays import numbers
from saltus.starts import chain as given
from saltus.systems.chain import guards as guard_list
from saltus.systems.chain import results, starts
from saltus.systems.chain.edge import Edge
from saltus.systems.chain.state import PULLS, Losses, Motion, Regime, units
from saltus.systems.chain.tension import Pull, edge_last, forces, velocity_changes

LINKS = ("rod", "string")
NOTHING = 1e-150  # mass of what is beyond the end of a chain: no sum feels it
ROUGH = 0.2  # length of the edge link, in links, below which constant steps go by collocation

FEW_LINKS = 40  # up to which the events of a chain are few


class Balance(NamedTuple):
    """A chain at an instant, with the forces along it.

    Args:
        place, velocity, regime: Its parts.
        edge: The edge link.
        along, across: Unit vectors of the links.
        directions: In which the forces act; zero where there is none.
        tension: Tensions of the hanging links and, at entry k, of the edge link [N].
        table_mass: Mass on the table; 1 if none is left [kg].
        capstan: Tension outside / inside the edge.
    """

    place: Motion
    velocity: Motion
    regime: Regime
    edge: Edge
    along: Array
    across: Array
    directions: Array
    tension: Array
    table_mass: Array
    capstan: Array


class Chain(AbstractSystem):
    """n links and n + 1 particles, laid straight over the edge of a table and sliding off.

    x points down, y outward from the table; the edge is the origin. Particles and links are
    counted from the free end. Between crossings the tensions follow from one tridiagonal system,
    in a time proportional to n. At a crossing the next link is jerked taut by the law
    `engagement`; after the last one the chain flies freely. The table is thin.

    Args:
        links: Number n of links, >= 1.
        mass: Mass of every particle, or n + 1 masses from the free end, > 0 [kg].
        length: Length of every link, or n lengths from the free end, > 0 [m].
        gravity: Downward acceleration, > 0 [m/s2].
        table_friction: Coulomb coefficient of the table while the chain slides, >= 0 [-].
        static_friction: The same while it sticks, >= `table_friction`; None: equal to it [-].
        edge_friction: Coefficient of the edge; the tension grows by exp(coefficient * turn) over it, >= 0 [-].
        engagement: Law of the jerk, or its name: "limit" (exact), "plastic", and two that create
            energy, "printed" (as in the article) and "frozen".
        material: "rod" (links may push) or "string" (a link that would push goes slack).
        ends_off_table: Whether the run ends as the last particle leaves the table.
        room: Links that arrays have room for, >= `links`; None: just as many. Chains of different lengths with
            the same room share one compiled program; results beyond the end of a chain are NaN.

    References:
        Chain sliding off a table, Am. J. Phys. 61(3), 1993; Vrbik, Simulating n-link chain sliding off a
        desktop (equations corrected).
    """

    kind: ClassVar[str] = "chain"
    mode_names: ClassVar[tuple[str, ...]] = ("sliding", "stuck", "flight")

    mass: Float[Array, " m"]
    length: Float[Array, " n"]
    gravity: Float[Array, ""]
    table_friction: Float[Array, ""]
    static_friction: Float[Array, ""]
    edge_friction: Float[Array, ""]
    engagement: AbstractEngagement
    used: Int[Array, ""] | None
    material: str = eqx.field(static=True)
    ends_off_table: bool = eqx.field(static=True)

    def __init__(
        self,
        links: int,
        *,
        mass: Any = 1.0,
        length: Any = 1.0,
        gravity: Any = 9.81,
        table_friction: Any = 0.0,
        static_friction: Any = None,
        edge_friction: Any = 0.0,
        engagement: str | AbstractEngagement = "limit",
        material: str = "rod",
        ends_off_table: bool = False,
        room: int | None = None,
    ):
        if int(links) != links or links < 1:
            raise ValueError(f"`links` must be a whole number >= 1, got {links}. It has one particle more than links.")
        links = int(links)
        if isinstance(engagement, str):
            checks.one_of("engagement", engagement, ENGAGEMENTS)
            engagement = ENGAGEMENTS[engagement]()
        checks.one_of("material", material, LINKS)
        if room is not None and (int(room) != room or room < links):
            raise ValueError(f"`room` must be a whole number of links >= {links}, got {room}.")
        spare = 0 if room is None else int(room) - links
        lengths = _per_piece("length", length, links, "one per link")
        masses = _per_piece("mass", mass, links + 1, "one per particle")
        self.mass = _extend(masses, NOTHING, spare)
        self.length = _extend(lengths, lengths.mean(), spare)
        self.used = None if room is None else jnp.asarray(links, int)
        checks.positive("gravity", gravity)
        checks.nonnegative("table_friction", table_friction)
        checks.nonnegative("edge_friction", edge_friction)
        static_friction = table_friction if static_friction is None else static_friction
        checks.note(lambda: jnp.asarray(static_friction) >= table_friction)
        given.check_static_friction(static_friction, table_friction)
        self.gravity = numbers(gravity)
        self.table_friction = numbers(table_friction)
        self.static_friction = numbers(static_friction)
        self.edge_friction = numbers(edge_friction)
        self.engagement = engagement
        self.material = material
        self.ends_off_table = bool(ends_off_table)
        if engagement.creates_energy:
            given.warn_of_energy(engagement.name)

    @property
    def strings(self) -> bool:
        """Whether links that would push go slack."""
        return self.material == "string"

    @property
    def n_links(self) -> int:
        """Number of links that arrays have room for: that of the chain, unless `room` was given."""
        return self.length.size

    @property
    def links(self) -> int | Int[Array, ""]:
        """Number of links of the chain."""
        return self.n_links if self.used is None else self.used

    @property
    def weight(self) -> Float[Array, ""]:
        """Mean weight of a particle [N]."""
        return self.gravity * jnp.sum(self.mass) / (self.links + 1)

    # Starts

    def start(self, overhang: Any = None, *, angle: Any = None, edge: Any = None, hanging: int = 0) -> State:
        """The chain at rest, straight on the table, with a piece over the edge.

        Either by the length that is over the edge, with `angle` from the downward vertical at which
        the last piece of it leaves the edge; links beyond that piece hang straight down. Without
        `angle` a piece of the first link lies flat in the air (pi/2), as in the article, and longer
        pieces hang straight down (0). Or by the place `edge` of the edge particle, with `hanging`
        links that hang straight down from it.

        Args:
            overhang: Length over the edge, > 0 and less than the chain [m].
            angle: Angle from the downward vertical at the edge [rad].
            edge: Place (down, outward) of the edge particle [m].
            hanging: With `edge`: number of links that hang.
        """
        return starts.at_rest(self, overhang, angle, edge, hanging)

    def state(self, position: Any, velocity: Any, t: float = 0.0) -> State:
        """The state with these particles off the table, from the free end to the edge particle.

        Args:
            position: Places (down, outward), k + 1 rows for k hanging links [m].
            velocity: Their velocities [m/s].
            t: Time [s].
        """
        return starts.from_particles(self, position, velocity, t)

    def state_of(self, angle: Any, edge: Any, angle_rate: Any, edge_velocity: Any, t: float = 0.0) -> State:
        """The state with these angles of the hanging links and this edge particle.

        Args:
            angle: Angles of the k hanging links from the downward vertical, from the free end [rad].
            edge: Place (down, outward) of the edge particle [m].
            angle_rate: Rates of the angles [rad/s].
            edge_velocity: Velocity of the edge particle [m/s].
            t: Time [s].
        """
        return starts.from_angles(self, angle, edge, angle_rate, edge_velocity, t)

    def hold(self, state: State) -> State:
        """The state with the table part held, if static friction is enough; for states not built by `start`."""
        return starts.stick_where_held(self, state)

    held = hold  # its name before, for code of users

    # Flow

    def table_mass(self, hanging: Array) -> Float[Array, ""]:
        """Mass still on the table [kg]."""
        return jnp.where(jnp.arange(self.mass.size) > hanging, self.mass, 0.0).sum()

    def capstan(self, angle: Array) -> Float[Array, ""]:
        """Ratio of the tensions outside and inside the edge while the chain slides."""
        return jnp.exp(self.edge_friction * (jnp.pi / 2 - angle))

    def lengths(self, place: Motion) -> Float[Array, " n"]:
        """Distances of neighbours along the chain [m]."""
        return self.length if place.length is None else place.length

    def taut(self, regime: Regime) -> Array:
        """Which hanging links carry a force."""
        hangs = jnp.arange(self.n_links) < regime.hanging
        return hangs & (regime.loose == PULLS) if self.strings else hangs

    def balance(self, state: State, stuck: Array | None = None) -> Balance:
        """The forces along the chain.

        Args:
            state: The chain.
            stuck: Whether the table part is held; the regime's own word if None.
        """
        return _balance(self, state, stuck)

    @property
    def eventful(self) -> bool:
        """A long chain has several events for each link."""
        return self.n_links > FEW_LINKS

    def rate(self, state: State) -> Rate:
        """Time derivatives of angles, lengths and edge particle, and the power of friction."""
        return self.rate_under(self.balance(state))

    def rate_under(self, now: Balance) -> Rate:
        """Time derivatives of angles, lengths and edge particle, where the forces are known."""
        place, velocity, regime = now.place, now.velocity, now.regime
        down = jnp.array([1.0, 0.0]) * self.gravity
        acceleration = down + velocity_changes(now.directions, now.tension, self.mass, regime.hanging)
        relative = acceleration[:-1] - acceleration[1:]
        hangs = jnp.arange(self.n_links) < regime.hanging
        turning = jnp.sum(now.across * relative, axis=1)
        length_rate, length_acceleration = None, None
        if place.length is not None:
            slack = hangs & ~self.taut(regime)
            stretching = jnp.sum(now.along * relative, axis=1) + place.length * velocity.angle**2
            length_rate = jnp.where(slack, velocity.length, 0.0)
            length_acceleration = jnp.where(slack, stretching, 0.0)
            turning = turning - jnp.where(slack, 2 * velocity.length * velocity.angle, 0.0)
        lengths = self.lengths(place)
        turning = turning / jnp.where(lengths == 0.0, 1.0, lengths)
        edge_velocity, edge_acceleration = self._edge_rates(now, acceleration[regime.hanging])
        zero = jnp.zeros(())
        return Rate(
            q=Motion(jnp.where(hangs, velocity.angle, 0.0), length_rate, edge_velocity, zero, zero),
            v=Motion(jnp.where(hangs, turning, 0.0), length_acceleration, edge_acceleration, zero, zero),
            ledger=self._friction_power(now),
        )

    def _edge_rates(self, now: Balance, free: Array) -> tuple[Array, Array]:
        """Velocity and acceleration of the edge particle; on a circle while the table part sticks."""
        across = now.edge.perpendicular
        circling = across * (across @ free) - now.edge.direction * now.edge.centrifugal
        return (
            jnp.where(now.regime.stuck, across * now.edge.across, now.velocity.edge),
            jnp.where(now.regime.stuck, circling, free),
        )

    def _friction_power(self, now: Balance) -> Losses:
        moving = (now.regime.hanging < self.links) & ~now.regime.stuck
        table = self.table_friction * self.gravity * now.table_mass
        over_edge = now.tension[now.regime.hanging] * (1.0 - 1.0 / now.capstan)
        speed = jnp.where(moving, now.edge.speed, 0.0)
        return Losses(speed * table, speed * over_edge, jnp.zeros(()))

    def rough(self, state: State) -> Array:
        """At the start of a phase, where the direction of the short edge link turns like 1/r for a small error."""
        place, _, regime = state.q, state.v, state.mode
        near = jnp.sum(place.edge**2) < (ROUGH * jnp.mean(self.length)) ** 2
        return near & (regime.hanging > 0) & (regime.hanging < self.links)

    def project(self, state: State) -> State:
        """While the table part sticks, the edge particle back on its circle."""
        place, velocity, regime = state.q, state.v, state.mode
        edge = Edge.of(place, velocity)
        on_circle = jnp.where(regime.stuck, edge.direction * place.held, place.edge)
        moving = jnp.where(regime.stuck, edge.perpendicular * edge.across, velocity.edge)
        return state.replace(q=place.replace(edge=on_circle), v=velocity.replace(edge=moving))

    # Events and results

    def guards(self) -> tuple[Guard, ...]:
        """Crossings; friction that holds or lets go; and the ends of validity."""
        return guard_list.guards(self)

    def quantities(self) -> dict[str, Quantity]:
        """Names and units of the results."""
        return results.quantities(self)

    def observe(self, state: State) -> dict[str, Array]:
        """Places, velocities, tensions, edge force, energies."""
        return results.observe(self, state)

    def attributes(self) -> dict[str, str | int | float]:
        """The law of the jerk, and what the links are."""
        return {"engagement": self.engagement.name, "links": self.material}

    def event_quantities(self) -> dict[str, Quantity]:
        """Units of what is told of a crossing."""
        return results.EVENT_QUANTITIES

    def kinetic_energy(self, state: State) -> Float[Array, ""]:
        """Kinetic energy of all particles [J]."""
        _, speed = results.particles(self, state)
        return 0.5 * jnp.sum(self.mass[:, None] * speed**2)

    def coordinates(self) -> dict[str, list[Any]]:
        """Labels: axes x (down) and y (outward); particles and links from the free end, from 1."""
        return {
            "axis": ["x", "y"],
            "particle": list(range(1, self.mass.size + 1)),
            "link": list(range(1, self.n_links + 1)),
        }


def _per_piece(name: str, value: Any, count: int, what: str) -> Any:
    """One number per piece: by NumPy where they are known, so that nothing is compiled for each length."""
    given.check_pieces(name, value, count, what)
    known = checks.concrete(value)
    return (
        np.broadcast_to(known, (count,)) if known is not None else jnp.broadcast_to(jnp.asarray(value, float), (count,))
    )


def _extend(values: Any, value: Any, count: int) -> Float[Array, " m"]:
    """The array with `count` entries of this value appended."""
    if isinstance(values, np.ndarray):
        return jnp.asarray(np.append(values, np.full(count, value)), float)
    return jnp.concatenate([values, jnp.full(count, value)])


@eqx.filter_jit  # traced once for all programs of a chain
def _balance(chain: Chain, state: State, stuck: Array | None) -> Balance:
    """See `Chain.balance`."""
    place, velocity, regime = state.q, state.v, state.mode
    edge = Edge.of(place, velocity)
    held: Array = regime.stuck if stuck is None else stuck
    along, across = units(place.angle)
    carrying = jnp.where(chain.taut(regime)[:, None], along, 0.0)
    on_table = regime.hanging < chain.links
    directions = edge_last(carrying, jnp.where(on_table, edge.direction, 0.0), regime.hanging)
    table = jnp.where(on_table, chain.table_mass(regime.hanging), 1.0)
    capstan = chain.capstan(edge.angle)
    compliance = jnp.where(held, 0.0, 1.0 / (capstan * table))
    drag = jnp.where(held, 0.0, chain.table_friction * chain.gravity)
    pull = Pull(compliance, chain.gravity * edge.direction[0] + edge.centrifugal + drag)
    demand = chain.lengths(place) * velocity.angle**2
    tension = forces(directions, demand, pull, chain.mass, regime.hanging)
    return Balance(place, velocity, regime, edge, along, across, directions, tension, table, capstan)
