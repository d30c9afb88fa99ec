"""Programs that are made while the start of a run is still computed: of its form, and those that the run calls."""

import os
import subprocess
import sys
from typing import Any

import jax
import pytest

import saltus as sl
from saltus.programs import store
from saltus.scenarios.loader import load

MASS = """
kind = "sliding"
surface = {type = "plane", slope_x = 0.1}
friction = {mu = 0.5}
masses = [{mass = 1.0, position = [0.0, 0.0], velocity = [1.0, 0.5]}]
solve = {until = 1.0, samples = 50}
"""
RAFT = """
kind = "sliding"
surface = {type = "plane", slope_x = 0.1}
friction = {mu = 0.5}
masses = [
    {mass = 1.0, position = [0.0, 0.0], velocity = [1.0, 0.0]},
    {mass = 1.0, position = [1.0, 0.0], velocity = [1.0, 0.0]},
]
rods = [{between = [0, 1], stiffness = 100.0, damping = 1.0}]
solve = {until = 1.0, samples = 50}
"""
WEAK_RAFT = RAFT.replace("damping = 1.0", "damping = 1.0, strength = 1e-3").replace("[1.0, 0.0]}", "[2.0, 0.0]}", 1)
BALL = """
kind = "plane_ball"
mass = 1.0
radius = 0.1
friction = {mu = 0.2, model = "coulomb"}
start = {velocity = [1.0, 0.0]}
solve = {until = 1.0, samples = 50}
"""
CHAIN = """
kind = "chain"
links = 2
overhang = 0.5
solve = {until = "off", samples = 50}
"""


def form(state):
    return jax.tree.structure(state), [(x.shape, x.dtype, x.weak_type) for x in jax.tree.leaves(state)]


@pytest.mark.parametrize(
    "name",
    ["bowl", "triangle-saddle", "alpine-block", "alpine-raft", "plane-spin-down", "rails-to-rest", "rolling-coin"],
)
def test_a_blank_state_has_the_form_of_the_start(name):
    system: Any
    system, start = load(name).scenario.assemble()
    assert form(system.blank()) == form(start)


def test_a_raft_whose_strength_is_not_known_yet_makes_nothing_ready():
    def strengths(value):
        raft = sl.systems.Raft(sl.surfaces.Plane(0.1, 0.0), [1.0, 1.0], [(0, 1)], mu=0.5, strength=value)
        raft.prepare_breaks()
        return raft.rods.strength

    assert jax.eval_shape(strengths, 2.0).shape == (1,)


# In a process of its own: checks of types, which tests are run with, let no program be kept.
LISTED = """
import sys
import saltus
saltus.configure()
from saltus.programs import ahead, kept
from saltus.programs import store
from saltus.scenarios.loader import load
ready, called, prepare, note = [], [], kept.Program.prepare, ahead.note

def note_ready(self, args, rank):
    ready.append(self._name((args, {})))
    prepare(self, args, rank)

def note_call(name):
    called.append(name)
    note(name)

kept.Program.prepare, ahead.note = note_ready, note_call
with ahead.load_ahead("a form", samples=50):
    load(sys.argv[1]).scenario.simulate()
print(*sorted({name.partition("-")[0] for name in set(ready) & set(called)}))
"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (MASS, {"flow", "search"}),
        (RAFT, {"march"}),
        (WEAK_RAFT, {"march", "observe_rods"}),
        (CHAIN, {"flow", "search", "apply_jump"}),
        (BALL, {"flow", "search", "begin_jump"}),
    ],
)
def test_a_run_calls_the_programs_that_were_made_ready_while_its_start_was_computed(text, wanted, tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", LISTED, text],
        env={**os.environ, "SALTUS_CACHE": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert wanted <= set(run.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["euler-disk", "rockfall"])
def test_the_code_of_every_program_of_a_run_is_kept(name, tmp_path):
    """XLA does not hand out all code that it makes: not that of a sort, say."""
    environment = {key: value for key, value in os.environ.items() if key != "XLA_FLAGS"} | {
        "SALTUS_CACHE": str(tmp_path)
    }
    command = [sys.executable, "-m", "saltus", "run", name, "--quiet", "--out", str(tmp_path / "run.nc")]
    subprocess.run(command, env=environment, check=True)
    folder = tmp_path / "programs"
    (listed,) = folder.glob(f"used-*{store.FACTS}")
    known = store.read(folder, listed.name.removesuffix(store.FACTS), store.FACTS)
    assert known is not None
    assert {used for used in known[0] if not any(folder.glob(f"{used}-*{store.CODE}"))} == set()
