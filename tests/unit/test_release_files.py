"""What a release needs: one version everywhere, data in the wheel, types, a doctor, a public list that is true."""

import importlib
import json
import re
import runpy
import subprocess
import sys
import tarfile
import tomllib
import types
import zipfile
from pathlib import Path

import pytest

import saltus
from saltus.cli import app, doctor
from saltus.diagnostics import self_test

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_there_is_one_version():
    assert saltus.__version__ == PROJECT["version"]
    assert f"version: {PROJECT['version']}\n" in (ROOT / "CITATION.cff").read_text()
    assert f'{{% set version = "{PROJECT["version"]}" %}}' in (ROOT / "conda" / "meta.yaml").read_text()
    assert f"## {PROJECT['version']}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_version_is_told(capsys):
    assert app.call(["--version"]) == 0
    assert capsys.readouterr().out == f"saltus {saltus.__version__}\n"


def test_the_programs_of_the_doctors_test_can_be_kept():
    """So that it takes a moment: a system made of functions cannot be told by name, and is traced in every process."""
    from saltus.programs.text import write

    assert "saltus.diagnostics.self_test.Ball" in write(self_test.Ball())


def test_the_recipe_asks_for_what_the_package_asks_for():
    recipe = (ROOT / "conda" / "meta.yaml").read_text().split("  run:\n")[1].split("\ntest:")[0]
    asked = {"".join(line.split()[1:]).lower() for line in recipe.splitlines() if line.strip()} - {"python>=3.11"}
    named = {one.replace("matplotlib-base", "matplotlib").replace("python-flatbuffers", "flatbuffers") for one in asked}
    assert named == {one.lower() for one in PROJECT["dependencies"]}


def test_the_doctor_finds_the_extras_of_the_package():
    ours = set(PROJECT["optional-dependencies"]) - {"test", "lint", "docs", "bench", "dev"}
    assert set(doctor.EXTRAS) == ours


def test_the_doctor_tells_versions_device_cache_and_a_test(capsys):
    assert app.call(["doctor", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["works"] and facts["self_test"]["error"] < 1e-12
    assert facts["packages"]["jax"] and "cpu" in facts["device"]
    assert app.call(["doctor"]) == 0
    assert "self-test" in capsys.readouterr().out


def test_the_doctor_tells_what_fails(monkeypatch, capsys):
    monkeypatch.setattr(self_test, "EXACT", 1.0)
    assert app.call(["doctor"]) == 1
    assert "FAIL" in capsys.readouterr().out


def test_a_missing_extra_is_named_in_the_error(monkeypatch):
    """Every error about a missing package tells what to install."""
    for path in (ROOT / "src").rglob("*.py"):
        for told in re.findall(r"MissingExtraError\(\s*f?(\".*?\"(?:\s*f?\".*?\")*)", path.read_text(), flags=re.S):
            assert "pip install" in told or "not installed" in told, (path, told)


def test_the_public_names_exist_and_are_documented():
    """All that `saltus` and its packages export is there, has a docstring, and is on a page of the reference."""
    pages = runpy.run_path(str(ROOT / "docs" / "hooks.py"))["_reference"]()
    index = pages["reference/index.md"]
    for name in saltus.__all__:
        if isinstance(getattr(saltus, name), types.ModuleType):
            inside = {"laws": "laws.friction", "numerics": None, "papers": None}.get(name, name)  # papers: own pages
            assert inside is None or f"reference/{inside}.md" in pages, name
        else:
            assert _shown(name, index), name
    for path, text in pages.items():
        if path == "reference/index.md":
            continue
        package = importlib.import_module(f"saltus.{Path(path).stem}")
        for one in package.__all__:
            assert _shown(one, text), f"{package.__name__}.{one}"
            if callable(found := getattr(package, one)):
                assert found.__doc__, f"{package.__name__}.{one} has no docstring"
    nav = (ROOT / "mkdocs.yml").read_text()
    assert all(path in nav for path in pages)


def _shown(name, text):
    """Whether a page of the reference shows a name, from its docstring or by a link to where it stands."""
    return re.search(rf"^(::: \S+\.{name}|### `{name}`)$", text, flags=re.M) is not None


def test_types_are_shipped():
    assert (ROOT / "src" / "saltus" / "py.typed").exists()


def test_workflows_try_the_versions_that_are_declared():
    text = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    declared = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    assert re.search(r"python: \[(.*?)\]", text)[1].replace('"', "").split(", ") == declared


@pytest.mark.slow
def test_wheel_and_sdist_hold_all_data(tmp_path):
    pytest.importorskip("hatchling.build", reason="needs hatchling")
    code = f"import hatchling.build as b; b.build_wheel({str(tmp_path)!r}); b.build_sdist({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    tracked = subprocess.run(["git", "ls-files", "src/saltus"], cwd=ROOT, capture_output=True, text=True, check=True)
    wanted = {name.removeprefix("src/") for name in tracked.stdout.split()}
    assert wanted <= held, sorted(wanted - held)
    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        inside = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "CITATION.cff", "src/saltus/validation/nonsmooth/cases.json"} <= inside
