"""Every scenario of the catalogue as a page in a browser; the runs are real, so all of this is slow."""

import numpy as np
import pytest

from saltus import views
from saltus.scenarios import entries, load
from tests.browser import opened

pytestmark = [pytest.mark.slow, pytest.mark.optimised]
LARGEST = 5_000_000  # bytes of a page


@pytest.mark.parametrize("name", entries())
def test_the_page_of_a_catalogue_entry_is_small_and_shows_the_run(browser, name, tmp_path):
    loaded = load(name)
    run = loaded.scenario.simulate()
    data = run.to_dataset(
        loaded.scenario.solve.samples, attributes={"scenario": loaded.text, "scenario_name": loaded.name}
    )
    path = tmp_path / "run.html"
    views.save_page(data, path)
    assert path.stat().st_size < LARGEST
    with opened(browser, path.as_uri()) as page:
        assert page.locator("h1").text_content() == name
        assert page.locator("header p").text_content() == entries()[name].description
        assert page.evaluate("player.data.scene !== null")
        if data.sizes["event"]:
            page.keyboard.press("n")
            first = float(data["event_time"].values.min())
            assert page.evaluate("player.clock.t") in (first, float(data.time[0]))
        if data["position"].shape[-1] == 3 and "period" not in data.attrs:
            page.evaluate("player.clock.seek(player.clock.end)")
            now = np.array(page.evaluate("[...player.space.parts.find(part => part.now).now]")).reshape(-1, 3)
            size = np.ptp(data["position"].values.reshape(-1, 3), axis=0).max() or 1.0
            places = data["position"].values[-1].reshape(-1, 3)
            np.testing.assert_allclose(now + page.evaluate("player.data.scene.origin"), places, atol=1e-5 * size)
