"""Sliding masses and rafts obey a friction law of a point; `mu` is its short form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import saltus as sl
from saltus.laws.friction import Combined, Coulomb
from saltus.laws.friction.weakened import WeakenedFriction

SLOPE = sl.surfaces.Plane(-0.2, 0.0)
G = 9.81


class Doubled(Coulomb):
    """Twice as much friction below 1 m/s; proportional to the load."""

    @property
    def proportional(self):
        return True

    def reaction(self, slip, spin, load, rolling=None):
        slow = jnp.sum(jnp.asarray(slip) ** 2, -1, keepdims=True) < 1.0
        plain = super().reaction(slip, spin, load, rolling)
        return type(plain)(plain.force * jnp.where(slow, 2.0, 1.0), plain.spin_torque, plain.rolling_moment)


def slide(until=0.3, speed=1.0, **friction):
    system = sl.systems.SlidingMasses(SLOPE, [1.0], **friction)
    return sl.simulate(system, system.start([[0.0, 0.0]], [[speed, 0.0]]), until)


def test_the_short_form_is_coulombs_law():
    short, long = slide(mu=0.3), slide(law=Coulomb(0.3))
    assert (np.asarray(short.end.q) == np.asarray(long.end.q)).all()
    assert short.system.law.mu.shape == (1,) and short.system.mu is short.system.law.mu


def test_a_law_of_ones_own_moves_and_stops_masses_as_it_says():
    # On this slope Coulomb's friction with 0.15 lets go; twice of it, below 1 m/s, brings the mass to rest.
    run = slide(until=5.0, speed=0.5, law=Doubled(0.15))
    cosine = 1.0 / np.sqrt(1.04)
    speed, brake = 0.5 / cosine, (0.3 - 0.2) * G * cosine
    assert [event.name for event in run.events] == ["stop"]
    assert run.events[0].t == pytest.approx(speed / brake, rel=1e-9)
    assert not slide(until=1.0, speed=1.5, law=Doubled(0.15)).events
    assert run.outcome.name == "finished" and np.asarray(run.end.v).max() == 0.0


def test_derivatives_reach_the_numbers_of_the_law():
    run = slide(mu=0.3)
    start = run.trajectory.start

    def place(mu):
        return run.replay(sl.systems.SlidingMasses(SLOPE, [1.0], law=Coulomb(mu)), start).end.q[0, 0]

    h = 1e-5
    difference = (slide(mu=0.3 + h).end.q[0, 0] - slide(mu=0.3 - h).end.q[0, 0]) / (2 * h)
    assert float(jax.grad(place)(0.3)) == pytest.approx(float(difference), rel=1e-6)


def test_what_masses_cannot_obey_is_refused():
    for law, words in ((Combined(0.2, 0.01), "Combined is no friction of a point"), (Coulomb([0.1, 0.2]), "one per")):
        with pytest.raises(ValueError, match=words):
            sl.systems.SlidingMasses(SLOPE, [1.0, 1.0, 1.0], law=law)
    with pytest.raises(ValueError, match="either `mu`"):
        sl.systems.SlidingMasses(SLOPE, [1.0])
    with pytest.raises(ValueError, match="either `mu`"):
        sl.systems.SlidingMasses(SLOPE, [1.0], mu=0.1, law=Coulomb(0.1))
    with pytest.raises(ValueError, match="Combined is no friction of a point"):
        sl.systems.Raft(SLOPE, [1.0], law=Combined(0.2, 0.01))


def test_a_raft_obeys_a_law_of_ones_own_as_masses_do():
    def drift(law, speed):
        raft = sl.systems.Raft(SLOPE, [1.0], law=law)
        return sl.simulate(raft, raft.start([[0.0, 0.0]], [[speed, 0.0]]), 1.0, step=1e-3).end

    cosine = 1.0 / np.sqrt(1.04)
    speed, brake = 0.5 / cosine, (0.3 - 0.2) * G * cosine
    stopped = drift(Doubled(0.15), 0.5)
    assert stopped.v[0, 0] == 0.0
    assert stopped.q[0, 0] == pytest.approx(0.5 * speed**2 / brake * cosine, rel=1e-5)
    free = drift(Doubled(0.15), 1.5)
    assert free.v[0, 0] == pytest.approx(1.5 + (0.2 - 0.15) * G * cosine**2, rel=1e-9)


def test_a_share_of_a_law_is_that_share_of_its_forces():
    law = WeakenedFriction(Coulomb(0.4), jnp.array([1.0, 0.0]))
    slip = jnp.array([[1.0, 0.0], [0.0, 2.0]])
    assert np.asarray(law.reaction(slip, jnp.zeros(2), jnp.ones(2)).force).tolist() == [[-0.4, 0.0], [0.0, 0.0]]
    assert np.asarray(law.capacity(jnp.ones(2))).tolist() == np.asarray(law.grip(jnp.ones(2))).tolist() == [0.4, 0.0]
