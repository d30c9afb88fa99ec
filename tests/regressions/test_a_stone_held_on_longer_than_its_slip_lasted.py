"""A body that lost its hold went on holding for a moment in which its slow slip had turned round: for ever again."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import saltus as sl
from saltus.laws.friction import Coulomb
from saltus.laws.impact import Soil
from saltus.shapes import Block, Solid
from saltus.surfaces import Terrain
from saltus.systems import BodyOnGround

RTOL, ATOL = 1e-7, 1e-9


def random_stone(number, together=200):
    """A stone of `benchmarks/random_stones.py`."""
    rng = np.random.default_rng([number, 15])
    axes, exponent = rng.uniform(0.2, 0.6, 3), rng.choice([2.0, rng.uniform(2.0, 4.0)])
    low, high = [2000.0, 0.3, 0.1, 0.3, 0.05, 10.0, 40.0, 0.1], [3000.0, 0.8, 0.5, 0.8, 0.15, 30.0, 70.0, 2.0]
    density, mu, restitution, rub, lever, x, y, height = rng.uniform(low, high)
    throw = rng.normal(size=10)
    rough = gaussian_filter(np.random.default_rng([number // together, 16]).normal(size=(24, 40)), 2.0) * 8.0
    system = BodyOnGround(
        Terrain(rough - 0.47 * 5.0 * np.arange(40), spacing=5.0),
        Solid(Block(axes, exponent), density=density),
        Coulomb(mu),
        Soil(restitution, rub, reference_mass=300.0),
        rolling_friction=lever,
        settle_height=1e-4,
        patience=200.0,
    )
    start = system.start([x, y], throw[:3], throw[3:7], throw[7:], height)
    return system, start


@pytest.mark.slow
@pytest.mark.optimised
@pytest.mark.parametrize("number", [3634, 5238, 5328])
def test_a_stone_whose_slip_is_about_to_end_comes_to_rest(number):
    run = sl.simulate(*random_stone(number), np.inf, rtol=RTOL, atol=ATOL)
    assert run.outcome.name == "at_rest", run.outcome
    assert len(run.events) < 20  # several hundred, in which up to a twentieth of the energy went astray
    data = run.to_dataset(times=401)
    total = data.kinetic_energy + data.potential_energy + data.dissipated_energy
    assert np.ptp(total.values) < 1e-6 * float(data.dissipated_energy[-1])
