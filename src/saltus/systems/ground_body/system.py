"""A rigid convex body on a surface z = f(x, y)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from saltus import checks
from saltus.contacts.ground import GroundTouch
from saltus.hybrid import AbstractSystem, Guard, Quantity, Rate, State
from saltus.hybrid.guard import StagedJump, once
from saltus.laws.friction import AbstractFrictionLaw, AbstractSpotLaw
from saltus.laws.friction.limit import LEAST
from saltus.laws.impact import AbstractImpactLaw
from saltus.numerics import rotation
from saltus.programs.arrays import numbers as number
from saltus.shapes.disc import Disc
from saltus.shapes.solid import Solid
from saltus.surfaces.base import AbstractSurface
from saltus.surfaces.cover import Cover
from saltus.systems.ball_common import atol_limit, is_point, no_smaller, size
from saltus.systems.ground_body import begin, jumps, results
from saltus.systems.ground_body.mechanics import (
    FLIGHT,
    MODES,
    REST,
    ROLL,
    SKID,
    SLIDE,
    MotionTerms,
    Sight,
    Wrench,
    active_piece,
    fall,
    grip_use,
    held_rows,
    hold,
    power,
    see,
    turn_use,
)
from saltus.systems.ground_body.state import GroundLedger, GroundMotion, GroundPlace

ILL_POSED = 1e-6  # stiffness of the contact, against that without friction, that counts as none
SINGLE = 1e-6  # how much more than the ground a body must curve
FLAT = 1e4  # radius of curvature over the radius of a disc from which on it counts as lying on its face
NOISE = 10.0  # slip and turning that count as none, over the error of a step
RIM = 1e-6  # margin of the surface that counts as its border
NO_END = 1e12  # [s]; of the patience with a body that need not come to rest


class BodyOnGround(AbstractSystem):
    """A rigid body that flies over the ground, bounces, slides on it, rolls, spins and comes to rest.

    The body touches the ground in one point (or small spot) at a time, always exactly: the contact is a constraint,
    not a spring. The modes are "flight", "slide" (the contact slips), "skid" (it slips, and the resistance to rolling
    keeps the body from turning), "roll" (no slip; with a finite spot no spin either) and "rest".

    State: q is a `GroundPlace`, v a `GroundMotion`, ledger a `GroundLedger`.

    Args:
        surface: The ground.
        solid: The body.
        law: Friction law of the contact. A spot law without a rolling shift resists slip and spin only.
        impact: Law of impact.
        gravity: [m s-2].
        rolling_friction: Lever of the normal force against turning, >= 0 [m]. At a point contact it resists every
            turning, with a spot only rolling: the spot has its own moment against spin.
        modulus: If given, the radius of the spot follows from Hertz: reduced modulus E* of body and ground [Pa].
        settle_height: Bounces lower than this end in contact [m].
        patience: Time at which a run ends that was to go on until rest [s].
        precision: Share of the body's speeds below which slip and turning count as none. A run with a larger `rtol`
            takes ten times that instead: below, slip is noise.
        cover: Types of ground, whose friction coefficient (of sliding and of impacts), rolling friction and
            restitution stand in for those of the laws.
    """

    kind: ClassVar[str] = "ground_body"
    mode_names: ClassVar[tuple[str, ...]] = MODES

    surface: AbstractSurface
    solid: Solid
    law: AbstractFrictionLaw
    impact: AbstractImpactLaw
    gravity: Float[Array, ""]
    rolling_friction: Float[Array, ""]
    modulus: Float[Array, ""] | None
    settle_height: Float[Array, ""]
    patience: Float[Array, ""]
    precision: Float[Array, ""]
    cover: Cover | None
    point: bool = eqx.field(static=True)
    resisted: bool = eqx.field(static=True)

    def __init__(
        self,
        surface: AbstractSurface,
        solid: Solid,
        law: AbstractFrictionLaw,
        impact: AbstractImpactLaw,
        *,
        gravity=9.81,
        rolling_friction=0.0,
        modulus=None,
        settle_height=1e-10,
        patience=NO_END,
        precision=1e-9,
        cover: Cover | None = None,
    ):
        checks.positive("gravity", gravity)
        checks.nonnegative("rolling_friction", rolling_friction, "It is a length in metres.")
        checks.positive("settle_height", settle_height, "It is a length in metres.")
        checks.positive("patience", patience, "It is a time in seconds.")
        checks.positive("precision", precision)
        if modulus is not None:
            checks.positive("modulus", modulus, "It is the reduced modulus of elasticity in pascal.")
            if not isinstance(law, AbstractSpotLaw):
                raise ValueError("`modulus` gives the radius of a contact spot, but the law is that of a point.")
        self.surface, self.solid, self.law, self.impact = surface, solid, law, impact
        self.gravity, self.rolling_friction = number(gravity), number(rolling_friction)
        self.modulus = None if modulus is None else number(modulus)
        self.settle_height, self.patience = number(settle_height), number(patience)
        self.precision, self.cover = number(precision), cover
        self.point = modulus is None and is_point(law, solid.radius())
        shift = checks.concrete(law.rolling_shift) if isinstance(law, AbstractSpotLaw) and not self.point else 0.0
        known = checks.concrete(rolling_friction if cover is None else jnp.max(cover.rolling_friction))
        self.resisted = known is None or bool(known > 0.0) or shift is None or bool(shift > 0.0)

    # ---- laws -----------------------------------------------------------------------------------------

    def atol_limit(self) -> float:
        """A tenth of the speed at which slip and turning count as none [m s-1]."""
        return atol_limit(self.precision, self.gravity, self.solid.radius())

    def with_tolerance(self, rtol: float) -> BodyOnGround:
        """With the precision that velocities of this relative error allow."""
        return eqx.tree_at(lambda system: system.precision, self, no_smaller(self.precision, NOISE * rtol))

    def begin_run(self, start: State) -> State:
        """A body that slides slower than can be told grips the ground, or else its turning has stopped."""
        return begin.stop_what_is_slow(self, start)

    @property
    def speed(self) -> Array:
        """An ordinary speed of this body, by which small ones are measured [m s-1]."""
        return jnp.sqrt(self.gravity * self.solid.radius())

    @property
    def load_matters(self) -> bool:
        """Whether friction is not simply proportional to the load, as where the spot grows with it."""
        return self.modulus is not None or not self.law.proportional

    def law_under(self, load: Array, touch: GroundTouch) -> AbstractFrictionLaw:
        """The law where the body touches; by Hertz with the radius that its spot has under this load."""
        law = self.law
        if self.cover is not None:
            law = law.with_coefficient(self.cover.at(touch.place)["mu"])
        if self.modulus is None or not isinstance(law, AbstractSpotLaw):
            return law
        return law.with_radius(self.hertz_radius(load, touch, self.modulus))

    def impact_at(self, touch: GroundTouch) -> AbstractImpactLaw:
        """The law of impact where the body touches."""
        if self.cover is None:
            return self.impact
        here = self.cover.at(touch.place)
        return self.impact.with_coefficients(here["restitution"], here["mu"])

    def lever(self, touch: GroundTouch) -> Array:
        """Rolling friction where the body touches [m]."""
        return self.rolling_friction if self.cover is None else self.cover.at(touch.place)["rolling_friction"]

    @staticmethod
    def hertz_radius(load: Array, touch: GroundTouch, modulus: Array) -> Array:
        """Radius of the circle with the area of Hertz's ellipse, nearly: from the geometric mean of the curvatures."""
        # Curvature of the body less that of the hollow, K = W^-1 - S = W^-1 (1 - W S).
        product = touch.follow_determinant / jnp.maximum(touch.radii.determinant(), LEAST)
        return jnp.cbrt(0.75 * load / modulus * jax.lax.rsqrt(jnp.maximum(product, LEAST)))

    def spot_radius(self, load: Array, touch: GroundTouch) -> Array:
        """Radius of the contact spot [m]."""
        return self.law_under(load, touch).radius(load)

    def resistance(self, load: Array, touch: GroundTouch) -> Array:
        """Lever of the normal force against turning [m]."""
        if self.point:
            return self.lever(touch)
        law = self.law_under(load, touch)
        return self.lever(touch) + law.rolling_capacity(load) / jnp.maximum(load, LEAST)

    @property
    def has_friction(self) -> Array:
        """Whether there is any friction."""
        if self.cover is not None:
            return jnp.max(self.cover.mu) > 0.0
        return self.law.capacity(jnp.ones(())) > 0.0

    # ---- motion ---------------------------------------------------------------------------------------

    def start(self, position, velocity=(0.0, 0.0, 0.0), quaternion=(1.0, 0.0, 0.0, 0.0),
              angular_velocity=(0.0, 0.0, 0.0), height=None) -> State:  # fmt: skip
        """The body on the ground, or above it.

        Args:
            position: x, y of the centre of mass [m].
            velocity: Of the centre of mass [m s-1]; towards the ground it means an impact at once.
            quaternion: Orientation (w, x, y, z), body to lab; normalised here.
            angular_velocity: In the lab [rad s-1].
            height: Of the body's lowest point over the ground along z, >= 0; on the ground if left out [m].
        """
        return begin.start(self, position, velocity, quaternion, angular_velocity, height)

    def blank(self, flies: bool = True) -> State:
        """A state of the form that all have, in flight or sliding, whose numbers mean nothing."""
        return begin.blank(self, flies)

    def contact_and_forces(self, state: State) -> tuple[Sight, Wrench]:
        """The contact and its forces, as if the body touched the ground."""
        seen = see(self, state)
        return seen.sight, seen.forces

    def rate(self, state: State) -> Rate:
        """Velocities and accelerations in the present mode, and the power lost."""
        return self.rate_by(state, self.see(state))

    def rate_by(self, state: State, seen: MotionTerms) -> Rate:
        """The same, where the contact and its forces are known."""
        sight, now = seen.sight, seen.forces
        flies, rests = state.mode == FLIGHT, state.mode == REST
        turning = rotation.rate_of_quaternion(state.q.quaternion, state.v.turning)
        # In contact the way of the facing points; in flight that of the centre, from where they are found anew.
        carried = jnp.concatenate([state.v.velocity[:2]] * self.solid.n_pieces)
        places = jnp.where(flies, carried, seen.sights.facing.place_rate.ravel())
        rate = Rate(
            q=GroundPlace(state.v.velocity, turning, places),
            v=GroundMotion(
                jnp.where(flies, fall(self).array(), now.acceleration),
                jnp.where(flies, sight.gyro.array(), now.angular_acceleration),
            ),
            ledger=GroundLedger(jnp.where(flies, 0.0, power(sight, now)), jnp.zeros(())),
        )
        return jax.tree.map(lambda part: jnp.where(rests, 0.0, part), rate)

    def project(self, state: State) -> State:
        """The quaternion of length one; in contact no gap, and nothing moves that the mode holds."""
        return self.project_by(state, self.see(state))

    def project_by(self, state: State, seen: MotionTerms) -> State:
        """The same, where the contact is known."""
        sight, touches = seen.sight, state.mode != FLIGHT
        q = state.q.replace(quaternion=rotation.normalise(state.q.quaternion))
        q = q.lift(jnp.where(touches, -sight.touch.height, 0.0)).replace(facing=seen.sights.touch.place.ravel())
        dv, dw = hold(self, sight, held_rows(self, state.mode))
        moves = touches & (state.mode != REST)
        return state.replace(q=q, v=state.v.add(jnp.where(moves, dv, 0.0), jnp.where(moves, dw, 0.0)))

    # ---- events ---------------------------------------------------------------------------------------

    @property
    def apart(self) -> tuple[tuple[int, ...], ...]:
        """Flight, and the modes of contact: their forces differ only in what is held."""
        return ((FLIGHT,), (SLIDE, SKID, ROLL)) if self.solid.n_pieces == 1 else ()

    @property
    def explicit_only(self) -> bool:
        """Derivatives of slow slip are left out (`mechanics._known_direction`)."""
        return True

    def entwined(self, mode: int | None = None) -> bool:
        """In contact: all ask for the facing points and the forces."""
        return mode != FLIGHT

    def see(self, state: State) -> MotionTerms:
        """Where the pieces face the ground, and the forces of contact."""
        return see(self, state)

    def guards_by(self, state: State, seen: MotionTerms) -> list[Array]:
        """The value of each guard, where the contact and its forces are known."""
        return [guard.function(state) for guard in self._guards(lambda _: seen)]

    def guards(self) -> tuple[Guard, ...]:
        """Landing and lift-off, slip and turning that end or begin, borders of validity."""
        return self._guards(once(self.see))

    def _guards(self, seen: Callable[[State], MotionTerms]) -> tuple[Guard, ...]:

        def slips(state):
            return (state.mode == SLIDE) | (state.mode == SKID)

        def turns(state):
            return (state.mode == ROLL) | (state.mode == SLIDE)

        def load(sight, now):
            return now.load / (self.solid.mass * self.gravity)

        def stage(begin, variant):
            return StagedJump(self, begin, jumps.make_contact, variant, jumps.Contact.over)

        def told(data, *more):
            return functools.partial(data, self, *more)

        def by_force(name, value, armed, **more):
            """A guard that asks for the forces, in the modes that have them: the others need not compute them."""
            return Guard(
                name,
                lambda s: jnp.where(armed(s), value(seen(s).sight, seen(s).forces), 1.0),
                armed,
                winding=True,
                **more,
            )

        contact = [
            Guard(
                "landing",
                lambda s: self._clearance(s, seen(s)),
                self._may_land,
                jump=stage(jumps.touch_down, jumps.LANDS),
                settle=stage(jumps.touch_down, jumps.PILES_UP),
                winding=True,
                likely=lambda s: s.mode == FLIGHT,
                data=told(results.landing_data),
            ),
            by_force("lift_off", load, lambda s: (s.mode != FLIGHT) & (s.mode != REST), jump=jumps.lift_off),
        ]
        slip = [
            by_force("grips", self._slip_left, lambda s: slips(s) & self.has_friction, singular=True,
                     jump=stage(jumps.stop, jumps.SLIP), likely=lambda s: slips(s) and float(self.patience) < NO_END,
                     data=results.stop_data),
            by_force("slips", self._grip_left, lambda s: s.mode == ROLL, jump=stage(jumps.release, jumps.SLIP)),
        ]  # fmt: skip
        turning = [
            by_force("stops_turning", self._turning_left, turns, singular=True, jump=stage(jumps.stop, jumps.TURNING),
                     data=results.stop_data),
            by_force("turns", self._turn_left, lambda s: s.mode == SKID, jump=stage(jumps.release, jumps.TURNING)),
        ]  # fmt: skip
        paradox = by_force(
            "ill_posed", self._uniqueness, slips, ends="ill_posed", border=True,
            message="At t = {t:.6g} s the normal force is not determined any more: friction turns the body into the "
            "ground as fast as the ground can push it out (the paradox of Painlevé).",
        )  # fmt: skip
        return (*contact, *slip, *(turning if self.resisted else ()), *self._borders(seen), paradox, self._patience())

    def _borders(self, seen: Callable[[State], MotionTerms]) -> list[Guard]:
        """Where the equations or the surface end."""
        where = "t = {t:.6g} s"
        borders = []
        if not self.surface.flat:
            borders = [
                Guard("left_domain", lambda s: self.surface.margin(*seen(s).sight.touch.place) - RIM,
                      ends="left_domain", border=True,
                      message=f"The body left the region where the ground is known at {where}."),
                Guard("several_contacts", lambda s: self._singleness(seen(s).sight.touch), ends="several_contacts",
                      message=f"At {where} the ground curves as much as the body that touches it: they would touch in "
                      "more than one place, which is not modelled. Take a smaller body or a smoother ground.",
                      border=True),
            ]  # fmt: skip
        if isinstance(self.solid.pieces, Disc):
            borders.append(
                Guard("lies_flat", lambda s: 1.0 - seen(s).sight.touch.radii.largest() / (FLAT * self.solid.radius()),
                      lambda s: (s.mode != REST) & (s.mode != FLIGHT), ends="lies_flat",
                      message=f"At {where} the disc has come down onto its face: tilted by less than {1 / FLAT:g} rad, "
                      "it touches with more than its rim.")
            )  # fmt: skip
        if self.solid.n_pieces > 1:
            borders.append(
                Guard("on_two_pieces", lambda s: s.ledger.piece + 0.5, ends="several_contacts", border=True,
                      message=f"At {where} the body comes to lie on two of its pieces, which is not modelled.")
            )  # fmt: skip
        return borders

    def _patience(self) -> Guard:
        return Guard(
            "patience", lambda s: (self.patience - s.t) / self.patience, lambda s: s.mode != REST, ends="finished",
            message="Still moving at t = {t:g} s: it did not come to rest in the time given. Without rolling friction "
            "or a spot that resists spin, rolling and spinning go on for ever.",
        )  # fmt: skip

    def _singleness(self, touch: GroundTouch) -> Array:
        """Positive where the body curves more than the ground, or is higher above it than it is large."""
        return jnp.maximum(touch.singleness - SINGLE, touch.gap / self.solid.radius() - 1.0)

    def look_interval(self, state: State) -> Array | None:
        """In flight the time in which the body goes over the ground by its own size [s].

        Or by the width of the ground's finest features, if that is larger: so it does not fly through a ridge.
        """
        if self.surface.flat:
            return None
        spacing = jnp.maximum(self.solid.radius(), self.surface.finest)
        speed = jnp.maximum(size(state.v.velocity[:2]), LEAST)
        return jnp.where(state.mode == FLIGHT, spacing / speed, jnp.inf)

    def _clearance(self, state: State, seen: MotionTerms) -> Array:
        """Gap of each piece; a body that hardly falls is let in by a hair, so that rounding does not land it."""

        def gap(sight: Sight) -> Array:
            slow = jnp.clip(1.0 + sight.closing / (0.5 * jumps.settle_speed(self)), 0.0, 1.0)
            return sight.touch.gap + jumps.hair(state) * slow

        return jax.vmap(gap)(seen.sights)

    def _may_land(self, state: State) -> Array:
        others = jnp.arange(self.solid.n_pieces) != active_piece(state)
        return (state.mode == FLIGHT) | (others & (state.mode != REST))

    def _slip_left(self, sight: Sight, now: Wrench) -> Array:
        still = jumps.near(self, sight.motion)
        return (size(self.slip_and_rim(sight, now.load)) - still) / self.speed

    def slip_and_rim(self, sight: Sight, load: Array) -> Array:
        """Slip and the speed of the spot's rim by spin, which vanish together [m s-1]; slip alone at a point."""
        if self.point:
            return sight.slip
        radius = self.spot_radius(jnp.maximum(load, LEAST), sight.touch)
        return jnp.append(sight.slip, radius * sight.spin)

    def _grip_left(self, sight: Sight, now: Wrench) -> Array:
        """Load that is not needed to hold the contact, over the weight: unlike a share of the load, it falls evenly."""
        return (1.0 - grip_use(self, now, sight)) * self._relative_load(now)

    def _turn_left(self, sight: Sight, now: Wrench) -> Array:
        """Load that is not needed to keep the body from turning, over the weight."""
        return (1.0 - turn_use(self, now, sight)) * self._relative_load(now)

    def _relative_load(self, now: Wrench) -> Array:
        return jnp.maximum(now.load, LEAST) / (self.solid.mass * self.gravity)

    def _turning_left(self, sight: Sight, now: Wrench) -> Array:
        still = jumps.near(self, sight.motion)
        return (self.solid.radius() * size(self.turning(sight)) - still) / self.speed

    def turning(self, sight: Sight) -> Array:
        """The part of the angular velocity that the resistance to rolling acts on [rad s-1]."""
        return jnp.append(sight.rolling, sight.spin) if self.point else sight.rolling

    def _uniqueness(self, sight: Sight, now: Wrench) -> Array:
        arm = sight.arm.cross(sight.touch.normal)
        smooth = 1.0 / self.solid.mass + arm.dot(sight.mobility @ arm)
        return now.stiffness / smooth - ILL_POSED

    # ---- results --------------------------------------------------------------------------------------

    def quantities(self) -> dict[str, Quantity]:
        """Name and meaning of everything that `observe` returns."""
        return results.QUANTITIES

    def observe(self, state: State) -> dict[str, Array]:
        """Everything worth showing of one state."""
        return self.observe_by(state, self.see(state))

    def observe_by(self, state: State, seen: MotionTerms) -> dict[str, Array]:
        """The same, where the contact and its forces are known."""
        return results.observe(self, state, seen)

    def energies(self, state: State) -> tuple[Array, Array]:
        """Kinetic and potential energy [J]."""
        return results.energies(self, state)

    def coordinates(self) -> dict[str, list[Any]]:
        """Labels of the axes."""
        return {"axis": ["x", "y", "z"]}

    def attributes(self) -> dict[str, str | int | float]:
        """The shape, so that it can be drawn."""
        return results.attributes(self)

    def event_quantities(self) -> dict[str, Quantity]:
        """Units of what only these events tell."""
        return {"normal_speed": Quantity((), "m s-1", "normal speed just before the impact")}

    def event_data(self, guard: str, index: int, before: State, after: State) -> dict[str, Any]:
        """When it was over, the mode it goes on in, energy lost."""
        return results.event_data(before, after)
