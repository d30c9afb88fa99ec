"""Truths of contacts for any two bodies."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saltus import contacts
from saltus.laws.impact import Elastic, Newton, Stronge
from saltus.numerics import rotation
from saltus.shapes import Body, Ellipsoid, Superellipsoid

UNTIL = 4.0
SAMPLES = 100


def random_pairs(n, seed, exponents=None):
    """Tumbling pairs that approach; stacked."""
    random = np.random.default_rng(seed)

    def shape(k):
        axes = np.exp(random.uniform(0.0, np.log(4.0), 3)) * 0.5
        return Ellipsoid(axes) if exponents is None else Superellipsoid(axes, random.uniform(*exponents, 3))

    def body(k, center, velocity):
        return Body(
            shape(k),
            center=center,
            velocity=velocity,
            quaternion=random.standard_normal(4),
            angular_velocity=2.0 * random.standard_normal(3),
        )

    pairs = []
    for k in range(n):
        far = random.standard_normal(3)
        far *= 4.5 / np.linalg.norm(far)
        velocity = -far / 2.0 + 1.1 * random.standard_normal(3)
        pairs.append((body(k, np.zeros(3), np.zeros(3)), body(k, far, velocity)))
    return tuple(jax.tree.map(lambda *leaves: jnp.stack(leaves), *side) for side in zip(*pairs, strict=True))


_search = jax.jit(jax.vmap(lambda one, two: contacts.first_contact(one, two, UNTIL)))


_local_motion = jax.jit(jax.vmap(contacts.local_motion))


def search(ones, twos):
    return _search(ones, twos)


@jax.jit
def sampled_gaps(ones, twos, times):
    """Gaps over time by dense sampling; each pair has its own times.

    Pair by pair: no pair waits for the one that takes the most iterations.
    """

    def at(given):
        one, two, times = given
        return jax.vmap(lambda t: contacts.gap(one.after(t), two.after(t)).gap)(times)

    return jax.lax.map(at, (ones, twos, times))


def check_nothing_is_missed(ones, twos, found):
    n = len(found.time)
    assert bool(found.certified.all())
    happens, time = np.asarray(found.happens), np.asarray(found.time)
    assert 0.2 * n < happens.sum() < 0.9 * n  # both answers occur
    until = np.where(happens, time, UNTIL)
    gaps = np.asarray(sampled_gaps(ones, twos, jnp.asarray(until[:, None] * np.linspace(0.0, 1.0, SAMPLES))))
    # Before the contact the bodies are apart at every sample; 1e-14 is the rounding of the gap after free motion.
    assert gaps[:, :-1].min() > -1e-14
    # Times are right to 1e-12 of them: so far from touching the bodies are then, at the speed with which they close.
    speed = np.abs(np.asarray(_local_motion(found.body1, found.body2, found.separation).v))
    assert (np.abs(gaps[:, -1]) <= 1e-12 * time * speed + 1e-14)[happens].all()


@pytest.fixture(scope="module")
def encounters():
    ones, twos = random_pairs(60, seed=3)
    return ones, twos, search(ones, twos)


def test_no_contact_of_tumbling_ellipsoids_is_missed(encounters):
    check_nothing_is_missed(*encounters)


@pytest.mark.slow
@pytest.mark.parametrize("exponents", [None, (2.0, 8.0)], ids=["ellipsoids", "superellipsoids"])
def test_no_contact_of_thousands_of_tumbling_pairs_is_missed(exponents):
    for seed in range(4):
        ones, twos = random_pairs(500, 100 + seed, exponents)
        check_nothing_is_missed(ones, twos, search(ones, twos))


@pytest.fixture(scope="module")
def touches(encounters):
    found = encounters[2]
    keep = np.flatnonzero(np.asarray(found.happens))[:40]
    return jax.tree.map(lambda leaf: leaf[keep], found)


@jax.jit
@jax.vmap
def totals(one, two):
    """Momentum, angular momentum and energy of two bodies together."""

    def of(body):
        turning = body.angular_momentum() + body.mass * jnp.cross(body.center, body.velocity)
        return body.mass * body.velocity, turning, body.kinetic_energy()

    return jax.tree.map(jnp.add, of(one), of(two))


@pytest.mark.parametrize("law", [Elastic(), Newton(0.4), Stronge(0.7, 0.3)], ids=lambda law: type(law).__name__)
def test_an_impact_keeps_both_momenta_and_never_gains_energy(touches, law):
    collide = jax.jit(jax.vmap(lambda one, two, at: contacts.collide(one, two, at, law)))
    after1, after2, _ = collide(touches.body1, touches.body2, touches.separation)
    (*momenta, energy), (*momenta_after, energy_after) = totals(touches.body1, touches.body2), totals(after1, after2)
    for before, after in zip(momenta, momenta_after, strict=True):
        assert np.abs(after - before).max() < 1e-13 * np.abs(before).max()
    gain = np.asarray((energy_after - energy) / energy)
    if isinstance(law, Elastic):
        assert np.abs(gain).max() < 1e-13
    else:
        assert gain.max() < 1e-13 and gain.min() < -1e-3


def test_the_gap_depends_neither_on_the_order_of_the_bodies_nor_on_the_frame(touches):
    turn = rotation.random_quaternion(jax.random.key(1))

    def turned(body):
        place = (rotation.rotate(turn, body.center), body.velocity, rotation.multiply(turn, body.quaternion))
        return body.with_motion(*place, body.angular_velocity)

    back = jax.jit(jax.vmap(lambda body: body.after(-0.3)))
    earlier = [back(body) for body in (touches.body1, touches.body2)]
    swapped = earlier[::-1]
    turn_all = jax.jit(jax.vmap(turned))
    frames = [turn_all(body) for body in earlier]
    gap = jax.jit(jax.vmap(contacts.gap))
    here, there, seen = gap(*earlier), gap(*swapped), gap(*frames)
    # Rounding of centres a few metres apart.
    assert np.abs(here.gap - there.gap).max() < 2e-14 and np.abs(here.gap - seen.gap).max() < 2e-14
    assert np.abs(here.normal + there.normal).max() < 1e-12
    assert np.abs(here.certificate).max() < 1e-12


def test_the_kind_of_touch_does_not_depend_on_the_order_of_the_bodies(touches):
    one, two = (jax.tree.map(lambda leaf: leaf[0], body) for body in (touches.body1, touches.body2))
    there, back = contacts.classify(one, two), contacts.classify(two, one)
    assert there.label == back.label == "normal"
    for name in ("v", "a_eff", "gap3"):
        here = float(getattr(there.local, name))
        assert float(getattr(back.local, name)) == pytest.approx(here, rel=1e-9, abs=1e-10)


def test_a_grazing_touch_is_found_and_named():
    # Two unit balls on parallel paths exactly two radii apart touch at t = 1 without approach.
    one = Body(Ellipsoid([1.0, 1.0, 1.0]))
    two = Body(Ellipsoid([1.0, 1.0, 1.0]), center=[-1.0, 2.0, 0.0], velocity=[1.0, 0.0, 0.0])
    found = contacts.first_contact(one, two, 3.0)
    # The gap is (t - 1)^2 / 4: within 4e-15 of the size (2 m) of zero from 1.8e-7 s before the touch on.
    assert bool(found.happens) and float(found.time) == pytest.approx(1.0, abs=2e-7)
    assert contacts.classify(found.body1, found.body2).label == "tangential-1"
    apart = Body(Ellipsoid([1.0, 1.0, 1.0]), center=[-1.0, 2.0 + 1e-9, 0.0], velocity=[1.0, 0.0, 0.0])
    assert not bool(contacts.first_contact(one, apart, 3.0).happens)


def test_a_contact_is_found_again_bit_for_bit(encounters):
    ones, twos, first = encounters
    second = search(ones, twos)
    assert np.array_equal(first.time, second.time)
    assert np.array_equal(first.body2.quaternion, second.body2.quaternion)
