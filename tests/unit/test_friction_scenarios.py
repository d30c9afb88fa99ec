"""Balls on planes, rails and plates from scenarios: wrong input, choice of the method, what users can ask for."""

import pytest

from saltus import scenarios
from saltus.cli import app

RAILS = """
kind = "rails"
mass = 1.0
radius = 0.5
half_angle = 0.5
friction = { mu = 0.25, spot_radius = 0.05 }
[start]
velocity = 2.0
[solve]
until = 1.0
"""

BUTTERFLY = """
kind = "butterfly"
mass = 0.05
radius = 0.025
half_angle = 0.3
profile = { type = "butterfly", a = 0.11, b = 0.03 }
turning = { type = "sinusoid", amplitude = 0.1, frequency = 4.0 }
friction = { mu = 0.5, model = "coulomb" }
[solve]
until = 0.5
"""

PLANE = """
kind = "plane_ball"
mass = 0.17
radius = 0.0286
friction = { mu = 0.2, spot_radius = 0.004 }
[start]
velocity = [1.5, 0.0]
[solve]
until = 0.5
"""

WRONG = [
    (RAILS, "friction.mu=-0.1", "friction.mu"),
    (RAILS, "friction.spot_radius=-0.05", "friction.spot_radius"),
    (RAILS, "radius=-0.5", "radius"),
    (RAILS, "mass=0.0", "mass"),
    (RAILS, "friction.sliding_shift=1.2", "friction.sliding_shift"),
    (RAILS, "friction.rolling_shift=-0.1", "friction.rolling_shift"),
    (RAILS, "friction.pressure=1.0", "gamma"),
    (RAILS, "friction.pressure=0.5", "gamma"),
    (RAILS, "friction.pressure=hetrz", "Did you mean 'hertz'?"),
    (RAILS, "friction.model=exakt", "friction.model"),
    (RAILS, "half_angle=-0.1", "half_angle"),
    (RAILS, "half_angle=1.5707963267948966", "half_angle"),
    (RAILS, "friction.spot_radius=0.6", "spot_radius"),
    (RAILS, "friction.reference_load=0.0", "friction.reference_load"),
    (RAILS, "friction.muh=0.1", "mu"),
    (PLANE, "friction.mu=-0.1", "friction.mu"),
    (PLANE, "radius=-1.0", "radius"),
    (PLANE, "start.velocity=[1.0]", "start.velocity"),
    (BUTTERFLY, "half_angle=1.6", "half_angle"),
    (BUTTERFLY, "half_angle=-0.01", "half_angle"),
    (BUTTERFLY, "profile.b=0.12", "radius of the profile must be > 0"),
    (BUTTERFLY, "radius=0.2", "too sharply curved for the ball"),
    (BUTTERFLY, "turning.type=circle", "turning"),
]


@pytest.mark.parametrize(("text", "change", "words"), WRONG, ids=[change for _, change, _ in WRONG])
def test_wrong_input_is_one_sentence_and_nothing_is_written(text, change, words, tmp_path, capsys):
    path = tmp_path / "case.toml"
    path.write_text(text)
    assert app.call(["run", str(path), "--set", change, "--out", str(tmp_path / "run.nc"), "--quiet"]) == 2
    told = capsys.readouterr()
    assert words in told.err and told.out == ""
    assert len(told.err.strip().splitlines()) == 1 and "Traceback" not in told.err
    assert [file.name for file in tmp_path.iterdir()] == ["case.toml"]


def test_shifts_that_would_pull_at_the_rim_are_refused(tmp_path, capsys):
    path = tmp_path / "case.toml"
    path.write_text(RAILS)
    changes = ["--set", "friction.sliding_shift=-0.7", "--set", "friction.rolling_shift=0.7"]
    assert app.call(["run", str(path), *changes]) == 2
    assert "must not exceed 1 together" in capsys.readouterr().err


def test_every_pressure_model_and_option_builds_its_law():
    import saltus as sl

    def law(**friction):
        table = ", ".join(f"{key} = {value}" for key, value in {"mu": 0.25, "spot_radius": 0.05, **friction}.items())
        text = RAILS.replace("{ mu = 0.25, spot_radius = 0.05 }", f"{{ {table} }}")
        return scenarios.loads(text).friction.build()

    assert type(scenarios.loads(RAILS).build()[0].law) is type(law())
    assert float(law().pressure.gamma) == 2.5
    assert float(law(pressure="'punch'").pressure.gamma) == 1.5
    assert float(law(pressure=40.0).pressure.gamma) == 40.0
    assert isinstance(law(model="'pade'", lateral_shift="true"), sl.laws.friction.Pade)
    assert isinstance(law(model="'elliptic_cone'"), sl.laws.friction.EllipticCone)
    assert float(law(reference_load=5.0).radius(40.0)) == pytest.approx(0.1, rel=1e-15)
    point = scenarios.loads(RAILS.replace("spot_radius = 0.05", "model = 'coulomb'")).build()[0]
    assert point.point and isinstance(point.law, sl.laws.friction.Coulomb)


def test_small_spots_with_shifted_pressure_on_a_plane_need_no_implicit_method():
    small = scenarios.loads(PLANE.replace("0.004", "1e-6, rolling_shift = 0.2"))
    assert small.build()[0].method == "dopri8"
    run = small.simulate()
    assert run.outcome.name == "finished" and run.trajectory.steps < 1000


def test_rails_without_an_angle_are_a_plane():
    assert scenarios.loads(RAILS.replace("half_angle = 0.5", "half_angle = 0.0")).build()[0].kind == "plane_ball"
