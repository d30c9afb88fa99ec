"""The house as ARCHITECTURE.md says: its tree is true, no imports go in circles, no function is too long to read."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import saltus

SOURCE = Path(saltus.__file__).parent
ROOT = SOURCE.parents[1]
LONGEST = 60  # lines of a function without its docstring
MODULES = {
    ".".join(("saltus", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in SOURCE.rglob("*.py")
}


def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


# --- the tree ---


def tree():
    """The block below "The tree", as text."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    return text.split("## The tree")[1].split("```")[1]


def named():
    """The files and folders of the tree's first column."""
    return [name for line in tree().splitlines() if re.match(r"  \S", line) for name in line[:23].split()]


def test_what_the_tree_names_exists():
    assert len(named()) > 20
    assert [name for name in named() if not (SOURCE / name).exists()] == []


def descriptions():
    """For each line of the tree that names folders, these and what is said of them."""
    entries = []
    for line in tree().splitlines():
        if re.match(r"  \S", line):
            entries.append((line[:23].split(), line[23:]))
        elif entries:
            entries[-1] = (entries[-1][0], f"{entries[-1][1]} {line.strip()}".strip())
    return [(names, told) for names, told in entries if all(name.endswith("/") for name in names)]


def modules_told(told):
    """The words of a description that name modules: with an underscore, with an explanation, or in a bare list."""
    told = re.sub(r"`[^`]*`", "", told)
    listed = told.split(", ") if re.fullmatch(r"[a-z_]+(, [a-z_]+)*", told) else []
    explained = re.findall(r"(?:^|, |; )([a-z_]+)(?= \(|: )", told)
    return {*listed, *explained, *re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", told)}


@pytest.mark.parametrize(("names", "told"), descriptions(), ids=[names[0] for names, _ in descriptions()])
def test_the_modules_that_a_folder_is_said_to_hold_exist(names, told):
    there = {path.stem for name in names for path in (SOURCE / name).rglob("*")}
    assert sorted(modules_told(told) - there) == []


def test_every_package_is_named_in_the_tree():
    words = set(re.findall(r"\w+", tree()))
    packages = {path.parent.relative_to(SOURCE) for path in SOURCE.rglob("__init__.py")} - {Path(".")}
    assert sorted(str(one) for one in packages if one.name not in words) == []
    first = {str(one) for one in packages if len(one.parts) == 1}
    assert first <= {name.split("/")[0] for name in named()}


# --- the walks ---

TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def names_in(path):
    """What a module defines: functions, classes, their methods, and names with a type."""
    module = parsed(path)
    defined = {node.name for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return defined | {node.target.id for node in module.body if isinstance(node, ast.AnnAssign)}


@pytest.mark.parametrize(("file", "name"), sorted(set(re.findall(r"`([a-z_/]+\.py):(\w+)`", TEXT))))
def test_what_a_walk_names_is_there(file, name):
    assert name in names_in(SOURCE / file)


def test_there_are_three_walks_of_ten_steps():
    walks = TEXT.split("## Three walks")[1].split("## ")[0]
    assert re.findall(r"^(\d+)\.", walks, re.MULTILINE) == 3 * [str(k) for k in range(1, 11)]


# What a walk names for other runs than its own: in several processes, with constant steps, with a second contact, for
# derivatives.
OF_OTHER_RUNS = {
    "ensembles/execute/pool.py:run",
    "ensembles/execute/cluster.py:Cluster",
    "engines/batch_constant.py:run_lanes",
    "contacts/first_contact.py:locate_contact",
    "engines/queue_replay.py:replay",
}
FOLLOW = """
import sys, threading
from pathlib import Path

called = set()

def note(frame, event, argument):
    if event == "call":
        called.add((frame.f_code.co_filename, frame.f_code.co_qualname.split(".")[0], frame.f_code.co_name))

threading.setprofile(note)
sys.setprofile(note)
from saltus.cli import app
code = app.call(sys.argv[2:])
sys.setprofile(None)
Path(sys.argv[1]).write_text("\\n".join("\\t".join(one) for one in called), encoding="utf-8")
sys.exit(code)
"""
WALKS = {
    "run bowl": ["--out", "run.nc", "--plot", "run.png"],
    "ensemble bowl-ensemble": ["--samples", "8", "--out", "r.zarr"],
    "run paradox": ["--out", "run.nc"],
}


@pytest.mark.slow
@pytest.mark.parametrize("command", WALKS)
def test_a_run_comes_to_what_its_walk_names(command, tmp_path):
    walk = TEXT.split(f"`saltus {command}")[1].split("\n\n")[1]
    named = {":".join(one) for one in re.findall(r"`([a-z_/]+\.py):(\w+)`", walk)}
    assert len(named) > 10
    told = tmp_path / "called.txt"
    subprocess.run(
        [sys.executable, "-c", FOLLOW, str(told), *command.split(), *WALKS[command]],
        cwd=tmp_path, env=os.environ | {"SALTUS_CACHE": "off"}, check=True, timeout=300,
    )  # fmt: skip
    called = set()
    for line in told.read_text(encoding="utf-8").splitlines():
        file, owner, name = line.split("\t")
        if Path(file).is_relative_to(SOURCE):
            file = Path(file).relative_to(SOURCE).as_posix()
            called |= {f"{file}:{name}", f"{file}:{owner}"}  # a class is come to by any of its methods
    assert sorted(named - called - OF_OTHER_RUNS) == []


# --- imports ---


class Imports(ast.NodeVisitor):
    """The modules that a module imports, within functions too; not what is for type checkers alone."""

    def __init__(self, name):
        self.name, self.found = name, set()

    def visit_If(self, node):
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.generic_visit(node)

    def visit_Import(self, node):
        self.found |= {alias.name for alias in node.names}

    def visit_ImportFrom(self, node):
        for alias in node.names:
            whole = f"{node.module}.{alias.name}"
            self.found.add(whole if whole in MODULES else node.module)


def imports(name):
    visitor = Imports(name)
    visitor.visit(parsed(MODULES[name]))
    return (visitor.found & set(MODULES)) - {name}


def circles(graph):
    """The sets of modules that import each other, by Tarjan's algorithm."""
    found, stack, numbers, lowest = [], [], {}, {}

    def visit(name):
        numbers[name] = lowest[name] = len(numbers)
        stack.append(name)
        for other in graph[name]:
            if other not in numbers:
                visit(other)
            if other in stack:
                lowest[name] = min(lowest[name], lowest[other])
        if lowest[name] == numbers[name]:
            circle = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(circle) > 1:
                found.append(sorted(circle))

    for name in graph:
        if name not in numbers:
            visit(name)
    return found


def test_circles_are_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"a"}}
    assert circles(graph) == [["b", "c"]]


def test_no_imports_go_in_circles_not_even_within_functions():
    assert circles({name: imports(name) for name in MODULES}) == []


# --- functions ---


def length(function):
    """Its lines from `def` to the end, without the docstring."""
    first = function.body[0]
    told = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    return function.end_lineno - function.lineno + 1 - (first.end_lineno - first.lineno + 1 if told else 0)


def test_no_function_is_too_long_to_read():
    long = {
        f"{name}.{node.name}": length(node)
        for name, path in MODULES.items()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and length(node) > LONGEST
    }
    assert long == {}
