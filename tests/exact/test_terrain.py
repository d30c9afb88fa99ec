"""Motions over rasters with known answers."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipk

import saltus as sl
from saltus.surfaces import Terrain, synthetic

G = 9.81


def slide(surface, position, mu, until, velocity=(0.0, 0.0)):
    block = sl.systems.SlidingMasses(surface, [1.0], mu=mu, gravity=G)
    return sl.simulate(block, block.start([position], [velocity]), until=until)


@pytest.mark.slow
def test_a_block_on_an_inclined_raster_has_the_textbook_acceleration():
    slope, mu = 0.5, 0.2
    run = slide(synthetic.inclined_plane(slope, 10.0, length=200.0), (50.0, 3.0), mu, until=8.0)
    cosine = 1 / np.hypot(1.0, slope)
    along = 0.5 * G * (slope - mu) * cosine * 8.0**2 * cosine
    x, y = np.asarray(run.end.q[0, :2])
    assert x == pytest.approx(50.0 + along, abs=1e-8)  # tolerance 1e-10 of the run over 80 m
    assert y == pytest.approx(3.0, abs=1e-12)


def runout_on_parabola(fall, length, mu, x_start):
    """Stop point of a block on the parabola with a flat, from the speed squared as a function of x."""

    def slope(x):
        return -2 * fall / length * max(1 - x / length, 0.0)

    def change(x, square):
        s, bend = slope(x), 2 * fall / length**2
        # d(v²)/dx = -2 g s - 2 mu (g + v² f'' / (1 + s²)), v² the squared speed along the path
        return -2 * G * s - 2 * mu * (G + square * bend / (1 + s * s))

    foot = solve_ivp(change, (x_start, length), [0.0], rtol=1e-12, atol=1e-12).y[0, -1]
    return length + foot / (2 * mu * G)


@pytest.mark.slow
def test_runout_onto_the_flat_converges_to_the_exact_one():
    fall, length, mu = 120.0, 400.0, 0.25
    exact = runout_on_parabola(fall, length, mu, x_start=40.0)
    errors = []
    for spacing in (20.0, 10.0, 5.0):
        terrain = synthetic.parabola_to_flat(fall, length, spacing, width=100.0)
        run = slide(terrain, (40.0, 0.0), mu, until=100.0)
        assert [event.name for event in run.events] == ["stop"]
        errors.append(abs(float(run.end.q[0, 0]) - exact))
    # The curvature jumps at the foot, which lies on a pixel's centre: second order there.
    assert errors[-1] < 0.02 and np.log2(errors[0] / errors[1]) > 1.7 and np.log2(errors[1] / errors[2]) > 1.7


@pytest.mark.slow
def test_a_mass_in_a_raster_bowl_swings_as_a_pendulum():
    radius, angle = 50.0, 0.5
    exact = 4 * np.sqrt(radius / G) * ellipk(np.sin(angle / 2) ** 2)
    errors = []
    for spacing in (4.0, 2.0):
        run = slide(synthetic.bowl(radius, spacing), (radius * np.sin(angle), 0.0), 0.0, until=1.1 * exact)
        data = run.to_dataset(times=np.linspace(0.0, 1.1 * exact, 4001))
        period = 4 * sl.diagnostics.upward_crossings(-data.position[:, 0, 0], 0.0)[0]
        errors.append(abs(period - exact) / exact)
        # Third derivatives jump between pixels, which a method of order eight feels a little.
        assert sl.diagnostics.energy_balance(data).relative < 1e-7
    # A quarter of a period to the first passage; fourth order in the spacing.
    assert errors[1] < 2e-6 and np.log2(errors[0] / errors[1]) > 3.5


@pytest.mark.slow
def test_speed_in_the_frictionless_helix_is_that_of_the_fall():
    chute = synthetic.helix(radius=40.0, fall=30.0, spacing=2.0, trough=8.0)
    run = slide(chute, (40.0, 1.0), 0.0, until=30.0)
    assert run.outcome.name == "left_domain"
    data = run.to_dataset(times=200)
    speed = np.linalg.norm(data.velocity.values[:, 0], axis=-1)
    fallen = data.position.values[0, 0, 2] - data.position.values[:, 0, 2]
    np.testing.assert_allclose(speed**2, 2 * G * fallen, atol=1e-6)
    angle = np.unwrap(np.arctan2(data.position.values[:, 0, 1], data.position.values[:, 0, 0]))
    assert angle[-1] == pytest.approx(1.5 * np.pi, abs=0.05)  # to the missing quarter: 2 m of 40


@pytest.mark.slow
def test_blocks_on_the_faces_of_a_pyramid_go_straight_down():
    peak = synthetic.pyramid(slope=0.6, spacing=1.0)
    blocks = sl.systems.SlidingMasses(peak, [1.0, 1.0], mu=0.3, gravity=G)
    run = sl.simulate(blocks, blocks.start([[30.0, 4.0], [-3.0, -30.0]]), until=3.0)
    cosine = 1 / np.hypot(1.0, 0.6)
    path = 0.5 * G * 0.3 * cosine * 3.0**2 * cosine
    # The edges round off within a few pixels: 0.268 per pixel of what is left of the edge.
    np.testing.assert_allclose(np.asarray(run.end.q[:, :2]), [[30.0 + path, 4.0], [-3.0, -30.0 - path]], atol=1e-8)


def test_leaving_the_map_and_entering_a_gap_are_events():
    slope = synthetic.inclined_plane(0.5, spacing=10.0, length=200.0)
    run = slide(slope, (50.0, 0.0), 0.1, until=100.0)
    assert run.outcome.name == "left_domain" and run.events[-1].name == "left_domain"
    assert float(run.end.q[0, 0]) == pytest.approx(200.0, abs=1e-4)  # RIM: 1e-6 pixels before the border
    heights = np.add.outer(np.zeros(21), -5.0 * np.arange(21.0))
    heights[:, 15:] = np.nan
    run = slide(Terrain(heights, 10.0, 0.0, -100.0), (50.0, 0.0), 0.1, until=100.0)
    assert run.outcome.name == "left_domain"
    assert float(run.end.q[0, 0]) == pytest.approx(145.0, abs=1e-4)
