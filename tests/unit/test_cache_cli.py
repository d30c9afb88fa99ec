"""saltus cache: what is kept between runs can be looked at, cleared and made beforehand."""

import json
import subprocess
import sys

import pytest

from saltus import _jax_settings
from saltus.cli import app
from saltus.scenarios import load
from saltus.scenarios.sliding import SlidingScenario


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of its own that programs are kept in, with a file of somebody else in it."""
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "mine.txt").write_text("not a program")
    monkeypatch.setenv("SALTUS_CACHE", str(folder))
    monkeypatch.setattr(_jax_settings, "_programs", [folder / "programs"])
    return folder


def cache_command(*words, code=0):
    assert app.call(["cache", *words]) == code


def looked(capsys, *words):
    capsys.readouterr()
    cache_command(*words, "--json")
    return json.loads(capsys.readouterr().out)


WARM = """
from saltus.cli import app
from saltus.scenarios import catalogue
one = {"plane-rest": catalogue.entries()["plane-rest"]}  # of all those of its kind: the quickest
catalogue.entries = lambda: one
raise SystemExit(app.call(["cache", "warm", "sliding", "--quiet", "--json"]))
"""


def test_warming_a_kind_keeps_programs_and_clearing_removes_them_alone(cache, capsys):
    assert looked(capsys)["traced"] == {"files": 0, "bytes": 0}
    done = subprocess.run([sys.executable, "-c", WARM], capture_output=True, text=True, check=True)
    warmed = json.loads(done.stdout)
    kept = [path.suffix for path in (cache / "programs").iterdir()]
    assert warmed["traced"]["files"] == kept.count(".program") + kept.count(".facts") > 0
    assert warmed["compiled"]["files"] >= kept.count(".code")
    assert [path for path in (cache / "programs").glob("flow-*") if path.suffix in (".code", ".program")]
    assert looked(capsys) == warmed
    cleared = looked(capsys, "clear")
    assert cleared["traced"] == cleared["compiled"] == {"files": 0, "bytes": 0}
    assert not list((cache / "programs").iterdir()) and (cache / "mine.txt").exists()


@pytest.mark.parametrize("words", [("tidy",), ("warm", "gravel")])
def test_unknown_words_are_refused(cache, capsys, words):
    cache_command(*words, code=2)
    assert f"Unknown {'kind' if len(words) > 1 else 'action'} '{words[-1]}'" in capsys.readouterr().err


def test_a_cache_that_is_off_is_told(cache, capsys, monkeypatch):
    monkeypatch.setenv("SALTUS_CACHE", "off")
    cache_command("clear", code=2)
    assert "SALTUS_CACHE" in capsys.readouterr().err


def test_a_start_that_building_found_possible_is_remembered(cache, capsys, monkeypatch):
    built = []
    assemble = SlidingScenario.assemble
    monkeypatch.setattr(SlidingScenario, "assemble", lambda self: built.append(self) or assemble(self))

    def told(*words, code=0):
        capsys.readouterr()
        assert app.call(["check", "bowl-pendulum-friction", *words]) == code
        return capsys.readouterr()

    first = told()
    assert "slips" in first.out and len(built) == 1  # two that rest on a slope that is steep for their friction
    assert told() == first and len(built) == 1
    told("--set", "friction.mu=0.03")
    assert len(built) == 2  # another scenario
    assert app.call(["cache", "clear"]) == 0
    assert told() == first and len(built) == 3


def test_what_is_refused_without_building_it_is_not_built(cache, capsys, monkeypatch):
    monkeypatch.setattr(SlidingScenario, "build", lambda self: pytest.fail("built"))
    assert app.call(["check", "plane-rest", "--set", "masses.0.velocity=[0.0, 3.0]"]) == 2
    assert "would change its length" in capsys.readouterr().err


def test_a_start_on_ground_from_a_file_is_not_remembered(cache):
    from saltus.cli.check import _says_all

    scenario = load("alpine-block").scenario
    given = scenario.surface.model_copy(update={"file": "valley.asc"})
    assert _says_all(scenario) == (scenario.surface.file is None)
    assert not _says_all(scenario.model_copy(update={"surface": given}))
