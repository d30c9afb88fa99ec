"""Run the examples and keep one picture of each for the gallery: `python docs/make_pictures.py [NAME ...]`."""

import runpy
import sys
import tempfile
from contextlib import chdir
from pathlib import Path

from PIL import Image

from saltus import configure

HERE = Path(__file__).resolve().parent
WIDTH = 900  # pixels


def main() -> None:
    configure()
    wanted = sys.argv[1:]
    sys.argv[1:] = []
    for example in sorted((HERE.parent / "examples").glob("*.py")):
        if wanted and example.stem not in wanted:
            continue
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            runpy.run_path(str(example), run_name="__main__")
            drawn = sorted(Path(folder).glob("*.png"), key=lambda path: path.stat().st_mtime)[0]
            with Image.open(drawn) as picture:
                height = round(picture.height * WIDTH / picture.width)
                small = picture.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS)
                small.quantize(256).save(HERE / "pictures" / f"{example.stem}.png", optimize=True)
        print(example.stem)


if __name__ == "__main__":
    main()
