"""Bodies that are no ellipsoids in the loop of a gas: as the event queue, ellipsoids and brute force have it."""

import jax.numpy as jnp
import numpy as np
import pytest

import saltus
from saltus import gas as gases
from saltus import scenarios, shapes
from saltus.gas import Gas, HardBodies, Species
from saltus.gas.packing import compress
from saltus.laws.impact import Stronge
from saltus.numerics.on_host import rotation_matrices
from saltus.systems import RigidBodies
from saltus.systems.bodies import ahead
from saltus.systems.gas.overlap import gaps

pytestmark = [pytest.mark.slow, pytest.mark.optimised]

KINDS = [
    shapes.Superellipsoid([0.9, 0.6, 0.45], [2.0, 4.0, 6.0]),
    shapes.Ellipsoid([0.8, 0.5, 0.5]),
    shapes.Superellipsoid([0.5, 0.5, 0.5], 5.0),
]


def energy(bodies) -> float:
    return float(sum(part.sum() for part in bodies.energies()))


def edge(species: list[Species], fraction: float) -> np.ndarray:
    volume = sum(kind.count * float(kind.shape().volume()) for kind in species)
    return np.full(3, (volume / fraction) ** (1 / 3))


def one_by_one(start, kinds) -> list[shapes.Body]:
    spin = np.einsum("nij,nj->ni", rotation_matrices(start.quaternion), start.spin() / start.inertia)
    return [
        shapes.Body(
            kinds[i], mass=start.mass[i], principal_inertia=start.inertia[i], center=start.place[i],
            velocity=start.velocity[i], quaternion=start.quaternion[i], angular_velocity=spin[i],
        )
        for i in range(start.n)
    ]  # fmt: skip


@pytest.mark.parametrize("periodic", [True, False])
def test_the_event_queue_finds_the_same_impacts_of_a_mixture_of_shapes(periodic, monkeypatch):
    monkeypatch.setattr(ahead, "can_run", lambda system: False)
    box, law = np.full(3, 5.0), Stronge(0.9, 0.2)
    start = gases.random_start([Species(kind, 4) for kind in KINDS], box, periodic=periodic, temperature=1.0, seed=4)
    hard = HardBodies(start, box, periodic=periodic, law=law, log=64)
    hard.advance(0.8)
    bodies = one_by_one(start, [KINDS[i // 4] for i in range(start.n)])
    faces = [(sign * np.eye(3)[k], -2.5) for k in range(3) for sign in (1.0, -1.0)]
    system = RigidBodies(bodies, law=law, period=box if periodic else None, walls=[] if periodic else faces)
    found = [event for event in saltus.simulate(system, system.start(bodies), 0.8).events if event.name == "impact"]
    logged = hard.contacts()
    assert len(found) == len(logged) >= 7
    for event, row in zip(found, logged, strict=True):
        # Errors grow by a factor of about ten with each impact of a body, of which none has more than five.
        assert row[0] == pytest.approx(event.t, abs=1e-11)
        assert row[3] == pytest.approx(event.data["impulse"], rel=1e-9)


@pytest.mark.parametrize("exponents", [3.0, 8.0, [2.0, 2.0, 10.0]])
def test_no_contact_of_superellipsoids_is_missed(exponents):
    species = [Species(shapes.Superellipsoid([0.5, 0.5, 0.4], exponents), 48, mass=1.0)]
    box = edge(species, 0.3)
    hard = HardBodies(gases.random_start(species, box, temperature=1.0, seed=1), box)
    first, deepest, contacts = energy(hard.snapshot()), 0.0, 0
    while contacts < 1500:
        contacts += int(hard.advance(0.01).contacts)
        assert hard.outcome is None
        deepest = min(deepest, float(gaps(hard.snapshot(), box).min()))
    assert deepest > -1e-12
    assert float(hard.fluid.tally.deepest) > -1e-13
    assert energy(hard.snapshot()) == pytest.approx(first, rel=1e-13)


def test_superellipsoids_of_exponent_two_move_as_ellipsoids():
    axes, box = [0.7, 0.5, 0.4], np.full(3, 4.2)
    start = gases.random_start([Species(axes, 40, mass=1.0)], box, temperature=1.0, seed=2)
    alike = gases.states.bodies_of([Species(shapes.Superellipsoid(axes, 2.0), 40, mass=1.0)], 2)
    same = {name: getattr(start, name) for name in ("place", "velocity", "quaternion", "momentum")}
    logs = []
    for bodies in (start, gases.states.dataclasses.replace(alike, **same)):
        hard = HardBodies(bodies, box, log=64)
        hard.advance(contacts=40)
        logs.append(hard.contacts())
    # A body has two contacts on average, six at most; each magnifies what was by about ten.
    assert logs[0][:, 0] == pytest.approx(logs[1][:, 0], abs=1e-9)
    assert np.array_equal(np.sort(logs[0][:, 1:3], axis=1), np.sort(logs[1][:, 1:3], axis=1))


def test_eggs_given_by_a_function_fly_and_collide():
    egg = shapes.SupportShape(lambda n: jnp.sqrt(0.25 * n[0] ** 2 + 0.16 * (n[1] ** 2 + n[2] ** 2)) + 0.03 * n[0] ** 3)
    species = [Species(egg, 32, mass=1.0)]
    box = edge(species, 0.25)
    hard = HardBodies(gases.random_start(species, box, temperature=1.0, seed=1), box)
    first = energy(hard.snapshot())
    for _ in range(20):
        hard.advance(contacts=15)
        assert hard.outcome is None and float(gaps(hard.snapshot(), box).min()) > -1e-12
    assert energy(hard.snapshot()) == pytest.approx(first, rel=1e-13)


def test_rounded_cubes_are_compressed_and_measured():
    cube = shapes.Superellipsoid([0.5, 0.5, 0.5], 6.0)
    packed = compress([Species(cube, 32, mass=1.0)], seed=1, rate=0.2, compressibility=100.0)
    assert packed.jammed and 0.6 < packed.volume_fraction < 0.85
    text = """
        kind = "bodies"
        box = { periodic = true }
        fill.shape = { axes = [0.5, 0.5, 0.5], exponents = 6.0 }
        fill.count = 32
        fill.temperature = 1.0
        fill.volume_fraction = 0.2
        measure = { equilibrate = 500, collisions = 4000 }
    """
    data = scenarios.loads(text).simulate().to_dataset()
    assert data.attrs["volume_fraction"] == pytest.approx(0.2, rel=1e-12)
    # Cubes have a B2 of 5.5 volumes, balls of 4: at this density their factors are about 2.8 and 2.4.
    assert 2.3 < float(data["compressibility"]) < 3.1
    assert data.attrs["shape_exponents"].startswith("[[6.0, 6.0, 6.0]")
    assert data.attrs["degrees_of_freedom"] == 3 * 31 + 3 * 32


def test_a_gas_of_shapes_keeps_what_it_measures():
    box = edge([Species(KINDS[2], 32)], 0.2)
    gas = Gas(HardBodies(gases.random_start([Species(KINDS[2], 32)], box, temperature=1.0, seed=1), box))
    gas.equilibrate(500)
    gas.measure(8000)
    found = gas.results()
    one, two = found["temperature_translation"], found["temperature_rotation"]
    assert abs(one.value - two.value) < 3.0 * np.hypot(one.error, two.error)
