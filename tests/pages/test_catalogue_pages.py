"""Every scenario of the catalogue as a page in a browser; the runs are real, so all of this is slow."""

import numpy as np
import pytest

from saltus import views
from saltus.scenarios import entries, load
from tests.browser import opened, until
from tests.pages.looks import drawn_share, in_space, shown_places

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
        share, colours = drawn_share(page)
        assert share > 0.003 and colours > 3
        times, events = data["time"].values, np.unique(data["event_time"].values)
        later = events[events > times[0]]
        page.keyboard.press("n")
        assert page.evaluate("player.clock.t") == (later[0] if len(later) else times[-1])
        places, period = in_space(data), "period" in data.attrs and data.attrs["period"] != "[]"
        size = np.ptp(places.reshape(-1, 3), axis=0).max() or 1.0
        for row, key in () if period else ((0, "Home"), (-1, "End")):
            page.keyboard.press(key)
            np.testing.assert_allclose(shown_places(page), places[row], atol=1e-5 * size)
        if page.evaluate("player.clock.stop > player.clock.start"):
            page.keyboard.press("Home")
            page.keyboard.press("Space")
            until(page, "player.clock.t > player.clock.start")
