"""The studio as a user has it: started, used in a browser, and gone afterwards."""

import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.browser import until

pytestmark = [pytest.mark.slow]
pytest.importorskip("starlette", reason="the studio is not installed: pip install 'saltus[studio]'")
START = [sys.executable, "-c", "from saltus.cli.app import main; main()", "studio", "--no-browser"]


@pytest.fixture
def started():
    """A running studio and the address of its page."""
    process = subprocess.Popen([*START, "--patience", "30"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    address = re.search(r"http://\S+", process.stdout.readline()).group()
    yield process, address
    process.kill()
    process.communicate()


def test_pick_change_run_compare_save_and_a_wrong_number(browser, started):
    process, address = started
    page = browser.new_page(viewport={"width": 1300, "height": 800})
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    page.locator("[data-name=bowl]").click()
    page.wait_for_selector(".players .saltus", timeout=300_000)
    box = page.locator("input[data-key='masses.1.mass']")
    box.fill("3")
    box.press("Enter")
    page.wait_for_selector("[data-run='2']", timeout=60_000)
    page.locator(".beside").click()
    until(page, "studio.players.length === 2")
    page.evaluate("studio.players[0].clock.seek(5)")
    assert page.evaluate("studio.players[1].clock.t") == 5
    with page.expect_download() as saved:
        page.locator(".save-toml").click()
    assert "mass = 3" in Path(saved.value.path()).read_text(encoding="utf-8")
    with page.expect_download() as saved:
        page.locator(".save-html").click()
    assert Path(saved.value.path()).read_text(encoding="utf-8").startswith("<!doctype html>")
    box.fill("-3")
    box.press("Enter")
    until(page, "document.querySelector('.wrong').textContent.includes('must be > 0')")
    assert errors == []
    page.close()
    assert process.wait(timeout=120) == 0  # nobody looks any more
    assert process.stderr.read() == ""


def pressed(page, key, by):
    """Drag a handle by so many pixels."""
    box = page.locator(f"[data-drag='{key}']").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + by[0], y + by[1], steps=4)
    page.mouse.up()


def test_a_start_is_dragged_in_the_scene_and_an_ensemble_fills(browser, started):
    _process, address = started
    page = browser.new_page(viewport={"width": 1300, "height": 800})
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    page.locator("[data-name=bowl]").click()
    page.wait_for_selector(".handles.shown", timeout=300_000)
    before = page.evaluate("structuredClone(studio.scenario.data.masses)")
    pressed(page, "masses.0.position", (40, -20))
    page.wait_for_selector("[data-run='2']", timeout=60_000)
    until(page, "studio.shown[0] === 2 && document.querySelector('.handles.shown')")
    after = page.evaluate("studio.scenario.data.masses")
    assert after[0]["position"] != before[0]["position"] and after[1] == before[1]
    drawn = page.evaluate("[...studio.players[0].space.byName.masses.track.values.slice(0, 2)]")
    origin = page.evaluate("studio.players[0].data.scene.origin")
    assert [a + b for a, b in zip(drawn, origin[:2], strict=True)] == pytest.approx(after[0]["position"], abs=1e-6)
    assert page.locator("input[data-key='masses.0.position.0']").input_value() == f"{after[0]['position'][0]:.7g}"
    pressed(page, "masses.1.velocity", (-30, -30))
    page.wait_for_selector("[data-run='3']", timeout=60_000)
    assert page.evaluate("studio.scenario.data.masses[1].velocity") != before[1]["velocity"]
    page.locator("details.ensemble summary").click()
    page.get_by_label("samples").fill("64")
    page.locator(".start-many").click()
    page.wait_for_selector(".charts figure", timeout=300_000)
    page.wait_for_selector(".save-many", timeout=300_000)
    assert "64 of 64 samples" in page.locator(".many .status").text_content()
    assert page.locator(".charts .bin").count() > 10
    page.locator(".sample").first.click()
    page.wait_for_selector("[data-run='5']", timeout=60_000)
    assert "sample" in page.evaluate("studio.scenario.name")
    assert errors == []
    page.close()


def test_a_run_can_be_stopped_and_a_killed_studio_is_noticed(browser, started):
    process, address = started
    page = browser.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    page.locator("[data-name=gas]").click()
    until(page, "studio.current > 0")
    page.get_by_text("stop", exact=True).click()
    until(page, "document.querySelector('.wrong').textContent.includes('Stopped by hand')", seconds=100)
    page.get_by_text("Run", exact=True).click()
    until(page, "studio.current > 1")
    process.kill()
    page.wait_for_selector(".gone", timeout=30_000)
    assert "has ended" in page.locator(".gone").text_content()
    assert errors == []
    page.close()


def test_a_second_studio_finds_its_own_port_and_strangers_are_refused(started):
    _process, address = started
    second = subprocess.Popen(START, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        other = re.search(r"http://\S+", second.stdout.readline()).group()
        assert other.partition("?")[0] != address.partition("?")[0]
        where = address.partition("?")[0]
        refused = [
            urllib.request.Request(where),
            urllib.request.Request(where + "?" + other.partition("?")[2]),
            urllib.request.Request(address, headers={"Origin": "http://elsewhere.org"}),
            urllib.request.Request(address, headers={"Host": "elsewhere.org"}),
        ]
        for request in refused:
            with pytest.raises(urllib.error.HTTPError) as answer:
                urllib.request.urlopen(request)
            assert answer.value.code == 403
        assert urllib.request.urlopen(address).status == 200
    finally:
        second.kill()
        second.communicate()


def test_it_listens_on_this_machine_alone_and_ctrl_c_ends_it(started):
    process, address = started
    port = int(re.search(r":(\d+)/", address).group(1))
    for other in socket.gethostbyname_ex(socket.gethostname())[2]:
        if not other.startswith("127."):
            with pytest.raises(OSError), socket.create_connection((other, port), timeout=5):
                pass
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 0
    assert process.stderr.read() == ""


def test_ctrl_c_during_a_run_ends_it_too(browser, started):
    process, address = started
    page = browser.new_page()
    page.goto(address)
    page.locator("[data-name=ellipsoids]").click()
    until(page, "studio.current > 0")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 0
    page.close()
