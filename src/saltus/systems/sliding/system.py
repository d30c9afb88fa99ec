"""Point masses joined by rigid rods, sliding on a surface z = f(x, y)."""

from __future__ import annotations

import functools
import math
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from saltus import checks
from saltus.hybrid import AbstractSystem, Guard, Quantity, Rate, State
from saltus.hybrid.guard import always, once
from saltus.hybrid.state import on_host
from saltus.laws.friction import AbstractFrictionLaw
from saltus.links import Rods
from saltus.links.network import components
from saltus.numerics.components import Vec
from saltus.programs import brief_program, program
from saltus.programs.arrays import numbers
from saltus.starts.point_masses import check_network, check_pairs
from saltus.surfaces.base import AbstractSurface
from saltus.surfaces.terrain import Terrain
from saltus.systems.point_masses import check_masses, point_law
from saltus.systems.sliding import begin, jumps
from saltus.systems.sliding.contact import (
    FREE,
    GONE,
    MODE_NAMES,
    PULLED,
    SLIP,
    STICK,
    Forces,
    Places,
    RodLedger,
    constrained_change,
    forces,
    places,
    rod_geometry,
)  # fmt: skip
from saltus.systems.sliding.stick import held_margin

FORMULATIONS = ("full", "tangent")
REACTIONS = ("abs", "signed")
ILL_POSED = 1e-6  # D of a rod, times the least mass, that counts as zero: accelerations grow as 1 / D
RIM = 1e-6  # margin of the surface that counts as its border: at the rim of a bowl the slope is infinite


class SlidingMasses(AbstractSystem):
    """Point masses joined by rigid rods, sliding on a surface under gravity and dry friction.

    Each mass slips, sticks, or flies free. The forces in the rods follow from the constraint that
    no rod changes its length; they are right at every instant, also at the start. A mass without rods
    that reaches the border of the surface is gone (event `left_domain`), and the others go on; a mass
    with rods, or the last one that is left, ends the run there.

    Args:
        surface: What the masses slide on.
        masses: Mass of each, > 0 [kg].
        rods: Pairs of masses that a rigid rod joins; its length is the distance at the start.
        mu: Friction coefficient, >= 0, one for all or one per mass [-]; short for `law=Coulomb(mu)`.
        law: Friction of a point, proportional to the load, such as `laws.friction.Coulomb(0.2)`; instead of `mu`.
        gravity: Acceleration of gravity, > 0 [m s-2].
        formulation: "full", or "tangent": normal parts of the rod forces neglected, as in Part 1
            of the paper; the rods then change their length.
        friction_reaction: Friction on the size of the reaction, "abs", or on its signed value,
            "signed", as the paper writes it (friction then drives a mass that the surface pulls).
        adhesion: True: masses never leave the surface, which may pull at them (the paper).
            False: a mass lifts off when the surface would have to pull. None: False on a terrain, where ground
            cannot pull, and True on other surfaces.
        restitution: Share of the normal speed with which a landing mass bounces, 0 to 1 [-].

    References:
        Tinti & Gallotti 2019, Theor. Appl. Mech. Lett. 9, 96-105 (equations corrected).
    """

    kind: ClassVar[str] = "sliding"
    mode_names: ClassVar[tuple[str, ...]] = MODE_NAMES

    surface: AbstractSurface
    mass: Float[Array, " n"]
    law: AbstractFrictionLaw
    gravity: Float[Array, ""]
    restitution: Float[Array, ""]
    rods: Rods
    formulation: str = eqx.field(static=True)
    friction_reaction: str = eqx.field(static=True)
    adhesion: bool = eqx.field(static=True)
    has_friction: bool = eqx.field(static=True)
    parts: tuple[int, ...] = eqx.field(static=True)

    def __init__(
        self,
        surface: AbstractSurface,
        masses,
        rods=(),
        *,
        mu=None,
        law: AbstractFrictionLaw | None = None,
        gravity: float = 9.81,
        formulation: str = "full",
        friction_reaction: str = "abs",
        adhesion: bool | None = None,
        restitution: float = 0.0,
    ):
        n = check_masses(surface, masses, gravity)
        checks.between("restitution", restitution, 0.0, 1.0)
        checks.one_of("formulation", formulation, FORMULATIONS)
        checks.one_of("friction_reaction", friction_reaction, REACTIONS)
        pairs = check_pairs(rods, n)
        self.surface = surface
        self.mass = numbers(masses)
        self.law = point_law(law, mu, n)
        self.gravity = numbers(gravity)
        self.restitution = numbers(restitution)
        self.formulation = formulation
        self.friction_reaction = friction_reaction
        self.adhesion = not isinstance(surface, Terrain) if adhesion is None else bool(adhesion)
        known_mu = None if mu is None else checks.concrete(mu)
        self.has_friction = known_mu is None or bool(np.any(known_mu > 0.0))
        symmetric = not self.has_friction or surface.flat
        redundant = check_network(pairs, n, symmetric)
        self.rods = Rods(pairs, n, redundant)
        self.parts = tuple(int(k) for k in components(pairs, n))

    # ---- states -------------------------------------------------------------------------------

    def state(self, position, velocity) -> State:
        """A state with these horizontal positions and velocities, all masses slipping, pressed or
        pulled as the reaction has it; nothing is checked.
        """
        state = self.slip_state(position, velocity)
        if not self.has_friction:
            return state
        return jumps.with_reaction_sign(self, state, state.mode == SLIP, jumps.SIGN_SWEEPS)

    def slip_state(self, position, velocity) -> State:
        """A state with these horizontal positions and velocities, all masses slipping and pressed on the surface."""
        q, v = jnp.asarray(position, float).reshape(-1, 2), jnp.asarray(velocity, float).reshape(-1, 2)
        if not self.adhesion:
            fx, fy = self.surface.gradient(q[:, 0], q[:, 1])
            z, vz = self.surface.height(q[:, 0], q[:, 1]), fx * v[:, 0] + fy * v[:, 1]
            q, v = jnp.concatenate([q, z[:, None]], axis=1), jnp.concatenate([v, vz[:, None]], axis=1)
        mode = jnp.full(self.mass.shape, SLIP)
        state = State.of(0.0, q, v, RodLedger(jnp.zeros(()), jnp.zeros(len(self.rods))), mode)
        lengths = rod_geometry(self.rods, self.places(state).position).length
        return state.replace(ledger=state.ledger.replace(lengths=lengths))

    def blank(self) -> State:
        """A state of the form that all have: every mass at the origin."""
        return begin.blank(self)

    def start(self, position, velocity=None, *, project: bool = False) -> State:
        """The state at the beginning, checked, with each mass in its right mode.

        Args:
            position: Horizontal position (x, y) of each mass [m].
            velocity: Horizontal velocity of each; at rest if not given [m s-1].
            project: Whether velocities that would stretch a rod are changed (as little as
                possible, weighted with the masses) instead of refused.
        """
        return begin.start(self, position, velocity, project)

    # ---- mechanics ----------------------------------------------------------------------------

    def places(self, state: State) -> Places:
        """Positions and velocities in space, and the surface under each mass."""
        return places(self.surface, state.q, state.v, None if self.adhesion else state.mode >= FREE)

    def columns(self, vectors: Vec) -> Float[Array, "n d"]:
        """Vectors as they are kept in a state: x and y, and z where masses can fly."""
        return jnp.stack([*vectors][: 2 if self.adhesion else 3], axis=-1)

    @property
    def mu(self) -> Float[Array, " n"]:
        """Friction coefficients of Coulomb's law [-]."""
        return self.law.coefficient()

    def grip_at_rest(self) -> Float[Array, " n"]:
        """Largest friction force at rest per reaction [-]."""
        return self.law.capacity(jnp.ones_like(self.mass))

    def signed_grip(self, mode, speed) -> Float[Array, " n"]:
        """Friction force per reaction at these speeds, with the sign by which the reaction enters friction."""
        grip = self.law.grip(speed)
        if self.friction_reaction == "signed":
            return grip
        return jnp.where(mode == PULLED, -grip, grip)

    def rubs(self) -> Bool[Array, " n"]:
        """Which masses feel friction."""
        return self.grip_at_rest() > 0.0

    def forces(self, state: State, where: Places | None = None) -> Forces:
        """Rod forces, reactions of the surface and accelerations; `where` are its places, if known."""
        where = self.places(state) if where is None else where
        return forces(
            where, self.rods, state.mode, self.mass, self.signed_grip(state.mode, where.speed), self.gravity,
            tangent=self.formulation == "tangent",
        )  # fmt: skip

    def locked(self, mode) -> Bool[Array, " r"]:
        """Which rods join two held masses: their forces are not determined."""
        held = mode == STICK
        return held[self.rods.first] & held[self.rods.second]

    def denominator(self, state: State) -> Float[Array, ""]:
        """Smallest D of the rods [1/kg]; at D <= 0 the accelerations are not unique or do not exist."""
        return jnp.min(self.forces(state).denominator)

    def rate(self, state: State) -> Rate:
        """Velocities, accelerations, and the power of friction; rods keep their nominal lengths."""
        where = self.places(state)
        now = self.forces(state, where)
        moving = (state.mode != STICK) & (state.mode != GONE)
        power = jnp.where(
            state.mode < STICK, self.signed_grip(state.mode, where.speed) * now.normal_force * where.speed, 0.0
        )
        return Rate(
            q=self.columns(where.velocity.map(lambda part: jnp.where(moving, part, 0.0))),
            v=self.columns(now.motion),
            ledger=RodLedger(jnp.sum(power), jnp.zeros(len(self.rods))),
        )

    def atol_limit(self) -> float:
        """A tenth of the speed at which a stop is told, if there is friction [m/s]."""
        return 0.1 * jumps.STOP_SPEED if self.has_friction else math.inf

    @property
    def balanced(self) -> bool:
        """Whether energy and rod lengths are kept; the "tangent" formulation neglects parts of the rod forces."""
        return self.formulation == "full"

    def project(self, state: State) -> State:
        """Rods at their lengths and not stretching, masses on the surface."""
        where = self.places(state)
        q, v = where.position, where.velocity
        if len(self.rods) and self.formulation == "full":
            rod = rod_geometry(self.rods, q)
            excess = rod.length - state.ledger.lengths
            speed = rod.direction.dot(self.rods.between(v))
            dq, dv = constrained_change(where, self.rods, state.mode, self.mass, jnp.stack([excess, speed], axis=1))
            q, v = q + dq, v + dv
        moved = state.replace(q=self.columns(q), v=self.columns(v))
        if self.adhesion:
            return moved
        where = self.places(moved)
        return state.replace(q=where.position.array(), v=where.velocity.array())

    # ---- events -------------------------------------------------------------------------------

    def guards(self) -> tuple[Guard, ...]:
        """Stop and release, sign of the reaction or lift-off and landing, borders of validity."""
        see = once(self._contact)

        def relative_reaction(state):
            return see(state)[1].normal_force / (self.mass * self.gravity)

        def after(jump):
            return functools.partial(jump, self)

        guards = []
        if self.has_friction:
            guards += [
                Guard("stop", lambda s: see(s)[0].speed - jumps.STOP_SPEED,
                      lambda s: (s.mode < STICK) & self.rubs(), singular=True, jump=after(jumps.stop),
                      approach=after(jumps.before_stop), data=self._stop_data),
                Guard("release", lambda s: self._held_margin(s, *see(s)), self._may_be_released,
                      jump=after(jumps.release)),
            ]  # fmt: skip
        if self.adhesion:
            guards += [
                Guard("pull", relative_reaction, lambda s: s.mode == SLIP, jump=after(jumps.reverse_reaction)),
                Guard("press", lambda s: -relative_reaction(s), lambda s: s.mode == PULLED,
                      jump=after(jumps.reverse_reaction)),
            ]  # fmt: skip
        else:
            guards += [
                Guard("lift_off", relative_reaction, lambda s: (s.mode == SLIP) | (s.mode == STICK),
                      jump=after(jumps.lift_off)),
                Guard("landing", self._gap, lambda s: s.mode == FREE, jump=after(jumps.hit_surface),
                      settle=after(jumps.come_to_lie)),
            ]  # fmt: skip
        return (*guards, *self._borders(see, relative_reaction))

    def _contact(self, state: State) -> tuple[Places, Forces]:
        where = self.places(state)
        return where, self.forces(state, where)

    def _borders(self, see, relative_reaction) -> list[Guard]:
        """Where the equations or the surface end."""

        def border(name, function, armed, ends, message, **more):
            return Guard(name, function, armed, ends, "Stopped at t = {t:.9g} s: " + message, border=True, **more)

        def agreement(state):
            """Relative reaction, counted in the direction that the mode says."""
            return jnp.where(state.mode == PULLED, -1.0, 1.0) * relative_reaction(state) + ILL_POSED

        def margin(state):
            return self.surface.margin(state.q[:, 0], state.q[:, 1]) - RIM

        # Both have the same name and the same jump, so that a replay finds either by its name.
        leave = functools.partial(jumps.leave, self)
        borders = [
            border("left_domain", margin, self.ends_outside, "left_domain",
                   "mass {index} left the region where the surface is defined.", jump=leave)
        ]  # fmt: skip
        if self.others_go_on:
            goes = Guard("left_domain", margin, lambda s: ~self.ends_outside(s) & (s.mode != GONE), jump=leave)
            borders.append(goes)
        if not (self.has_friction and len(self.rods)):
            return borders
        borders.append(
            border("ill_posed", lambda s: see(s)[1].denominator * jnp.min(self.mass) - ILL_POSED,
                   lambda s: ~self.locked(s.mode), "ill_posed",
                   "the denominator D of rod {index} is not above zero, so the accelerations are not unique "
                   "(Painlevé). Lower mu, or start elsewhere.", data=lambda index, before, after: {"rod": index})
        )  # fmt: skip
        if self.adhesion and self.friction_reaction == "abs":
            borders.append(
                border("no_reaction", agreement, lambda s: (s.mode <= PULLED) & self.rubs(), "ill_posed",
                       "no reaction on mass {index}, pressing or pulling, agrees with the friction that it causes "
                       "(Painlevé). Lower mu, or start elsewhere.")
            )  # fmt: skip
        return borders

    @property
    def others_go_on(self) -> bool:
        """Whether the others go on when a mass leaves."""
        return self.mass.size > 1 and len(set(self.parts)) > 1

    def ends_outside(self, state: State) -> Bool[Array, " n"] | Bool[Array, ""]:
        """Which masses end the run where they reach the border: those with rods, and the last one that is left."""
        if not self.others_go_on:
            return always(state)
        joined = np.bincount(self.parts, minlength=len(self.parts))[list(self.parts)] > 1
        there = state.mode != GONE
        return there & (joined | (jnp.sum(there) == 1))

    def _gap(self, state: State) -> Float[Array, " n"]:
        """Height of each mass over the surface, a hair more: just after lift-off it grows as time cubed."""
        return state.q[:, 2] - self.surface.height(state.q[:, 0], state.q[:, 1]) + jumps.hair(state)

    def _held_margin(self, state: State, where: Places, now: Forces) -> Float[Array, " n"]:
        return held_margin(where, self.rods, state.mode, self.mass, self.grip_at_rest(), self.gravity, now)

    def _may_be_released(self, state: State):
        """Held masses that something still moving hangs on."""
        parts = jnp.asarray(self.parts)
        moving = jnp.zeros(len(self.parts), bool).at[parts].max((state.mode != STICK) & (state.mode != GONE))
        return (state.mode == STICK) & moving[parts]

    # ---- results ------------------------------------------------------------------------------

    def quantities(self) -> dict[str, Quantity]:
        """Names, units and meaning of the results."""
        return {
            "position": Quantity(("mass", "axis"), "m", "position"),
            "velocity": Quantity(("mass", "axis"), "m s-1", "velocity"),
            "normal_force": Quantity(("mass",), "N", "reaction of the surface along its upward normal"),
            "rod_force": Quantity(("rod",), "N", "rod force, > 0 pushes the masses apart; NaN where undefined"),
            "rod_force_defined": Quantity(("rod",), "1", "1 where the rod force is determined, 0 between held masses"),
            "rod_length": Quantity(("rod",), "m", "distance of the rod's ends"),
            "kinetic_energy": Quantity((), "J", "kinetic energy"),
            "potential_energy": Quantity((), "J", "potential energy, 0 at z = 0"),
            "com_energy": Quantity((), "J", "kinetic energy of the centre of mass plus potential energy"),
            "dissipated_energy": Quantity((), "J", "work done against friction and lost in impacts"),
            "mode": Quantity(("mass",), "1", "mode of each mass"),
        }

    def observe(self, state: State) -> dict[str, Array]:
        """All results at one instant."""
        where, now = self._contact(state)
        locked = self.locked(state.mode)
        kinetic, potential = self._energies(where)
        momentum = where.velocity.map(lambda part: jnp.sum(self.mass * part))
        at_locked = jnp.zeros(state.mode.shape, bool).at[self.rods.first].max(locked).at[self.rods.second].max(locked)
        reaction_unknown = at_locked & (not self.surface.flat)
        return {
            "position": where.position.array(),
            "velocity": where.velocity.array(),
            "normal_force": jnp.where(reaction_unknown, jnp.nan, now.normal_force),
            "rod_force": jnp.where(locked, jnp.nan, now.rod_force),
            "rod_force_defined": (~locked).astype(int),
            "rod_length": rod_geometry(self.rods, where.position).length,
            "kinetic_energy": kinetic,
            "potential_energy": potential,
            "com_energy": 0.5 * momentum.square() / jnp.sum(self.mass) + potential,
            "dissipated_energy": state.ledger.lost,
            "mode": state.mode,
        }

    def energies(self, state: State) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Kinetic and potential energy [J]."""
        return self._energies(self.places(state))

    def _energies(self, where: Places) -> tuple[Float[Array, ""], Float[Array, ""]]:
        kinetic = 0.5 * jnp.sum(self.mass * where.velocity.square())
        return kinetic, jnp.sum(self.mass * self.gravity * where.position.z)

    def coordinates(self) -> dict[str, list[Any]]:
        """Labels of the dimensions."""
        return {"axis": ["x", "y", "z"], "rod": [f"{i}-{j}" for i, j in self.rods.pairs]}

    def event_data(self, guard: str, index: int, before: State, after: State) -> dict[str, Any]:
        """Which mass, the mode it goes on in, energy lost."""
        before, after = on_host(before, after)
        lost = float(after.ledger.lost - before.ledger.lost)
        return {"mass": index, "into": MODE_NAMES[int(after.mode[index])], "energy_loss": lost}

    def _stop_data(self, index: int, before: State, after: State) -> dict[str, Any]:
        """What belongs to a stop: which mass, its mode, the energy lost, when it was, and who stopped with it."""
        before, after = on_host(before, after)
        t, stops = after.t, np.asarray(_rest(self, before, after))
        torn_loose = (before.mode == STICK) & (after.mode != STICK)
        if not stops[index] or torn_loose.any():  # some have moved on for a moment since
            t, stops = _halt(self, before, np.asarray(index))
        others = [str(i) for i in np.flatnonzero(np.asarray(stops)) if i != index]
        told = self.event_data("stop", index, before, after)
        return told | {"t": float(t), "together_with": ",".join(others)}


@program
def _rest(system: SlidingMasses, before: State, after: State) -> Bool[Array, " n"]:
    """Which masses a stop brought to rest."""
    return jumps.which_stop(system, before, system.places(after).speed < jumps.STOP_SPEED)


@brief_program
def _halt(system: SlidingMasses, before: State, index) -> tuple[Float[Array, ""], Bool[Array, " n"]]:
    """When masses came to a stop of which some go on [s], and which; by then they have moved on."""
    halted, stops = jumps.halt(system, before, index)
    return halted.t, stops
