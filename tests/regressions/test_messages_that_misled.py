"""Mistakes of the first hour whose messages led nowhere; each names its remedy, before anything is computed."""

import pytest

from saltus.cli import app

GOOD = """kind = "sliding"
[surface]
type = "sphere"
radius = 1.0
[[masses]]
mass = 1.0
position = [0.3, 0.0]
mu = 0.02
[solve]
until = 1.0
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "untilneg.toml").write_text(GOOD)
    return tmp_path


def told(capsys, *words):
    assert app.call(list(words)) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    return message


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("mu = 0.02", "mu = 0,02", "Numbers have a decimal point, not a comma: mu = 0.02"),
        ("mu = 0.02", "mu = 0,02  # friction", "Numbers have a decimal point, not a comma"),
        ("[[masses]]", "[masses]", "Write [[masses]], with double brackets"),
        ("[solve]", "[masses]\nmass = 2.0\n[masses]\n[solve]", "[[masses]]"),
        ('type = "sphere"\nradius = 1.0', 'type = "expression"\nz = "x^2 + y^2"', "written with **: 'x**2 + y**2'"),
        ("[solve]", "[[rods]]\nbetween = [0, 1]\nlength = 0.5\n[solve]", "so its length is not given. Move the masses"),
        ("until = 1.0", "", "such as until = 10.0 under [solve]"),
        ("[solve]\nuntil = 1.0", "", "`solve` is missing. Give the table [solve]"),
    ],
)
def test_a_mistake_in_the_file_names_its_remedy(folder, capsys, old, new, words):
    (folder / "bad.toml").write_text(GOOD.replace(old, new))
    message = told(capsys, "check", "bad.toml", "--keys")
    assert words in message


def test_a_file_that_is_not_toml_is_named_with_its_ending(folder, capsys):
    (folder / "bad.toml").write_text("kind = ")
    assert "'bad.toml' is not TOML" in told(capsys, "check", "bad.toml")


def test_only_a_like_name_is_suggested_for_a_missing_file(folder, capsys):
    assert "Did you mean" not in told(capsys, "run", "nofile.toml")
    assert "Did you mean 'untilneg.toml'?" in told(capsys, "run", "untlneg.toml")


def test_entries_of_lists_are_named_by_dots(folder, capsys):
    message = told(capsys, "run", "untilneg.toml", "--set", "masses[0].mass=2")
    assert "entries of a list are named by dots, as in masses.0.mass." in message


def test_a_folder_without_room_for_files_is_found_before_the_run(folder, capsys):
    message = told(capsys, "run", "untilneg.toml", "--out", "/proc/x.nc")
    assert "Cannot write '/proc/x.nc': the folder '/proc' is not writable" in message


def test_a_file_is_no_ensemble(folder, capsys):
    assert "'untilneg.toml' is no ensemble: that is a folder" in told(capsys, "summarize", "untilneg.toml")
