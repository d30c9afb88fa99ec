"""The examples run, assert their numbers, stay short, and draw a figure."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example), run_name="__main__")
    assert list(tmp_path.glob("*.png"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_explains_itself(example):
    text = example.read_text()
    assert len(text.splitlines()) < 60
    assert text.startswith('"""') and "Notice" in text.split('"""')[1]
    assert "assert " in text


def test_there_are_examples():
    assert len(EXAMPLES) >= 5
