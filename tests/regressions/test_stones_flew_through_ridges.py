"""Bodies flew through ridges that lay between two looks of a long step in flight, and ended in the air.

A flight is followed exactly by steps of any length, so these grew until the guard of the landing was looked at tens of
metres apart. Whether a ball bounced off a ridge depended on when the run was to end. And borders that mean a contact
(a disc on its face, ground that curves as much as the body) ended runs of bodies that were far above the ground.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saltus import simulate
from saltus.engines import batch, steppers
from saltus.engines.step_control import steps_of
from saltus.hybrid import AbstractSystem, Guard, Quantity, Rate, State
from saltus.scenarios.loader import loads

RIDGE = """
kind = "ground_body"
[surface]
type = "expression"
z = "2*exp(-(x-c)**2/(2*s**2))"
parameters = {{ c = 30.0, s = {width} }}
[body]
shape = {{ radius = 0.1 }}
mass = 2.0
height = 0.5
velocity = [{speed}, 0.0, {rise}]
[friction]
mu = 0.5
model = "coulomb"
[impact]
restitution = 0.5
[solve]
until = {until}
"""


@pytest.mark.parametrize("until", [0.6, 2.0, 8.0])
@pytest.mark.parametrize("width", [0.1, 0.3, 1.0])
def test_a_ball_bounces_off_a_ridge_whenever_the_run_ends(width, until):
    speed, arrival = 60.0, 0.5
    text = RIDGE.format(width=width, speed=speed, rise=9.81 * arrival / 2, until=until)
    run = loads(text).simulate()
    assert run.events[0].name == "landing" and run.events[0].t < arrival
    assert np.asarray(run.events[0].after.v.velocity)[0] < 0.5 * speed


@pytest.mark.parametrize("until", [1.7, 8.0])
def test_a_block_does_not_fly_through_a_dam_of_a_map(tmp_path, until):
    x, arrival = 2.0 * np.arange(101), 40.0 / 30.0
    heights = np.broadcast_to(5.0 * np.exp(-((x - 100.0) ** 2) / 8.0), (31, 101))
    rows = "\n".join(" ".join(f"{z:.6f}" for z in row) for row in heights)
    head = "ncols 101\nnrows 31\nxllcenter 0\nyllcenter 0\ncellsize 2\n"
    (tmp_path / "dam.asc").write_text(f"{head}{rows}\n")
    text = RIDGE.format(width=1.0, speed=30.0, rise=9.81 * arrival / 2, until=until)
    surface = f'type = "terrain"\nfile = "{tmp_path / "dam.asc"}"\n[body]\nposition = [60.0, 30.0]'
    text = text[: text.index("type")] + surface + text[text.index("[body]") + len("[body]") :]
    run = loads(text.replace("radius = 0.1", "axes = [0.5, 0.4, 0.35]")).simulate()
    assert run.events[0].name == "landing" and run.events[0].t < arrival
    assert np.asarray(run.to_dataset(801)["gap"]).min() > -1e-9


def test_a_disc_that_is_level_in_the_air_does_not_lie_on_its_face():
    text = """
kind = "ground_body"
[surface]
type = "plane"
[body]
shape = { disc = 0.1, rounding = 0.005 }
mass = 1.0
height = 0.5
quaternion = [1.0, 0.3, 0.2, 0.1]
[friction]
mu = 0.3
model = "coulomb"
rolling_friction = 0.001
[impact]
restitution = 0.5
[solve]
until = "rest"
"""
    run = loads(text).simulate()
    in_the_air = int(run.end.mode) == run.system.mode_names.index("flight")
    assert not (run.outcome.name == "lies_flat" and in_the_air)


def test_a_body_in_the_air_is_not_told_to_touch_in_several_places():
    text = RIDGE.format(width=0.1, speed=20.0, rise=1.0, until=0.3).replace("c = 30.0", "c = 3.0")
    run = loads(text.replace("height = 0.5", "height = 1.0")).simulate()
    assert run.outcome.name == "finished"


class Runner(AbstractSystem):
    """A point that runs evenly towards a thin wall, which it says to be no thinner than 0.1 m."""

    kind: ClassVar[str] = "runner"
    wall: jax.Array | None

    def rate(self, state):
        return Rate(state.v, jnp.zeros(1), state.ledger)

    def guards(self):
        return (Guard("wall", lambda s: 1.0 - 2.0 * jnp.exp(-(((s.q[0] - self.wall) / 0.1) ** 2)), ends="finished"),)

    def look_interval(self, state):
        return 0.1 / jnp.abs(state.v[0])

    def quantities(self):
        return {"place": Quantity((), "m", "place")}

    def observe(self, state):
        return {"place": state.q[0]}


def test_a_system_says_how_near_looks_must_be_for_one_run_and_for_many():
    walls, start = np.linspace(3.0, 40.0, 5), State.of(0.0, [0.0], [1.0], jnp.zeros(0), 0)
    wanted = walls - 0.1 * np.sqrt(np.log(2.0))
    alone = [simulate(Runner(jnp.asarray(wall)), start, 100.0, rtol=1e-8, atol=1e-10) for wall in walls]
    assert [float(run.end.t) for run in alone] == pytest.approx(wanted, rel=1e-12)
    starts = jax.tree.map(lambda x: jnp.broadcast_to(x, (len(walls), *x.shape)), start)
    control = steps_of(1e-8, 1e-10, None, 0.0)
    settings = batch.BatchSettings(steppers.stepper("dopri8"), control, lambda *_: jnp.zeros(0), 100, 10_000)
    together = batch.run(Runner(jnp.asarray(walls)), Runner(None), starts, 100.0, settings)
    assert together.state.t == pytest.approx(wanted, rel=1e-12)


def test_a_body_that_was_seen_inside_the_ground_is_told():
    """A ridge a hundred times narrower than the body may be overlooked, but not without a word."""
    text = RIDGE.format(width=0.004, speed=60.0, rise=9.81 * 0.5 / 2, until=2.0).replace("radius = 0.1", "radius = 0.5")
    run = loads(text).simulate()
    dataset = run.to_dataset(times=2001)
    assert float(dataset["gap"].min()) < -1.0
    assert dataset.attrs["outcome"] == "overlap" and "inside the ground" in dataset.attrs["outcome_message"]
    wide = loads(RIDGE.format(width=1.0, speed=60.0, rise=9.81 * 0.5 / 2, until=2.0)).simulate()
    assert wide.to_dataset(times=2001).attrs["outcome"] == "finished"
