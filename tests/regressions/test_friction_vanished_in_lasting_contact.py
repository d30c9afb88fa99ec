"""A ball on a rough ramp once slid as if the ramp were smooth, and the run said that it was finished."""

import equinox as eqx
import numpy as np
import pytest

import saltus
from saltus.laws.impact import Stronge
from saltus.shapes import Body, Ellipsoid
from saltus.systems import RigidBodies

G, RADIUS, SLOPE = 9.81, 0.1, np.radians(20.0)
NORMAL = np.array([np.sin(SLOPE), 0.0, np.cos(SLOPE)])
DOWN = np.array([np.cos(SLOPE), 0.0, -np.sin(SLOPE)])
observe = eqx.filter_jit(RigidBodies.observe)


def down_a_ramp(mu, until=0.5, spin=0.0):
    ball = Body(Ellipsoid([RADIUS] * 3), density=1000.0, center=RADIUS * NORMAL, angular_velocity=[0.0, spin, 0.0])
    system = RigidBodies([ball], gravity=(0.0, 0.0, -G), walls=[(NORMAL, 0.0)], law=Stronge(0.5, mu))
    return saltus.simulate(system, system.start([ball]), until)


def speeds(run, t):
    """Along the ramp, and of the surface by rotation."""
    v = np.asarray(run.at(t).v)[0]
    return float(v[:3] @ DOWN), RADIUS * float(v[4])


def energy_balance(run):
    seen = [observe(run.system, run.at(t)) for t in np.linspace(0.0, float(run.end.t), 6)]
    total = [float(x["kinetic_energy"] + x["potential_energy"] + x["dissipated_energy"]) for x in seen]
    return np.ptp(total) / float(seen[-1]["kinetic_energy"])


def test_a_ball_on_a_rough_ramp_rolls_with_five_sevenths_of_its_acceleration():
    run = down_a_ramp(mu=0.5)
    assert run.outcome.name == "finished" and [event.name for event in run.events] == ["contact"]
    along, turning = speeds(run, 0.5)
    # 1e-11 is the tolerance of the integration in contact.
    assert along == pytest.approx(5.0 / 7.0 * G * np.sin(SLOPE) * 0.5, rel=1e-11)
    assert turning == pytest.approx(along, rel=1e-11) and energy_balance(run) < 1e-11
    # Rolling without slip loses nothing: what is booked is rounding of the slip.
    assert abs(float(run.end.ledger[0])) < 1e-12 * float(observe(run.system, run.end)["kinetic_energy"])


def test_a_ball_on_a_slippery_ramp_slips_and_friction_takes_what_it_should():
    run = down_a_ramp(mu=0.05)
    along, turning = speeds(run, 0.5)
    assert [event.name for event in run.events] == ["contact", "slip"]
    assert along == pytest.approx(G * (np.sin(SLOPE) - 0.05 * np.cos(SLOPE)) * 0.5, rel=1e-9)
    # The moment of inertia of a ball is 2/5 m R^2.
    assert turning == pytest.approx(2.5 * 0.05 * G * np.cos(SLOPE) * 0.5, rel=1e-9)
    assert energy_balance(run) < 1e-9


@pytest.mark.slow
def test_a_ball_that_spins_too_fast_slips_until_it_rolls():
    mu, spin = 0.4, 40.0
    run = down_a_ramp(mu, until=0.6, spin=spin)
    assert [event.name for event in run.events] == ["contact", "stick"]
    # Friction pushes the ball down the ramp and slows its spin, by 5/2 mu g cos per radius, until both agree.
    gain = G * (np.sin(SLOPE) + mu * np.cos(SLOPE))
    when = spin * RADIUS / (gain + 2.5 * mu * G * np.cos(SLOPE))
    assert run.events[1].t == pytest.approx(when, rel=1e-7)  # slip below the settling speed counts as none
    along, turning = speeds(run, 0.6)
    assert along == pytest.approx(gain * when + 5.0 / 7.0 * G * np.sin(SLOPE) * (0.6 - when), rel=1e-7)
    assert turning == pytest.approx(along, rel=1e-10) and energy_balance(run) < 1e-9
