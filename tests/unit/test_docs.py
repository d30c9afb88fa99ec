"""What is written runs: docstring examples, and the code of the README."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import saltus

ROOT = Path(__file__).parents[2]
MODULES = [
    module.name
    for module in pkgutil.walk_packages(saltus.__path__, "saltus.")
    if not module.name.endswith("__main__") and ">>> " in Path(importlib.util.find_spec(module.name).origin).read_text()
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0
    assert result.attempted > 0


@pytest.mark.slow
def test_the_code_of_the_readme_runs():
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
    names = {}
    exec(code, names)
    assert names["run"].outcome.name == "finished"
    assert {"rod_force", "position"} <= set(names["data"].variables)


def test_the_scenario_of_the_readme_is_valid():
    (text,) = re.findall(r"```toml\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
    assert saltus.scenarios.loads(text).kind == "sliding"


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda path: path.stem)
def test_links_between_pages_lead_somewhere(page):
    made = set(re.findall(r'"(\w+\.md)"', (ROOT / "docs" / "hooks.py").read_text()))  # written when the site is built
    for target in re.findall(r"\]\(([^)#]+\.md)", page.read_text()):
        assert (page.parent / target).exists() or target in made, target


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_links_to_files_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", (ROOT / page).read_text()):
        assert (ROOT / target).exists(), target


def test_the_code_of_the_page_on_friction_runs():
    text = (ROOT / "docs" / "friction.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    names = {}
    exec(code, names)
    assert float(names["answer"].force[0]) < 0.0
    kinds = []
    for table in re.findall(r"```toml\n(.*?)```", text, flags=re.S):
        whole = table if "[solve]" in table else f"{table}[solve]\nuntil = 1.0\n"
        kinds.append(saltus.scenarios.loads(whole).kind)
    assert kinds == ["plane_ball", "butterfly"]


# Pages that go on from the run of another page.
AFTER = {"events": "index", "results": "index"}


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda path: path.stem)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    before = ROOT / "docs" / f"{AFTER[page.stem]}.md" if page.parent.name == "docs" and page.stem in AFTER else None
    for one in (before, page):
        for code in re.findall(r"```python\n(.*?)```", one.read_text(), flags=re.S) if one else ():
            exec(code, names)
