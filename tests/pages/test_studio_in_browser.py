"""The studio as a user has it: started, used in a browser, and gone afterwards."""

import re
import signal
import socket
import subprocess
import sys
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
