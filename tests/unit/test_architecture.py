"""What ARCHITECTURE.md says of the tree and of its walks is so."""

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
SOURCE = ROOT / "src" / "saltus"
NAMED = sorted(set(re.findall(r"`([a-z_/]+\.py):(\w+)`", TEXT)))


@functools.cache
def names_in(path):
    tree = ast.parse(path.read_text())
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assigned = {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}
    return defined | assigned


@pytest.mark.parametrize(("file", "name"), NAMED, ids=lambda part: str(part))
def test_what_a_walk_names_is_there(file, name):
    assert name in names_in(SOURCE / file)


def test_there_are_three_walks_of_ten_steps():
    walks = TEXT.split("## Three walks")[1].split("## ")[0]
    assert re.findall(r"^(\d+)\.", walks, re.MULTILINE) == 3 * [str(k) for k in range(1, 11)]


def test_the_tree_shows_every_folder():
    tree = TEXT.split("```")[1]
    shown = {word.strip("/").split("/")[0] for word in re.findall(r"[a-z_/]+/(?=\s)", tree)}
    folders = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert folders <= shown
