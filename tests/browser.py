"""A real Chromium for the tests of pages; they are skipped where there is none."""

import shutil
from contextlib import contextmanager

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Pages are drawn by the processor: test machines have no graphics.
ARGUMENTS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist")


@pytest.fixture(scope="module")
def browser():
    """A running browser."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright"
    )
    path = next((found for found in map(shutil.which, BROWSERS) if found), None)
    if path is None:
        pytest.skip("no Chromium or Chrome is installed, so no page can be opened")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield opened
        opened.close()


@contextmanager
def opened(browser, where, width=640, height=480, **options):
    """A page without network; that it complains of nothing is checked at the end."""
    context = browser.new_context(viewport={"width": width, "height": height}, offline=True, **options)
    page = context.new_page()
    complaints, asked = [], []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(where)
    try:
        yield page
        assert complaints == []
        assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    finally:
        context.close()


def until(page, expression, seconds=60):
    """Wait until an expression is true in the page; pages forbid what `wait_for_function` does."""
    for _ in range(20 * seconds):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{expression} was not true within {seconds} s")
