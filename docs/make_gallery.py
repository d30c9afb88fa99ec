"""The catalogue as web pages, and its small pictures: `python docs/make_gallery.py [--pictures] [NAME ...]`.

Pages go to docs/gallery/ (they are made again rather than kept); pictures are kept in src/saltus/studio/pictures/, and
need Chromium.
"""

import io
import shutil
import sys
from pathlib import Path

from PIL import Image

from saltus import configure, views
from saltus.scenarios import entries, load

HERE = Path(__file__).resolve().parent
PAGES = HERE / "gallery"
PICTURES = HERE.parent / "src" / "saltus" / "studio" / "pictures"
# The scene alone, over the whole window.
BARE = """
.tools, .scale, .triad, header, .side, .controls { display: none !important }
.stage { border: 0 !important; position: fixed !important; inset: 0; width: 100vw; height: 100vh !important }
"""
HERO = ("bowl", "chain", "box-of-ellipsoids", "rails-to-rest")
SIZE, FRAMES, PAUSE = (400, 250), 28, 120  # pixels; frames; milliseconds between two of them


def write_page(name: str) -> Path:
    """Run a scenario and write its page, unless it is there already."""
    path = PAGES / f"{name}.html"
    if not path.exists():
        loaded = load(name)
        run = loaded.scenario.simulate()
        attributes = {"scenario": loaded.text, "scenario_name": loaded.name, "wall_time": run.wall_time}
        views.save_page(run.to_dataset(loaded.scenario.solve.samples, attributes=attributes), path)
    return path


def moving_picture(browser, page: Path, target: Path) -> None:
    """The scene of a page from start to rest, as a small animation."""
    opened = browser.new_page(viewport={"width": 860, "height": 640}, color_scheme="light")
    opened.goto(page.as_uri())
    opened.add_style_tag(content=BARE)
    opened.set_viewport_size({"width": 2 * SIZE[0], "height": 2 * SIZE[1]})
    opened.wait_for_timeout(400)
    opened.evaluate("player.draw()")
    frames = []
    for frame in range(FRAMES):
        opened.evaluate(
            f"player.clock.seek(player.clock.start + {frame / (FRAMES - 1)} * (player.clock.stop - player.clock.start))"
        )
        opened.wait_for_timeout(60)
        picture = Image.open(io.BytesIO(opened.locator(".stage").screenshot())).convert("RGB")
        frames.append(picture.resize(SIZE, Image.Resampling.LANCZOS))
    opened.close()
    durations = [PAUSE] * (FRAMES - 1) + [1200]
    frames[0].save(target, save_all=True, append_images=frames[1:], duration=durations, loop=0, quality=42, method=4)


def hero(target: Path) -> None:
    """Four runs in one picture, for the head of the README."""
    parts = [Image.open(PICTURES / f"{name}.webp") for name in HERO]
    frames = []
    for frame in range(FRAMES):
        sheet = Image.new("RGB", (2 * SIZE[0] + 6, 2 * SIZE[1] + 6), "white")
        for place, part in enumerate(parts):
            part.seek(frame)
            sheet.paste(part.convert("RGB"), ((place % 2) * (SIZE[0] + 6), (place // 2) * (SIZE[1] + 6)))
        frames.append(sheet)
    durations = [PAUSE] * (FRAMES - 1) + [1200]
    frames[0].save(target, save_all=True, append_images=frames[1:], duration=durations, loop=0, quality=45, method=4)


def main() -> None:
    """Make what is missing."""
    configure()
    names = [one for one in sys.argv[1:] if not one.startswith("-")] or list(entries())
    for folder in (PAGES, PICTURES):
        folder.mkdir(exist_ok=True)
    pages = {}
    for name in names:
        pages[name] = write_page(name)
        print(name, flush=True)
    if "--pictures" in sys.argv:
        from playwright.sync_api import sync_playwright

        chosen = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]
        with sync_playwright() as running:
            browser = running.chromium.launch(executable_path=shutil.which("chromium"), args=chosen)
            for name, page in pages.items():
                moving_picture(browser, page, PICTURES / f"{name}.webp")
                print(f"{name}.webp", flush=True)
        if set(HERO) & set(names):
            hero(HERE / "pictures" / "hero.webp")


if __name__ == "__main__":
    main()
