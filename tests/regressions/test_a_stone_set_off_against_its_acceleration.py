"""A body that slips but does not turn was taken to roll, stopped at once, and so on without end: 179 stops in a ms."""

import jax
import jax.numpy as jnp
import numpy as np

from saltus.laws.friction import Coulomb
from saltus.laws.impact import Stronge
from saltus.shapes import Ellipsoid, Solid
from saltus.surfaces import Plane
from saltus.systems import BodyOnGround
from saltus.systems.ground_body.mechanics import ROLL, SKID, see


def set_off(numbers):
    """The mode of a body put down at rest on a slope, and whether its slip and its turning grow."""
    axes, mu, lever, slope, quaternion = numbers[:3], *numbers[3:6], numbers[6:]
    solid = Solid(Ellipsoid(axes), mass=10.0)
    system = BodyOnGround(Plane(-slope, 0.0), solid, Coulomb(mu), Stronge(0.0, 0.0), rolling_friction=lever)
    start = system.start([0.0, 0.0], quaternion=quaternion)
    seen = see(system, start)
    slip, turning, gain = seen.sight.slip, system.turning(seen.sight), seen.forces.gain
    return start.mode, jnp.sum(slip * gain[1:3]), jnp.sum(turning * gain[3:6])


def test_what_sets_off_gathers_speed():
    rng = np.random.default_rng(0)
    count = 2000
    draws = [rng.uniform(low, high, (count, n)) for low, high, n in ((0.2, 0.6, 3), (0.2, 0.6, 1), (0.05, 0.3, 1))]
    poses = rng.normal(size=(count, 4))
    slopes = draws[1] * rng.uniform(0.9, 1.3, (count, 1))  # where the grip is hardly enough, or hardly not
    numbers = jnp.asarray(np.concatenate([*draws, slopes, poses], axis=1))
    mode, slips, turns = map(np.asarray, jax.jit(lambda all: jax.lax.map(set_off, all))(numbers))
    rolls, skids = mode == ROLL, mode == SKID
    assert rolls.sum() > 900 and skids.sum() > 600
    assert (turns[rolls] > 0.0).all() and (slips[skids] > 0.0).all()
