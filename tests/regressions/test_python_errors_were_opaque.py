"""Wrong arguments from Python ended in errors of the libraries underneath; each is one sentence with a remedy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import saltus as sl

BOWL = sl.surfaces.Sphere(radius=1.0)
BALL = sl.shapes.Ellipsoid([1.0, 1.0, 2.0])


@pytest.fixture(scope="module")
def mass():
    return sl.systems.SlidingMasses(BOWL, [1.0], mu=0.0)


@pytest.mark.parametrize(
    "wrong, words",
    [
        (lambda: sl.systems.SlidingMasses("sphere", [1.0], mu=0.1), "`surface` must be a Surface, got 'sphere'."),
        (lambda: sl.systems.Raft("sphere", [1.0], mu=0.1), "`surface` must be a Surface, got 'sphere'."),
        (lambda: sl.systems.SlidingMasses(BOWL, [1.0], mu="much"), "`mu` must be a number >= 0, got 'much'."),
        (lambda: sl.systems.SlidingMasses(BOWL, [1.0, 1.0], [0, 1], mu=0.1), "`rods` must be pairs of masses"),
        (lambda: sl.systems.RigidBodies([BALL]), "`bodies[0]` must be a Body, got a Ellipsoid."),
        (lambda: sl.systems.RigidBodies(BALL), "`bodies` must be several bodies, got a Ellipsoid."),
        (lambda: sl.systems.BallOnPlane(1.0, 0.5, law="coulomb"), "`law` must be a FrictionLaw, got 'coulomb'."),
        (lambda: sl.systems.BallOnRails(1.0, 0.5, 0.5, law=0.2), "`law` must be a FrictionLaw, got 0.2."),
        (lambda: sl.surfaces.Graph(lambda x, y: np.sin(x) + y**2), "write jnp.sin for np.sin"),
        (lambda: sl.surfaces.Graph(lambda x, y: x if x > 0 else y), "jnp.where for if"),
        (lambda: sl.surfaces.Graph(lambda x: x**2), "must be a function of x and y"),
        (lambda: sl.surfaces.Graph(lambda x, y: jnp.array([x, y])), "must give one number"),
        (lambda: sl.simulate(BOWL, None, until=1.0), "`system` must be a HybridSystem, got a Sphere."),
        (lambda: sl.scenarios.load(5), "A scenario is a TOML file, a name of `saltus list`, TOML text, a dictionary"),
        (lambda: sl.scenarios.load({"kind": "slding"}), "Did you mean 'sliding'?"),
    ],
)
def test_wrong_arguments_are_told_in_one_sentence(wrong, words):
    with pytest.raises((TypeError, ValueError)) as caught:
        wrong()
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_a_start_that_is_no_state_is_named(mass):
    with pytest.raises(TypeError, match=r"`start` must be a State, got a list. Build it with system.start"):
        sl.simulate(mass, [0.1, 0.2], until=1.0)


def test_a_traced_simulation_names_replay(mass):
    def end(speed):
        return sl.simulate(mass, mass.start([[0.3, 0.0]], jnp.array([[0.0, speed]])), until=0.1).end.q[0, 0]

    with pytest.raises(TypeError, match=r"differentiate run.replay\(system, start\)"):
        jax.grad(end)(1.0)


def test_scenarios_in_every_form_are_the_same():
    loaded = sl.scenarios.load("bowl-ensemble")
    same = [loaded, loaded.scenario, loaded.text, loaded.scenario.model_dump(exclude_unset=True, exclude_none=True)]
    texts = [sl.scenarios.load(one).text for one in same]
    assert all(sl.scenarios.loads(text) == loaded.scenario for text in texts)
    assert sl.scenarios.load(loaded, ["solve.until=3.0"]).scenario.solve.until == 3.0


def test_an_ensemble_takes_a_scenario_object(tmp_path):
    short = sl.scenarios.load("bowl-ensemble", ["solve.until=0.05"]).scenario
    assert sl.ensemble(short, tmp_path / "a.zarr", samples=2).sizes["sample"] == 2
