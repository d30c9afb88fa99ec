"""saltus cache: what is kept between runs can be looked at, cleared and made beforehand."""

import json

import pytest

from saltus import _jax_settings
from saltus.cli import app
from saltus.scenarios import catalogue


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


def test_warming_a_kind_keeps_programs_and_clearing_removes_them_alone(cache, capsys, monkeypatch):
    one = {"plane-rest": catalogue.entries()["plane-rest"]}  # of all those of its kind: the quickest
    monkeypatch.setattr(catalogue, "entries", lambda: one)
    assert looked(capsys)["traced"] == {"files": 0, "bytes": 0}
    warmed = looked(capsys, "warm", "sliding", "--quiet")
    assert warmed["traced"]["files"] == len(list((cache / "programs").glob("*.program"))) > 0
    assert looked(capsys) == warmed
    assert looked(capsys, "clear")["traced"] == {"files": 0, "bytes": 0}
    assert not list(cache.rglob("*.program")) and (cache / "mine.txt").exists()


@pytest.mark.parametrize("words", [("tidy",), ("warm", "gravel")])
def test_unknown_words_are_refused(cache, capsys, words):
    cache_command(*words, code=2)
    assert f"Unknown {'kind' if len(words) > 1 else 'action'} '{words[-1]}'" in capsys.readouterr().err


def test_a_cache_that_is_off_is_told(cache, capsys, monkeypatch):
    monkeypatch.setenv("SALTUS_CACHE", "off")
    cache_command("clear", code=2)
    assert "SALTUS_CACHE" in capsys.readouterr().err
