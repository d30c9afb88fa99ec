"""Gases of hard bodies against theory, references and brute force."""

import numpy as np
import pytest

import saltus
from saltus import gas as gases
from saltus import scenarios, shapes
from saltus.ensembles import gas_boxes
from saltus.gas import Gas, HardBodies, Species
from saltus.gas.packing import compress
from saltus.numerics.on_host import rotation_matrices
from saltus.systems import RigidBodies
from saltus.systems.gas.overlap import gaps

pytestmark = [pytest.mark.slow, pytest.mark.optimised]


def sized(ratios) -> np.ndarray:
    axes = np.asarray(ratios, float)
    return axes * 0.5 / np.prod(axes) ** (1 / 3)


def edge(n: int, fraction: float) -> np.ndarray:
    return np.full(3, (n * np.pi / 6 / fraction) ** (1 / 3))


def gas_of(ratios, n: int, fraction: float) -> Gas:
    box = edge(n, fraction)
    return Gas(HardBodies(gases.random_start([Species(sized(ratios), n, mass=1.0)], box, temperature=1.0, seed=1), box))


@pytest.mark.parametrize("ratios", [(3, 1, 1), (1, 1.5, 2.5)])
def test_no_contact_is_missed_over_ten_thousand_events(ratios):
    gas = gas_of(ratios, 64, 0.35)
    deepest, contacts = 0.0, 0
    while contacts < 10_000:
        contacts += int(gas.hard.advance(0.004).contacts)
        now = gas.hard.snapshot()
        deepest = min(deepest, float(gaps(now, gas.hard.box).min()))
    assert deepest > -1e-12


def test_a_million_events_keep_energy_and_momentum():
    gas = gas_of((3, 1, 1), 1000, 0.3)
    before = gas.hard.snapshot()
    gas.hard.advance(contacts=1_000_000)
    after = gas.hard.snapshot()
    first, last = (sum(part.sum() for part in bodies.energies()) for bodies in (before, after))
    assert last == pytest.approx(first, rel=1e-12)
    momentum = np.sqrt(2.0 * first * after.mass.sum())
    assert np.abs(after.mass @ after.velocity).max() < 1e-12 * momentum
    assert float(gas.hard.fluid.tally.deepest) > -1e-12
    assert gaps(after, gas.hard.box).min() > -1e-12


def test_spheres_follow_carnahan_and_starling_and_share_energy():
    gas = gas_of((1, 1, 1), 256, 0.3)
    gas.equilibrate(20_000)
    gas.measure(150_000)
    factor = gas.results()["compressibility"]
    # The formula itself is within 0.2 % of simulations, the periodic box within 0.2 % at this size.
    assert abs(factor.value - gases.carnahan_starling(0.3)) < 3.0 * factor.error + 0.004 * factor.value


def test_rotation_and_translation_have_the_same_temperature():
    gas = gas_of((1, 1.5, 2.5), 64, 0.3)
    gas.equilibrate(10_000)
    gas.measure(100_000)
    found = gas.results()
    one, two = found["temperature_translation"], found["temperature_rotation"]
    assert abs(one.value - two.value) < 3.0 * np.hypot(one.error, two.error)


@pytest.mark.parametrize("ratios", [(3, 1, 1), (1, 3, 3)])
def test_dilute_gases_give_the_second_virial_coefficient(ratios):
    n, fraction = 256, 0.01
    gas = gas_of(ratios, n, fraction)
    gas.equilibrate(5_000)
    gas.measure(60_000)
    factor = gas.results()["compressibility"]
    expected = gases.second_virial(sized(ratios)) * fraction * (1.0 - 1.0 / n)
    # The third coefficient adds about 2 % at this density.
    assert factor.value - 1.0 == pytest.approx(expected, rel=0.03 + 3.0 * factor.error / expected)


def test_prolate_and_oblate_bodies_of_inverse_ratio_differ_when_dense():
    factors = []
    for ratios in ((3, 1, 1), (1, 3, 3)):
        gas = gas_of(ratios, 256, 0.3)
        gas.equilibrate(20_000)
        gas.measure(200_000)
        factors.append(gas.results()["compressibility"])
    assert abs(factors[0].value - factors[1].value) > 5.0 * np.hypot(factors[0].error, factors[1].error)


def test_impulses_of_walls_and_of_bodies_balance_the_kinetic_energy():
    box = np.full(3, 12.0)
    start = gases.random_start([Species([0.5] * 3, 200, mass=1.0)], box, periodic=False, temperature=1.0, seed=2)
    hard = HardBodies(start, box, periodic=False)
    before = hard.snapshot()
    done = hard.advance(contacts=5000)
    after = hard.snapshot()
    # The virial theorem without averages: sum of m v . x changes by twice the kinetic energy, by the impulses between
    # bodies, and by those of the walls, which reach centres half an edge less a radius away from the middle.
    first, last = (float(np.sum(bodies.mass[:, None] * bodies.velocity * bodies.place)) for bodies in (before, after))
    energy = float(before.energies()[0].sum())
    found = 2.0 * energy * hard.time + float(done.virial) - 5.5 * float(done.wall_impulse)
    assert last - first == pytest.approx(found, abs=1e-10 * energy * hard.time)


def test_walls_feel_the_pressure_of_the_equation_of_state():
    box, periodic = np.full(3, 12.0), (True, True, False)
    start = gases.random_start([Species([0.5] * 3, 200, mass=1.0)], box, periodic=periodic, temperature=1.0, seed=2)
    gas = Gas(HardBodies(start, box, periodic=periodic))
    gas.equilibrate(20_000)
    gas.measure(120_000)
    pressure = gas.results()["pressure"]
    # Per area of the slab there are 11 density + 2 layers, since centres keep a radius away from the walls; a layer
    # has pi/4 density^2 more, the volume that a wall takes away from what neighbours exclude (first order).
    density = np.roots([np.pi / 2.0, 11.0, -200.0 / 144.0])[-1]
    expected = gases.carnahan_starling(density * np.pi / 6.0) * density
    # The next order of the layers is about a tenth of the first, which is 1.7 %.
    assert pressure.value == pytest.approx(expected, abs=3.0 * pressure.error + 0.003 * expected)


@pytest.mark.parametrize("periodic", [True, False])
def test_the_event_queue_finds_the_same_impacts(periodic):
    box = np.full(3, 5.0)
    start = gases.random_start([Species([0.9, 0.6, 0.45], 10)], box, periodic=periodic, temperature=1.0, seed=4)
    hard = HardBodies(start, box, periodic=periodic, log=64)
    hard.advance(1.0)
    spin = np.einsum("nij,nj->ni", rotation_matrices(start.quaternion), start.spin() / start.inertia)
    bodies = [
        shapes.Body(
            shapes.Ellipsoid(start.axes[i]), mass=start.mass[i], center=start.place[i], velocity=start.velocity[i],
            quaternion=start.quaternion[i], angular_velocity=spin[i],
        )
        for i in range(start.n)
    ]  # fmt: skip
    faces = [(sign * np.eye(3)[k], -2.5) for k in range(3) for sign in (1.0, -1.0)]
    system = RigidBodies(bodies, period=box if periodic else None, walls=[] if periodic else faces)
    run = saltus.simulate(system, system.start(bodies), 1.0)
    found = [event for event in run.events if event.name == "impact"]
    logged = hard.contacts()[: len(found)]
    assert len(found) > 3
    # Errors grow by a factor of about ten with each impact of a body.
    for event, row in list(zip(found, logged, strict=True))[:6]:
        assert row[0] == pytest.approx(event.t, abs=1e-8)
        assert row[3] == pytest.approx(event.data["impulse"], rel=1e-6)


def test_spheres_and_ellipsoids_jam_where_they_should():
    balls = compress([Species([0.5] * 3, 256, mass=1.0)], seed=1, compressibility=2000.0)
    assert 0.63 < balls.volume_fraction < 0.65 and 5.5 < balls.contacts_per_body < 6.7
    eggs = compress([Species(sized((1.25, 1, 0.8)), 128, mass=1.0)], seed=1, compressibility=2000.0)
    assert 0.72 < eggs.volume_fraction < 0.75 and 9.0 < eggs.contacts_per_body < 12.5


def test_the_mixture_of_the_catalogue_runs_and_is_stored(tmp_path):
    run = scenarios.load("gas-mixture", ["measure.collisions=5000", "measure.equilibrate=2000"]).scenario.simulate()
    dataset = run.to_dataset()
    saltus.io.write(dataset, tmp_path / "gas.nc")
    again = saltus.io.read(tmp_path / "gas.nc")
    assert float(again["compressibility"]) == float(dataset["compressibility"]) > 1.0
    assert again.sizes["body"] == 384


def test_boxes_side_by_side_agree_with_boxes_one_after_the_other():
    changes = ["fill.count=64", "measure.equilibrate=2000", "measure.collisions=4000"]
    boxes = gas_boxes("gas", [1, 2], changes, workers=2)
    # In a process of their own too: this one keeps no programs (`conftest`), and compiles them to other last bits.
    in_turn = gas_boxes("gas", [2, 3], changes, workers=1)
    assert float(boxes["compressibility"].sel(box=2)) == float(in_turn["compressibility"].sel(box=2))
    assert float(boxes["compressibility_over_boxes"]) == pytest.approx(float(boxes["compressibility"].mean()))
