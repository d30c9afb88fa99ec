"""One suite over every exported law: add an example here and all of it applies."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saltus.laws import friction, impact
from saltus.laws.friction import AbstractFrictionLaw, AbstractSpotLaw
from saltus.laws.impact import AbstractImpactLaw, engagement
from saltus.laws.impact.base import AbstractRoughImpactLaw
from saltus.laws.impact.engagement import AbstractEngagement

SPOT = {"rolling_shift": 0.3, "sliding_shift": 0.2}
FRICTION = {
    "Coulomb": friction.Coulomb(0.4),
    "Combined": friction.Combined(0.4, 0.02, **SPOT),
    "EllipticCone": friction.EllipticCone(0.4, 0.02, "uniform", **SPOT),
    "FirstOrder": friction.FirstOrder(0.4, 0.02, **SPOT),
    "Pade": friction.Pade(0.4, 0.02, **SPOT),
    "PowerNorm": friction.PowerNorm(0.4, 0.02, **SPOT),
    "SecondOrder": friction.SecondOrder(0.4, 0.02, **SPOT),
}
IMPACT = {
    "Elastic": impact.Elastic(),
    "Newton": impact.Newton(0.4),
    "Poisson": impact.Poisson(0.5, 0.3),
    "RoughNewton": impact.RoughNewton(0.5, 0.3),
    "Soil": impact.Soil(0.5, 0.3),
    "Stronge": impact.Stronge(0.5, 0.3),
}
GAINS = ("Poisson", "RoughNewton")  # with friction, as their docstrings say: offered for comparison
ENGAGEMENT = {
    "ChosenEngagement": engagement.ChosenEngagement("limit"),
    "FrozenEngagement": engagement.FrozenEngagement(),
    "LimitEngagement": engagement.LimitEngagement(),
    "PlasticEngagement": engagement.PlasticEngagement(),
    "PrintedEngagement": engagement.PrintedEngagement(),
}


def every(laws):
    return pytest.mark.parametrize("law", laws.values(), ids=laws.keys())


@pytest.mark.parametrize(
    ("module", "contract", "laws"),
    [
        (friction, AbstractFrictionLaw, FRICTION),
        (impact, AbstractImpactLaw, IMPACT),
        (engagement, AbstractEngagement, ENGAGEMENT),
    ],
    ids=("friction", "impact", "engagement"),
)
def test_every_exported_law_is_an_example(module, contract, laws):
    exported = {name: getattr(module, name) for name in module.__all__}
    concrete = {
        name
        for name, one in exported.items()
        if isinstance(one, type) and issubclass(one, contract) and not name.startswith("Abstract")
    }
    assert concrete == set(laws)


# ---- friction -------------------------------------------------------------------------------------

RNG = np.random.default_rng(7)
N = 64
LOAD = jnp.asarray(3.0)
SLIP, SPIN, ROLLING = RNG.normal(size=(N, 2)), 30.0 * RNG.normal(size=N), RNG.normal(size=(N, 2))
SLIP[:4], SPIN[4:8], ROLLING[8:12] = 0.0, 0.0, 0.0
SLIP[12:16], SPIN[16:20] = 1e-9 * SLIP[12:16], 1e-9 * SPIN[16:20]


@eqx.filter_jit
def reactions(law, slip, spin, rolling):
    return jax.vmap(lambda *motion: law.reaction(motion[0], motion[1], LOAD, motion[2]))(slip, spin, rolling)


def _turned(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


@every(FRICTION)
def test_friction_never_gives_energy(law):
    found = reactions(law, SLIP, SPIN, ROLLING)
    power = np.sum(found.force * SLIP, 1) + found.spin_torque * SPIN + np.sum(found.rolling_moment * ROLLING, 1)
    assert (np.asarray(power) <= 1e-15 * (1.0 + np.abs(SPIN))).all() and np.asarray(power).min() < -0.1


@every(FRICTION)
def test_friction_knows_no_direction(law):
    turn = _turned(1.1)
    one, other = reactions(law, SLIP, SPIN, ROLLING), reactions(law, SLIP @ turn.T, SPIN, ROLLING @ turn.T)
    np.testing.assert_allclose(np.asarray(one.force) @ turn.T, other.force, rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.spin_torque, other.spin_torque, rtol=0, atol=1e-13)
    np.testing.assert_allclose(np.asarray(one.rolling_moment) @ turn.T, other.rolling_moment, rtol=0, atol=1e-13)


@every(FRICTION)
def test_friction_is_mirror_symmetric(law):
    flip = np.array([1.0, -1.0])
    # In a mirror across e2 velocities turn e2 over, angular velocities everything else.
    one, other = reactions(law, SLIP, SPIN, ROLLING), reactions(law, flip * SLIP, -SPIN, -flip * ROLLING)
    np.testing.assert_allclose(flip * one.force, other.force, rtol=0, atol=1e-13)
    np.testing.assert_allclose(one.spin_torque, -other.spin_torque, rtol=0, atol=1e-14)
    np.testing.assert_allclose(-flip * one.rolling_moment, other.rolling_moment, rtol=0, atol=1e-14)


@every(FRICTION)
def test_friction_tends_to_what_rest_bears(law):
    # At rest itself the law is set-valued, and says zero; the slower a pure slip, the nearer its force to the limit.
    way = np.array([[0.6, 0.8]])
    still = np.zeros((1, 2)), np.zeros(1), np.zeros((1, 2))
    assert all((np.asarray(part) == 0.0).all() for part in jax.tree.leaves(reactions(law, *still)))
    force = reactions(law, 1e-9 * way, *still[1:]).force
    np.testing.assert_allclose(force, -way * float(law.capacity(LOAD)), rtol=1e-12)
    assert float(law.limit(LOAD).use(way[0] * law.capacity(LOAD), jnp.asarray(0.0))) == pytest.approx(1.0, abs=1e-12)
    if isinstance(law, AbstractSpotLaw):  # a spot that spins creeps: no slip, no force along it
        spins = np.full(2, 10.0)
        creeps = reactions(law, np.array([[1e-9, 0.0], [-1e-9, 0.0]]), spins, np.zeros((2, 2))).force
        across = reactions(law, np.zeros((2, 2)), spins, np.zeros((2, 2))).force
        assert np.abs(np.asarray(creeps)[:, 0] - np.asarray(across)[:, 0]).max() < 1e-6


@every(FRICTION)
def test_the_coefficient_can_be_replaced(law):
    other = law.with_coefficient(jnp.asarray(0.1))
    assert float(other.coefficient()) == 0.1 and float(law.coefficient()) == 0.4
    assert float(other.capacity(LOAD)) == pytest.approx(0.1 * float(LOAD), rel=1e-15)
    assert jax.tree.structure(other) == jax.tree.structure(law)  # so that one program serves both
    if isinstance(law, AbstractSpotLaw):
        assert float(law.with_radius(jnp.asarray(0.5)).radius(LOAD)) == 0.5


@every(FRICTION)
def test_friction_is_the_same_one_by_one_and_has_derivatives(law):
    found = reactions(law, SLIP, SPIN, ROLLING)
    plain = law.reaction(jnp.asarray(SLIP[20]), jnp.asarray(SPIN[20]), LOAD, jnp.asarray(ROLLING[20]))
    for one, many in zip(jax.tree.leaves(plain), jax.tree.leaves(found), strict=True):
        np.testing.assert_allclose(one, np.asarray(many)[20], rtol=1e-13, atol=1e-15)

    @eqx.filter_jit
    def slope(law, size):
        return jax.grad(lambda size: jnp.sum(law.reaction(size * SLIP[20], SPIN[20], LOAD, ROLLING[20]).force))(size)

    @eqx.filter_jit
    def force(law, size):
        return jnp.sum(law.reaction(size * SLIP[20], SPIN[20], LOAD, ROLLING[20]).force)

    h = 1e-5
    difference = (force(law, 1.0 + h) - force(law, 1.0 - h)) / (2.0 * h)
    assert float(slope(law, 1.0)) == pytest.approx(float(difference), abs=1e-8)


@every({name: law for name, law in FRICTION.items() if isinstance(law, AbstractSpotLaw)})
def test_slopes_of_the_friction_of_a_spot_are_its_derivatives_by_slip(law):
    @eqx.filter_jit
    def both(law, slip, spin, rolling):
        by_slip = jax.jacfwd(lambda slip: law.reaction(slip, spin, LOAD, rolling))(slip)
        share, slope = law.share_with_slope(slip, spin, LOAD)
        found = law.reaction_by(share, slip, LOAD, rolling), *law.slopes_by(share, slope, slip, LOAD, rolling)
        return found, law.reaction(slip, spin, LOAD, rolling), by_slip

    for i in (8, 20, 21, 22):  # the first without rolling
        (found, by_force, by_torque), plain, by_slip = both(law, SLIP[i], SPIN[i], ROLLING[i])
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(plain), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-14, atol=1e-15)
        np.testing.assert_allclose(by_force, by_slip.force, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(by_torque, by_slip.spin_torque, rtol=1e-12, atol=1e-14)


# ---- impact ---------------------------------------------------------------------------------------

FACTORS = RNG.normal(size=(16, 3, 3))
MOBILITY = np.einsum("nij,nkj->nik", FACTORS, FACTORS) + 0.3 * np.eye(3)
NORMAL = RNG.normal(size=(16, 3))
NORMAL /= np.linalg.norm(NORMAL, axis=1, keepdims=True)
VELOCITY = RNG.normal(size=(16, 3))
VELOCITY *= -np.sign(np.sum(VELOCITY * NORMAL, axis=1, keepdims=True))  # closing


@eqx.filter_jit
def impulses(law, velocity, normal, mobility):
    return jax.vmap(law.impulse)(jnp.asarray(velocity), jnp.asarray(normal), jnp.asarray(mobility))


@every(IMPACT)
def test_an_impact_parts_the_bodies_and_gains_no_energy(law):
    found = np.asarray(impulses(law, VELOCITY, NORMAL, MOBILITY))
    after = VELOCITY + np.einsum("nij,nj->ni", MOBILITY, found)
    assert np.sum(after * NORMAL, axis=1).min() > -1e-9 and np.sum(found * NORMAL, axis=1).min() > 0.0
    # By how much the kinetic energy of the contact changes: p . (v + v') / 2.
    gain = 0.5 * np.sum(found * (VELOCITY + after), axis=1)
    if type(law).__name__ not in GAINS:
        assert gain.max() < 1e-9
    assert (np.asarray(impulses(law, -VELOCITY, NORMAL, MOBILITY)) == 0.0).all()


@every(IMPACT)
def test_a_lossless_impact_conserves_the_energy_and_others_tell_that_they_may_not(law):
    found = np.asarray(impulses(law, VELOCITY, NORMAL, MOBILITY))
    after = VELOCITY + np.einsum("nij,nj->ni", MOBILITY, found)
    gain = 0.5 * np.sum(found * (VELOCITY + after), axis=1)
    assert law.lossless == bool((np.abs(gain) < 1e-13).all())


@every(IMPACT)
def test_the_coefficients_of_a_rough_impact_can_be_replaced(law):
    numbers = jnp.asarray(0.2), jnp.asarray(0.1)
    if isinstance(law, AbstractRoughImpactLaw):
        other = law.with_coefficients(*numbers)
        assert (float(other.lasting_restitution()), float(other.lasting_friction())) == (0.2, 0.1)
        assert jax.tree.structure(other) == jax.tree.structure(law)
    else:
        with pytest.raises(TypeError, match="has no `restitution` and `mu`"):
            law.with_coefficients(*numbers)


@every(IMPACT)
def test_an_impact_knows_no_direction_and_no_handedness(law):
    found = np.asarray(impulses(law, VELOCITY, NORMAL, MOBILITY))
    for turn in (np.linalg.qr(FACTORS[0])[0], np.diag([1.0, -1.0, 1.0])):
        there = impulses(law, VELOCITY @ turn.T, NORMAL @ turn.T, turn @ MOBILITY @ turn.T)
        np.testing.assert_allclose(found @ turn.T, there, rtol=0, atol=1e-8)


@every(IMPACT)
def test_a_vanishing_impact_has_a_vanishing_impulse(law):
    # The softer the touch, the smaller the impulse; with it goes the normal part alone or all of the motion.
    large = np.abs(np.asarray(impulses(law, VELOCITY, NORMAL, MOBILITY))).max()
    touching = VELOCITY - (1.0 - 1e-9) * np.sum(VELOCITY * NORMAL, axis=1, keepdims=True) * NORMAL
    for slow in (1e-9 * VELOCITY, touching):
        assert np.abs(np.asarray(impulses(law, slow, NORMAL, MOBILITY))).max() < 1e-6 * large


@pytest.mark.slow
@every(IMPACT)
def test_an_impact_has_the_derivative_of_its_differences(law):
    @eqx.filter_jit
    def slope(law, size):
        def one(size):
            return jnp.sum(law.impulse(size * VELOCITY[0], jnp.asarray(NORMAL[0]), jnp.asarray(MOBILITY[0])))

        return jax.jvp(one, (size,), (1.0,))

    h = 1e-4
    _, found = slope(law, 1.0)
    difference = (slope(law, 1.0 + h)[0] - slope(law, 1.0 - h)[0]) / (2.0 * h)
    assert float(found) == pytest.approx(float(difference), rel=1e-5, abs=1e-6)


# ---- engagement -----------------------------------------------------------------------------------


@every(ENGAGEMENT)
def test_an_engagement_gains_no_energy_unless_it_says_so(law):
    angles, masses = jnp.linspace(-1.0, 1.4, 7), jnp.linspace(0.0, 8.0, 7)
    found = eqx.filter_jit(lambda law: jax.vmap(lambda a, m: law(a, m, jnp.asarray(0.7)))(angles, masses))(law)
    assert np.isfinite(np.asarray(found.velocity)).all() and (np.asarray(found.impulse) >= 0.0).all()
    assert law.creates_energy or np.asarray(found.loss).min() > -1e-12
