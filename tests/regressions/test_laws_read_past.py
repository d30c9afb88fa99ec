"""Contacts once stuck and slipped by mu N and by a spot of their own making, whatever their law said."""

import equinox as eqx
import jax.numpy as jnp
import pytest

from saltus import systems
from saltus.hybrid import State
from saltus.laws import friction
from saltus.laws.friction.base import direction
from saltus.shapes.profile import CircleProfile
from saltus.systems import ball_on_plane, butterfly
from saltus.systems.ball_on_rails import stick


class Gripping(friction.Coulomb):
    """Coulomb friction that bears three times as much at rest."""

    def capacity(self, load):
        return 3.0 * self.mu * load


class Adhesive(friction.AbstractFrictionLaw):
    """Friction that is not proportional to the load, and has no `mu` at all."""

    strength: float = 5.0

    def radius(self, load):
        return jnp.zeros_like(load)

    def reaction(self, slip, spin, load, rolling=None):
        force = -(self.strength + 0.0 * load)[..., None] * direction(jnp.asarray(slip))
        return friction.Reaction(force, jnp.zeros_like(load * spin), jnp.zeros_like(force))


def test_a_butterfly_sticks_with_the_spot_with_which_it_slides():
    # Under 5.9 N a spot of 4 mm at 2 N has grown to 5.7 mm; the limit was that of 4 mm.
    law = friction.Combined(0.3, 0.004, "hertz", reference_load=2.0)
    load = jnp.asarray(5.9)
    limit = law.limit(load)
    assert limit.radius == law.radius(load) == pytest.approx(5.737e-3, rel=1e-3)
    slides = law.reaction(jnp.array([0.0, 0.0]), 1.0, load)
    assert limit.use(jnp.zeros(2), slides.spin_torque) == pytest.approx(1.0, rel=1e-12)

    ball = _on_a_circle(law)
    state = ball.start()
    now = eqx.filter_jit(ball.contacts)(
        State(state.t, state.q, state.v, state.ledger, jnp.asarray(butterfly.system.STICK))
    )
    exact = friction.LimitSurface(law)
    share = exact.use(now.reaction.force, now.reaction.spin_torque, now.load)
    margin = law.capacity(now.load) * (1.0 - share) / (ball.mass * ball.gravity)
    assert eqx.filter_jit(ball._grip_left)(state) == pytest.approx(float(margin), rel=1e-12)


def _on_a_circle(law):
    turning = systems.Turning(amplitude=0.3, frequency=5.0)
    return systems.Butterfly(1.0, 0.02, 0.5, CircleProfile(0.1), turning, law)


def test_balls_on_a_plane_roll_as_long_as_their_law_holds_them():
    steep = 0.6  # rolling needs 2/7 tan(0.6) = 0.195 of the load
    for law, mode in ((friction.Coulomb(0.1), ball_on_plane.SLIP), (Gripping(0.1), ball_on_plane.ROLL)):
        assert systems.BallOnPlane(1.0, 0.1, law, slope=steep).start().mode == mode


def test_balls_on_rails_stick_as_long_as_their_law_holds_them():
    # Rolling needs 2 cos(a) / (5 cos(a)^2 + 2) tan(slope) = 0.205 of the load of a rail.
    for law, sticks in ((friction.Coulomb(0.15), False), (Gripping(0.15), True)):
        ball = systems.BallOnRails(1.0, 0.1, 0.5, law, slope=0.6)
        assert bool((ball.start().mode == stick.STICK).all()) == sticks


def test_a_law_without_a_coefficient_decides_by_its_own_force():
    law = Adhesive()
    assert (
        law.capacity(jnp.asarray(2.0)) == 5.0 and law.limit(jnp.asarray(2.0)).margin(jnp.array([3.0, 0.0]), 0.0) == 2.0
    )
    light = systems.BallOnPlane(1.0, 0.1, law, slope=0.6)  # needs 1.58 N
    heavy = systems.BallOnPlane(10.0, 0.1, law, slope=0.6)  # needs 15.8 N
    assert light.start().mode == ball_on_plane.ROLL and heavy.start().mode == ball_on_plane.SLIP
    rails = systems.BallOnRails(1.0, 0.1, 0.5, law, slope=0.6)
    assert (rails.start().mode == stick.STICK).all() and not rails.secure
