"""The page of a run, opened in a browser without network: what it shows is what the dataset has."""

import json
import re
import types

import numpy as np
import pytest

from saltus import views
from saltus.views.pages import ensemble
from saltus.views.pages.arrays import chosen_rows
from saltus.views.pages.document import document
from tests.browser import opened, until
from tests.pages.looks import drawn_share, in_space, shown_places
from tests.pages.made import JUMP, MADE


@pytest.fixture
def written(request, tmp_path):
    """The dataset of a kind, and its page."""
    data = MADE[request.param]()
    path = tmp_path / "run.html"
    views.save_page(data, path)
    return data, path.as_uri()


@pytest.mark.parametrize("written", [name for name in MADE if name != "own"], indirect=True)
def test_a_page_opens_offline_and_shows_the_bodies_where_the_dataset_has_them(browser, written):
    data, where = written
    with opened(browser, where) as page:
        share, colours = drawn_share(page)
        assert share > 0.005 and colours > 5
        places = in_space(data)
        for row in (0, 5, len(places) - 1):
            page.evaluate(f"player.clock.seek({float(data.time[row])!r})")
            # Coordinates are kept in float32 from the middle of the scene.
            np.testing.assert_allclose(shown_places(page), places[row], atol=1e-5)


@pytest.mark.parametrize("written", ["bodies"], indirect=True)
def test_the_drawn_bodies_are_turned_and_placed_as_in_the_dataset(browser, written):
    data, where = written
    with opened(browser, where) as page:
        page.evaluate(f"player.clock.seek({float(data.time[7])!r})")
        for body in range(2):
            matrix = (
                np.array(
                    page.evaluate(
                        f"(() => {{ const m = new THREE.Matrix4(); player.space.byName.bodies.meshes[{body}].mesh"
                        ".getMatrixAt(0, m); return m.elements; })()"
                    )
                )
                .reshape(4, 4)
                .T
            )
            scale, middle = page.evaluate("player.space.scale"), np.array(page.evaluate("player.space.middle"))
            np.testing.assert_allclose(matrix[:3, 3] / scale + middle, data["position"].values[7, body], atol=1e-6)
            w, x, _, _ = data["quaternion"].values[7, body]
            turned = [[1, 0, 0], [0, w * w - x * x, -2 * w * x], [0, 2 * w * x, w * w - x * x]]
            np.testing.assert_allclose(matrix[:3, :3], turned, atol=1e-6)


@pytest.mark.parametrize("written", ["sliding"], indirect=True)
def test_the_next_event_stops_before_and_then_after_the_jump(browser, written):
    _, where = written
    with opened(browser, where) as page:
        page.get_by_label("next event (n)").click()
        assert page.evaluate("[player.clock.t, player.clock.side]") == [JUMP, "before"]
        assert "stop" in page.locator(".what").text_content()
        assert page.evaluate("player.modeText()") == "slip, slip"
        page.keyboard.press("n")
        assert page.evaluate("[player.clock.t, player.clock.side]") == [JUMP, "after"]
        assert page.evaluate("player.modeText()") == "stick, slip"
        page.keyboard.press("p")
        page.keyboard.press("p")
        assert page.evaluate("player.clock.t") == 0.0


@pytest.mark.parametrize("written", ["rails"], indirect=True)
def test_play_moves_the_ball_and_states_its_speed(browser, written):
    data, where = written
    with opened(browser, where) as page:
        assert page.locator(".speed").text_content() == "1/10 of real time"
        page.keyboard.press("+")
        assert page.locator(".speed").text_content() == "1/5 of real time"
        page.get_by_label("play or pause (space)").click()
        until(page, "player.clock.t > 0.02")
        page.keyboard.press("Home")
        page.keyboard.press("Space")
        until(page, "player.clock.t > 0.05")
        page.evaluate("player.clock.pause()")
        t = page.evaluate("player.clock.t")
        expected = np.interp(t, data.time, data["position"].values[:, 0])
        assert shown_places(page)[0, 0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("written", ["bodies"], indirect=True)
def test_the_event_table_goes_to_its_event_and_all_tabs_open(browser, written):
    data, where = written
    with opened(browser, where, width=400, color_scheme="dark", has_touch=True) as page:
        assert page.evaluate("player.root.dataset.theme") == "dark"
        page.get_by_role("tab", name="Events (1)").click()
        page.locator("tbody tr").first.click()
        assert page.evaluate("player.clock.t") == JUMP
        assert "2.5" in page.locator("tbody tr").first.text_content()
        page.get_by_role("tab", name="Scenario").click()
        assert page.locator("pre").text_content() == data.attrs["scenario"].strip()
        page.get_by_role("tab", name="About").click()
        assert "Reached t = 1 s." in page.locator(".about").text_content()
        page.get_by_label("light or dark").click()
        assert page.evaluate("player.root.dataset.theme") == "light"
        assert page.evaluate("document.documentElement.scrollWidth") <= 400


@pytest.mark.parametrize("written", ["sliding"], indirect=True)
def test_a_scene_of_a_new_size_is_never_seen_empty(browser, written):
    _, where = written
    with opened(browser, where) as page:
        # In the moment of the change, before the next frame.
        resized = "(player.space.parent.style.height = '300px', player.space.resize())"
        assert drawn_share(page, f"Promise.resolve({resized})")[0] > 0.005


@pytest.mark.parametrize("written", ["own"], indirect=True)
def test_a_system_of_ones_own_gets_a_page_of_its_quantities(browser, written):
    _, where = written
    with opened(browser, where) as page:
        assert page.evaluate("player.space") is None
        assert page.locator(".panel h3").all_text_contents() == ["height [m]"]
        page.keyboard.press("n")
        assert page.evaluate("player.clock.t") == JUMP
        assert page.locator(".legend output").first.text_content() == f"{np.sin(JUMP):.4f}"


def test_a_page_holds_no_markup_of_the_scenario():
    text = views.page(MADE["sliding"]())
    assert "<script>alert" not in text
    assert re.search(r"https?://(?!www\.w3\.org)", text.partition('id="data"')[2].partition("</script>")[0]) is None
    assert json.loads(text.partition('id="data">')[2].partition("</script>")[0])["title"] == "made sliding"


def test_a_kind_with_something_missing_still_gets_a_page():
    data = MADE["chain"]().drop_vars("tension")
    assert document(data)["curves"]["panels"]


def test_rows_are_thinned_evenly_and_keep_both_sides_of_jumps():
    data = MADE["sliding"]()
    rows = chosen_rows(data, 10)
    assert len(rows) <= 14 and rows[0] == 0 and rows[-1] == data.sizes["time"] - 1
    side = data["jump_side"].values[rows]
    assert side.tolist().count(-1) == side.tolist().count(1) == 1


def test_the_page_of_an_ensemble_plays_its_samples(browser, tmp_path):
    nothing = {name: () for name in ("outcomes", "parameters", "columns", "sensitivity", "curves")}
    facts = {
        "store": "a.zarr",
        "kind": "sliding",
        "done": 9,
        "samples": 9,
        "design": "random",
        "seed": 1,
        "remarks": [],
    }
    runs = [("least run out", document(MADE["sliding"]())), ("largest run out", document(MADE["bodies"](), 0.5))]
    summary = types.SimpleNamespace(facts=facts, **nothing)
    path = tmp_path / "ensemble.html"
    path.write_text(ensemble.page(summary, ensemble.Pictures(samples=runs)), "utf-8")
    with opened(browser, path.as_uri(), width=1000, height=800) as page:
        assert page.locator(".choices button").count() == 2
        assert drawn_share(page)[0] > 0.005
        page.locator(".choices button").nth(1).click()
        until(page, "player.data.kind === 'bodies'")
        page.keyboard.press("n")
        assert page.evaluate("player.clock.t") == JUMP
        assert drawn_share(page)[0] > 0.005
        assert page.locator(".choices [aria-pressed=true]").text_content().endswith("largest run out")


def test_a_column_is_named_in_words():
    assert ensemble.label_of("final_position.1.2 [m]") == "final position, 1, z [m]"
    assert ensemble.label_of("largest_speed [m s-1]") == "largest speed [m/s]"
    assert ensemble.label_of("events") == "events"


def test_averages_that_were_not_measured_are_left_out():
    data = MADE["bodies"]().assign(
        pressure=((), 2.5, {"units": "Pa", "long_name": "pressure"}),
        pressure_error=((), 0.125, {"units": "Pa"}),
        order=((), np.nan, {"units": "1", "long_name": "nematic order"}),
    )
    told = dict(document(data)["facts"])
    assert told["pressure"] == "2.5 ± 0.12 Pa" and "nematic order" not in told
