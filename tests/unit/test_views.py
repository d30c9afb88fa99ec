"""Figures and animations, from datasets made here: what is drawn, not how it looks."""

import re

import numpy as np
import pytest
import xarray as xr
from PIL import Image
from scipy.spatial import ConvexHull

from saltus import views
from saltus.errors import MissingExtraError
from saltus.views import base, bodies, ground_body, sliding
from saltus.views.ground import ground
from saltus.views.motion import moves_until


def dataset(masses=2, rods=1, events=True, ground_radius=1.0, samples=41):
    """Masses on circles in a bowl; all stop at t = 3 and the rod force is undefined from there."""
    time = np.linspace(0.0, 4.0, samples)
    time = np.sort(np.append(time[time != 3.0], [3.0, 3.0])) if events else time
    side = np.zeros(len(time), int)
    if events:
        side[np.flatnonzero(time == 3.0)] = [-1, 1]
    turn = np.minimum(time, 3.0)[:, None] + np.arange(masses)
    radius = 0.2 + 0.03 * np.arange(masses)
    x, y = radius * np.cos(turn), radius * np.sin(turn)
    position = np.stack([x, y, 1 - np.sqrt(1 - x**2 - y**2)], axis=-1)
    at_rest = (time > 3.0) | (side == 1)
    force = np.where(at_rest[:, None], np.nan, np.sin(time)[:, None] + np.arange(rods))
    ones = np.ones(len(time))
    data = xr.Dataset(
        {
            "position": (("time", "mass", "axis"), position),
            "rod_force": (("time", "rod"), force),
            "normal_force": (("time", "mass"), 10 * np.ones((len(time), masses))),
            "kinetic_energy": ("time", ones),
            "potential_energy": ("time", ones),
            "dissipated_energy": ("time", ones),
            "mode": (("time", "mass"), np.where(at_rest[:, None], 1, np.zeros(masses, int))),
            "jump_side": ("time", side),
            "event_time": ("event", [3.0] if events else []),
            "event_name": ("event", np.array(["stop"] if events else [], dtype=object)),
            "event_index": ("event", [0] if events else np.empty(0, int)),
        },
        {"time": time, "rod": [f"{i}-{i + 1}" for i in range(rods)]},
        {"kind": "sliding", "mode_names": "slip, stick"},
    )
    if ground_radius is None:
        return data
    x, y = np.meshgrid(*(np.linspace(-1.2, 1.2, 41) * np.abs(position).max() for _ in range(2)))
    inside = np.hypot(x, y) < ground_radius
    z = np.where(inside, ground_radius - np.sqrt(np.where(inside, ground_radius**2 - x**2 - y**2, 0.0)), np.nan)
    dims = ("ground_row", "ground_column")
    return data.assign(ground_x=(dims, x), ground_y=(dims, y), ground_height=(dims, z))


def titles(figure):
    return [axes.get_title(loc="left") for axes in figure.axes]


def test_a_constant_is_drawn_as_one_and_energies_high_up_are_seen():
    data = dataset()
    data["normal_force"] = 0.0 * data.normal_force + 18.2 + 1e-12 * data.time
    data["potential_energy"] = data.potential_energy + 1e6
    axes = {one.get_title(loc="left"): one for one in views.figure(data).axes}
    assert np.ptp(axes["reaction of the surface"].get_ylim()) > 0.1
    assert max(axes["energy (potential energy from its least)"].get_ylim()) < 1e5


def test_the_figure_has_a_panel_for_each_quantity():
    assert titles(views.figure(dataset())) == [
        "paths (hollow: start, filled: end)",
        "rod force (> 0 pushes the masses apart)",
        "reaction of the surface",
        "energy",
    ]


def test_without_rods_there_is_no_panel_for_them():
    assert titles(views.figure(dataset(masses=1, rods=0))) == [
        "paths (hollow: start, filled: end)",
        "height along the path",
        "reaction of the surface",
        "energy",
    ]


def test_more_masses_than_can_be_told_apart_share_a_colour_and_have_no_legend_of_names():
    paths, forces = (views.figure(dataset(masses=20, rods=0)).axes[k] for k in (0, 1))
    assert paths.get_title(loc="left").startswith("paths of 20 masses")
    assert [text.get_text() for text in paths.get_legend().get_texts()] == ["stop"]
    assert [text.get_text() for text in forces.get_legend().get_texts()] == ["largest", "mean", "least"]


def test_an_undefined_force_is_left_blank_and_said_so():
    axes = views.figure(dataset()).axes[1]
    times, values = axes.lines[0].get_data()
    assert np.isnan(values[times > 3.0]).all()
    assert np.isfinite(values[times < 3.0]).all()
    assert [text.get_text() for text in axes.texts] == ["undefined\n(at rest)"]


def test_lines_break_at_jumps():
    data = dataset()
    times, values = base.split_at_jumps(data, data["kinetic_energy"].values)
    assert len(times) == data.sizes["time"] + 1
    assert np.isnan(values).sum() == 1
    assert (np.diff(times) >= 0).all()


def test_events_are_marked_on_the_path_and_named():
    axes = views.figure(dataset()).axes[0]
    assert "stop" in [text.get_text() for text in axes.get_legend().get_texts()]
    place = dataset()["position"].values[dataset()["jump_side"].values == -1][0, 0, :2]
    marks = [line.get_xydata()[0] for line in axes.lines if line.get_marker() == "o" and len(line.get_xdata()) == 1]
    assert any(np.allclose(mark, place) for mark in marks)


def test_many_events_are_ticks_instead_of_lines():
    data = dataset()
    many = data.drop_dims("event").assign(
        event_time=("event", np.linspace(0.1, 2.9, 200)),
        event_name=("event", np.array(["stop"] * 200, dtype=object)),
        event_index=("event", np.zeros(200, int)),
    )
    assert len(views.figure(many).axes[3].lines) == 4 + 1


def test_a_run_without_a_surface_is_drawn_without_ground():
    data = dataset(ground_radius=None)
    assert ground(data) is None
    assert not views.figure(data).axes[0].collections
    views.animation(data)._draw_was_started = True  # matplotlib warns of animations that are never shown


def test_ground_that_ends_within_the_picture_is_drawn():
    data = dataset(ground_radius=0.27)
    assert np.isnan(ground(data).z).any()
    views.figure(data)


@pytest.mark.parametrize(("masses", "rods"), [(1, 0), (7, 6), (20, 19)])
def test_any_number_of_masses_can_be_drawn(tmp_path, masses, rods):
    views.save_figure(dataset(masses=masses, rods=rods), tmp_path / "a.png")
    assert Image.open(tmp_path / "a.png").size[0] > 1000


def test_a_mass_that_never_moves_can_be_drawn(tmp_path):
    data = dataset(masses=1, rods=0, events=False)
    data["position"][:] = data["position"][0]
    views.save_figure(data, tmp_path / "a.pdf")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")


def test_the_animation_moves_and_ends_at_the_end(tmp_path):
    told = []
    views.save_animation(dataset(samples=9), tmp_path / "a.gif", progress=lambda done, remark: told.append(done))
    animation = Image.open(tmp_path / "a.gif")
    assert len(told) == 10 + base.HELD and told[-1] == 1.0
    assert 5 < animation.n_frames <= 11  # frames that are alike are stored once, for longer
    first = np.asarray(animation.convert("RGB")).astype(int)
    animation.seek(5)
    assert (np.abs(np.asarray(animation.convert("RGB")) - first) > 60).any()


def test_an_animation_ends_when_nothing_moves_and_says_how_fast_it_is():
    data = dataset(samples=401)
    drawing = views.animation(data)._fig
    assert 3.0 < moves_until(data) < 3.2  # all stop at t = 3 of 4
    shown = [text.get_text() for text in drawing.texts]
    assert any(re.fullmatch(r"1/\d.* of real time", text) for text in shown)
    assert [base.pace_text(pace) for pace in (1.0, 0.05, 12.0)] == ["real time", "1/20 of real time", "12 × real time"]


def test_frames_are_evenly_spaced_in_time():
    rows = base.frame_times(dataset(), 5)
    np.testing.assert_allclose(dataset().time.values[rows], [0.0, 1.0, 2.0, 3.0, 4.0])
    assert dataset().jump_side.values[rows[3]] == 1  # after the jump


def test_rod_ends_come_from_the_labels():
    assert sliding.rod_ends(dataset(masses=3, rods=2)) == [(0, 1), (1, 2)]


def test_an_mp4_needs_ffmpeg(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingExtraError, match="ffmpeg"):
        views.save_animation(dataset(samples=5), tmp_path / "a.mp4")
    assert list(tmp_path.iterdir()) == []


def test_a_system_without_a_view_of_its_own_is_drawn_as_quantities_over_time():
    drawn = views.figure(dataset().assign_attrs(kind="other"))
    assert drawn.axes[-1].get_xlabel() == "time [s]" and len(drawn.axes) > 1


def test_what_is_not_a_run_is_not_drawn():
    with pytest.raises(ValueError, match="not the dataset of a run"):
        views.figure(dataset().drop_vars("jump_side"))


def test_friction_laws_are_drawn_beside_the_exact_one(tmp_path):
    from saltus.views import friction as pictures

    drawn = pictures.comparison("punch")
    forces, errors = drawn.axes[0], drawn.axes[3]
    assert [line.get_label() for line in forces.get_lines()[:2]] == ["exact", "Pade (Kireenkov)"]
    # The paper's model is too weak by 0.183 of the force with a flat punch.
    assert errors.get_lines()[0].get_ydata().min() == pytest.approx(-0.183, abs=1e-3)
    for name, picture in (("pressures", pictures.pressures(["hertz", 3.0])), ("surface", pictures.limit_surface())):
        picture.savefig(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 5000


def test_the_outline_of_a_body_is_its_hull():
    mesh = bodies.surface(np.array([1.0, 0.6, 0.3]), np.array([2.0, 2.0, 2.0]), 12)
    x, z = ground_body._outline(mesh[..., 0], mesh[..., 2])
    area = 0.5 * abs(np.sum(x * np.roll(z, -1) - z * np.roll(x, -1)))
    hull = ConvexHull(np.stack([mesh[..., 0].ravel(), mesh[..., 2].ravel()], axis=-1))
    assert area == pytest.approx(hull.volume, rel=1e-12)  # the "volume" of a plane hull is its area
