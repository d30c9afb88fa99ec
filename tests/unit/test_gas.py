"""Gases of hard bodies: what is conserved, what never happens, what is measured, what is refused."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import saltus
from saltus import gas as gases
from saltus import scenarios
from saltus.cli.summary import rows, summary
from saltus.ensembles import gas_boxes
from saltus.errors import ScenarioError
from saltus.gas import Gas, HardBodies, Species
from saltus.gas.correlation import PairCounts, long_axes
from saltus.gas.dataset import dataset_of
from saltus.gas.equilibrium import drift
from saltus.gas.run import Checkpoint, run
from saltus.gas.series import Series, block_error
from saltus.gas.states import bodies_of
from saltus.hybrid import Outcome
from saltus.laws.impact import Newton
from saltus.numerics import tournament
from saltus.numerics.on_host import rotation_matrices
from saltus.scenarios.gas import start_of
from saltus.scenarios.loader import validate
from saltus.systems.gas.bodies import Bodies
from saltus.systems.gas.overlap import gaps
from saltus.systems.gas.separation import certain_time
from saltus.systems.gas.sizes import sizes

LONG = np.array([3.0, 1.0, 1.0]) * 0.5 / 3.0 ** (1 / 3)  # the volume of a ball of diameter 1
COUNT, EDGE = 64, 4.816  # volume fraction 0.3


@pytest.fixture(scope="module")
def start() -> Bodies:
    return gases.random_start([Species(LONG, COUNT, mass=1.0)], np.full(3, EDGE), temperature=1.0, seed=3)


def energy(bodies: Bodies) -> float:
    return float(sum(part.sum() for part in bodies.energies()))


def test_impacts_keep_energy_and_momentum_and_nothing_overlaps(start):
    hard = HardBodies(start, np.full(3, EDGE))
    hard.advance(contacts=3000)
    bodies = hard.snapshot()
    # Rounding: 3000 impacts of 1e-16 each.
    assert energy(bodies) == pytest.approx(energy(start), rel=1e-13)
    assert np.abs(bodies.mass @ bodies.velocity).max() < 1e-12
    assert np.abs(np.linalg.norm(bodies.quaternion, axis=1) - 1.0).max() < 1e-14
    for _ in range(20):
        hard.advance(0.01)
        now = hard.snapshot()
        assert gaps(now, hard.box).min() > -1e-12


def test_the_same_start_gives_the_same_bits(start):
    ends = []
    for _ in range(2):
        hard = HardBodies(start, np.full(3, EDGE))
        hard.advance(contacts=500)
        ends.append(hard.snapshot().place)
    assert np.array_equal(*ends)


def test_every_body_is_in_the_list_of_each_of_its_neighbours(start):
    hard = HardBodies(start, np.full(3, EDGE))
    hard.advance(contacts=1000)
    near, count = np.asarray(hard.fluid.near), np.asarray(hard.fluid.count)
    pairs = {(i, int(near[i, m]) >> 5, int(near[i, m]) & 31) for i in range(COUNT) for m in range(count[i])}
    assert pairs
    assert all((j, i, 26 - image) in pairs for i, j, image in pairs)


@pytest.mark.parametrize("cut_after", [2200, 4500])  # while it is equilibrated, and while it is measured
def test_a_measured_gas_goes_on_from_a_checkpoint_bit_by_bit(start, tmp_path, cut_after):
    def fresh() -> Gas:
        return Gas(HardBodies(start, np.full(3, EDGE), log=40))

    class CutError(Exception):
        pass

    path = tmp_path / "gas.npz"
    whole = run(fresh, equilibrate=2500, collisions=3000)
    saving, calls = Checkpoint(path, "text", resume=False, every=0.0), []

    def cut_off(t, n_events):
        calls.append(n_events)
        if n_events > cut_after:
            raise CutError

    with pytest.raises(CutError):
        run(fresh, equilibrate=2500, collisions=3000, report=cut_off, checkpoint=saving)
    assert path.exists()
    resumed = run(fresh, equilibrate=2500, collisions=3000, checkpoint=Checkpoint(path, "text", resume=True))
    one, two = whole.to_dataset(), resumed.to_dataset()
    assert one.equals(two)
    assert not path.exists()
    # The last contacts are kept one by one, in their order.
    times = one["event_time"].values
    assert times.size == 40 and np.all(np.diff(times) >= 0.0)
    assert times[-1] <= whole.gas.hard.time and (one["event_impulse"] > 0.0).all()
    assert_states_can_be_had_at_any_time(whole)


def assert_states_can_be_had_at_any_time(whole):
    (first, _, _), (second, _, after) = whole.gas.film[-2:]
    # From one sample to the next there are three contacts per body; each loses about a digit.
    assert whole.at(second).place == pytest.approx(after.place, abs=1e-15)
    between = whole.to_dataset(times=[first, 0.5 * (first + second), second - 1e-9])
    assert between["position"].values[2] == pytest.approx(after.place - 1e-9 * after.velocity, abs=1e-9)
    assert between["kinetic_energy"].values == pytest.approx(energy(after), rel=1e-13)
    with pytest.raises(ValueError, match="a time at which states are kept"):
        whole.at(-1.0)


def test_a_gas_from_a_checkpoint_runs_the_same_program(start, tmp_path):
    gas, again = (Gas(HardBodies(start, np.full(3, EDGE))) for _ in range(2))
    gas.measure(600)
    saved = Checkpoint(tmp_path / "gas.npz", "one", resume=True)
    saved.save(gas)
    saved.restore(again)
    # Numbers of another type (weak ones, say) would be traced and compiled again, and that program may round otherwise.
    for one, two in ((gas.hard.fluid, again.hard.fluid), (gas.hard.terms, again.hard.terms)):
        assert jax.tree.map(jax.typeof, one) == jax.tree.map(jax.typeof, two)
    again.hard.restart(start, scale=1.0, growth=0.0)
    assert jax.tree.map(jax.typeof, again.hard.terms) == jax.tree.map(jax.typeof, gas.hard.terms)


def test_slices_evaluated_beside_the_next_one_give_the_same_averages(start):
    beside, in_turn = (Gas(HardBodies(start, np.full(3, EDGE))) for _ in range(2))
    told: list[list[int]] = [[], []]
    beside.measure(2000, report=lambda _, contacts: told[0].append(contacts))
    in_turn.measure(2000, report=lambda _, contacts: told[1].append(contacts), stop=lambda: False)  # waits for each
    assert told[0] == told[1]
    assert len(told[0]) > 5
    assert np.array_equal(beside.series.bins, in_turn.series.bins)
    assert np.array_equal(beside.correlations.sums, in_turn.correlations.sums)
    assert np.array_equal(beside.pairs.counts, in_turn.pairs.counts)


def test_the_checkpoint_of_another_scenario_is_refused(start, tmp_path):
    gas = Gas(HardBodies(start, np.full(3, EDGE)))
    gas.measure(600)
    Checkpoint(tmp_path / "gas.npz", "one", resume=False).save(gas)
    with pytest.raises(ScenarioError, match="another scenario"):
        Checkpoint(tmp_path / "gas.npz", "two", resume=True).restore(gas)


def ball(height: float, speed: float = 0.0) -> Bodies:
    one, three = np.ones(1), np.ones((1, 3))
    return Bodies(
        axes=0.5 * three, mass=one, inertia=0.1 * three, place=np.array([[0.0, 0.0, height]]),
        velocity=np.array([[0.0, 0.0, speed]]), quaternion=np.array([[1.0, 0.0, 0.0, 0.0]]), momentum=0.0 * three,
    )  # fmt: skip


def test_a_ball_bounces_on_the_floor_at_the_times_of_free_fall():
    hard = HardBodies(ball(0.5), (4.0, 4.0, 4.0), periodic=False, gravity=(0.0, 0.0, -9.81), log=16)
    hard.advance(3.5)
    times = hard.contacts()[:3, 0]
    fall = np.sqrt(2.0 * 2.0 / 9.81)
    assert times == pytest.approx(fall * np.array([1.0, 3.0, 5.0]), rel=1e-12)


def test_normals_of_walls_may_have_any_length():
    faces = HardBodies(ball(0.5), (4.0, 4.0, 4.0), periodic=False).walls
    doubled = [(2.0 * face[:3], 2.0 * face[3]) for face in faces]
    again = HardBodies(ball(0.5), (4.0, 4.0, 4.0), periodic=False, closed=False, walls=doubled)
    assert np.array_equal(again.walls, faces)


def test_the_orientation_of_a_mixture_is_that_of_its_long_bodies():
    mixed = bodies_of([Species(LONG, 3), Species([0.5] * 3, 5)], seed=1)
    alone = bodies_of([Species(LONG, 3)], seed=1)
    turns = rotation_matrices(mixed.quaternion)
    assert np.array_equal(long_axes(mixed.axes, turns), long_axes(alone.axes, turns[:3]))
    assert long_axes(np.full((5, 3), 0.5), turns[3:]).shape == (5, 3)


def test_restitution_takes_its_share_and_a_collapse_has_a_name():
    law = Newton(0.5)
    hard = HardBodies(ball(0.5), (4.0, 4.0, 4.0), periodic=False, gravity=(0.0, 0.0, -9.81), law=law, log=4)
    done = hard.advance(contacts=1)
    assert float(done.loss) == pytest.approx(0.75 * 9.81 * 2.0, rel=1e-12)
    hard.advance(100.0)
    assert hard.outcome is not None and hard.outcome.name == "accumulation"
    # A geometric series of flights: the first fall, then 2 (e + e^2 + ...) of them.
    assert hard.time == pytest.approx(np.sqrt(4.0 / 9.81) * 3.0, rel=1e-6)


def test_the_smallest_number_is_found_after_any_change():
    random = np.random.default_rng(0)
    numbers = random.random(13)
    tree = jnp.asarray(tournament.tree(np.asarray(numbers)))
    change = jax.jit(tournament.replace)
    for place, value in zip(random.integers(0, 13, 40), random.random(40), strict=True):
        numbers[place] = value
        tree = change(tree, jnp.asarray(place), jnp.asarray(value))
        found, smallest = tournament.smallest(tree)
        assert int(found) == int(np.argmin(numbers)) and float(smallest) == numbers.min()


@pytest.mark.parametrize(
    ("gap", "rate", "bend", "wanted"),
    [
        (1.0, -1.0, 0.0, 1.0),
        (1.0, 1.0, 0.0, np.inf),
        (1.0, 0.0, 2.0, 1.0),
        (0.0, 1.0, 2.0, 1.0),
        (-1e-15, 1.0, 2.0, 1.0),
    ],
)
def test_the_certain_time_is_the_root_of_the_parabola(gap, rate, bend, wanted):
    assert float(certain_time(jnp.asarray(gap), jnp.asarray(rate), jnp.asarray(bend))) == pytest.approx(
        wanted, rel=1e-15
    )


def test_errors_by_blocking_see_correlations():
    random = np.random.default_rng(1)
    noise = np.repeat(random.standard_normal(512), 8)  # 8 alike in a row
    duration = np.ones(noise.size)
    assert block_error(noise, duration, 64) == pytest.approx(1 / np.sqrt(512), rel=0.25)
    series = Series()
    for _ in range(10_000):
        series.add(**dict.fromkeys(("duration", "contacts", "virial", "wall_impulse", "loss"), 1.0),
                   **dict.fromkeys(("heat", "translation", "rotation", "order"), 2.0))  # fmt: skip
    assert len(series.bins) < 2048 and series.mean("heat") == (2.0, 0.0)


def test_theory_knows_its_limits():
    assert gases.second_virial([1.0, 1.0, 1.0]) == pytest.approx(4.0, rel=1e-14)
    # Isihara: the same for inverse ratios.
    assert gases.second_virial([3.0, 1.0, 1.0]) == pytest.approx(gases.second_virial([1.0, 3.0, 3.0]), rel=1e-12)
    assert gases.second_virial([3.0, 1.0, 1.0]) == pytest.approx(5.453748974288609, rel=1e-13)
    assert gases.carnahan_starling(1e-6) == pytest.approx(1.0 + 4e-6, abs=1.1e-11)
    near = gases.dilute_collision_rate([0.5001, 0.49995, 0.49995], samples=4096)
    assert near[0] == pytest.approx(gases.dilute_collision_rate([0.5, 0.5, 0.5])[0], rel=1e-3)


def test_thermal_velocities_have_the_energy_of_their_temperature():
    start = gases.states.bodies_of([Species(LONG, 50, mass=2.0), Species([0.3, 0.3, 0.3], 30)], 0)
    moving = gases.thermal(start, 0.7, 5)
    _, count = gases.states.freedoms(moving)
    assert count == 3 * 79 + 2 * 50
    assert 2.0 * energy(moving) / count == pytest.approx(0.7, rel=1e-13)
    assert np.abs(moving.mass @ moving.velocity).max() < 1e-12


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (["fill.volume_fraction=0.7"], "random starts reach 0.6 at most"),
        (["fill.count=3", "fill.volume_fraction=0.4"], "must be at least twice the length"),
        (["fill.volume_fraction=-0.1"], "must be > 0"),
        (["fill.temperature=0.0"], "must be > 0"),
        (["fill.shape.exponents=1.5"], "each >= 2"),
        (["fill.shape.exponents=nan"], "`fill.shape.exponents` must be a finite number, got nan"),
        (["fill.shape.exponents=[4, nan, 4]"], "`fill.shape.exponents.1` must be a finite number, got nan"),
        (['fill.shape.exponents="round"'], "must be a list or a number"),
        (["box.size=[0, 8, 8]"], "`box.size.0` must be > 0"),
        (["gravity=[0, 0, -1]"], "bodies fall for ever"),
        (["walls=[{ normal = [0, 0, 1], offset = -3 }]"], "the walls of the box alone"),
        (["fill.start=crystal", "fill.count=101"], "must be a multiple of 4"),
        (
            ["fill.start=crystal", "fill.count=20", "fill.shape.axes=[0.5, 0.5, 0.5]", "fill.volume_fraction=0.55"],
            "reaches a volume fraction of",
        ),
        (["measure.collisions=-5"], "must be >= 1"),
    ],
)
def test_gases_that_cannot_be_are_refused_in_one_sentence(changes, words):
    with pytest.raises(ScenarioError, match=words):
        scenarios.load("gas", changes).scenario.simulate()


def test_a_crystal_of_long_bodies_has_fewer_cells_along_them():
    edge = (256 * np.pi / 6.0 / 0.3) ** (1 / 3)
    long = gases.crystal(Species(LONG, 256, mass=1.0), [edge] * 3, temperature=1.0, seed=1)
    assert [len(np.unique(long.place[:, k].round(9))) for k in range(3)] == [4, 8, 16]
    assert gaps(long, np.full(3, edge)).min() > 0.05
    balls = gases.crystal(Species([0.5] * 3, 32, mass=1.0), [4.0] * 3, temperature=1.0, seed=1)
    assert [len(np.unique(balls.place[:, k].round(9))) for k in range(3)] == [4, 4, 4]


@pytest.mark.parametrize(("cells", "made"), [(3.5, 1), (4.5, 4)])
def test_a_box_of_few_cells_is_one(cells, made):
    """Of three cells along an edge a body looks into all; apart they have more empty seats to be looked at."""
    balls = gases.crystal(Species([0.5] * 3, 32, mass=1.0), [4.0] * 3, temperature=1.0, seed=1)
    whole = sizes(balls, np.full(3, 1e3), np.ones(3, bool), 0)
    edge = cells * 2.0 * (0.5 + whole.skin)
    assert sizes(balls, np.array([edge, 1e3, 1e3]), np.ones(3, bool), 0).arena.cells[0] == made


def test_a_gas_begins_where_a_stored_one_has_ended(start, tmp_path):
    gas = Gas(HardBodies(start, np.full(3, EDGE)))
    gas.measure(300)
    ended = gas.film[-1][2]
    saltus.io.write(dataset_of(gas, Outcome("finished", "")), tmp_path / "gas.nc")
    fill = {"shape": {"axes": LONG.tolist()}, "count": COUNT, "mass": 1.0, "temperature": 2.0}
    fill["file"] = str(tmp_path / "gas.nc")
    data = {"kind": "bodies", "box": {"size": [EDGE] * 3, "periodic": True}, "fill": fill, "measure": {"collisions": 9}}
    begun = start_of(validate(data))
    assert np.array_equal(begun.place, ended.place)
    assert energy(begun) == pytest.approx(2.0 * energy(ended), rel=1e-12)
    assert begun.momentum == pytest.approx(np.sqrt(2.0) * ended.momentum, abs=1e-12)
    data["box"]["size"] = [5.0] * 3
    with pytest.raises(ValueError, match="holds a box of"):
        start_of(validate(data))


def test_one_box_alone_tells_no_scatter_between_boxes():
    with pytest.raises(ValueError, match="two different numbers"):
        gas_boxes("gas", [1, 1])
    with pytest.raises(ScenarioError, match="measures no gas"):
        gas_boxes("box-of-ellipsoids", [1, 2])


def test_pairs_are_counted_as_by_looking_at_all_of_them():
    random = np.random.default_rng(2)
    box, periodic = np.array([5.0, 6.0, 7.0]), np.array([True, True, False])
    place = (random.random((40, 3)) - 0.5) * box + [5.0, 0.0, 0.0]  # bodies that have gone round the box
    counts = PairCounts(box, 2.5, bins=20)
    counts.add(place, periodic)
    one, two = np.triu_indices(40, 1)
    apart = place[two] - place[one]
    apart -= np.where(periodic, box * np.round(apart / box), 0.0)
    assert np.array_equal(counts.counts, np.histogram(np.linalg.norm(apart, axis=1), counts.edges)[0])


def test_bodies_that_overlap_at_the_start_are_refused(start):
    with pytest.raises(ValueError, match="overlap"):
        HardBodies(dataclasses.replace(start, axes=start.axes * 1.2), np.full(3, EDGE))


def test_the_figure_of_a_packing_has_no_empty_panels():
    from saltus.views.kinds import view_of

    text = """
        kind = "bodies"
        box = { periodic = true }
        fill = { shape = { axes = [0.5, 0.5, 0.5] }, count = 32, temperature = 1.0, seed = 1 }
        compress = { rate = 0.5, compressibility = 20.0 }
    """
    data = scenarios.loads(text).simulate().to_dataset()
    assert float(data["pair_correlation"].max()) > 1.0
    drawn = [axes for axes in view_of(data).figure(data).axes if not hasattr(axes, "get_zlim")]
    assert [axes.get_title() for axes in drawn] == ["pair correlation"]


def series_of(rates: np.ndarray) -> Series:
    series = Series()
    for rate in rates:
        series.add(**dict.fromkeys(("duration", "heat", "translation", "rotation", "loss", "wall_impulse"), 1.0),
                   contacts=rate, virial=rate, order=0.5)  # fmt: skip
    return series


def test_a_measurement_that_began_too_early_is_told():
    noise = np.random.default_rng(3).standard_normal(400)
    assert drift(series_of(100.0 + noise)).verdict == "steady"
    late = drift(series_of(100.0 + noise + 10.0 * np.exp(-np.arange(400) / 80.0)))
    assert late.verdict == "drifting" and "changed by" in late.text()
    assert drift(series_of(noise[:40])).verdict == "unknown"


def test_what_is_said_of_a_gas_has_units_and_errors(start):
    gas = Gas(HardBodies(start, np.full(3, EDGE)))
    gas.equilibrate(300)
    gas.measure(8000)
    lines = dict(rows(summary(dataset_of(gas, Outcome("finished", "")))))
    assert lines["events"].endswith("none of them kept") and lines["deepest overlap"].endswith(" m")
    assert lines["pressure"].endswith(" Pa") and " +- " in lines["pressure"]
    assert lines["equilibration"].startswith("300 collisions; ")
    for name in ("mean squared displacement", "velocity autocorrelation", "pair correlation", "diffusion"):
        assert name in lines
