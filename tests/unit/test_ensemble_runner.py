"""Running ensembles: workers that die, runs that are killed, and the same numbers after all of it."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.ensemble_kills import (
    ROOT,
    bits,
    children,
    environment,
    gone,
    opened,
    started,
    wait_for_some_done,
    workers_of,
)
from tests.ensemble_work import Toy

from saltus.ensembles.errors import ChunkError, Interruption
from saltus.ensembles.execute.runner import execute
from saltus.ensembles.store import Store
from saltus.errors import ScenarioError


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """2000 samples, computed in this process without disturbance."""
    path = tmp_path_factory.mktemp("undisturbed") / "a.zarr"
    execute(Toy(2000), path, workers=1)
    return bits(path)


@pytest.mark.parametrize("workers, chunk", [(1, 70), (1, 5000), (2, 300)])
def test_numbers_do_not_depend_on_workers_and_chunks(tmp_path, undisturbed, workers, chunk):
    standing = execute(Toy(2000), tmp_path / "a.zarr", workers=workers, chunk=chunk)
    assert (standing.ended, standing.found, standing.left) == (2000, 0, 0)
    assert bits(tmp_path / "a.zarr") == undisturbed


def test_a_finished_store_is_left_as_it_is(tmp_path):
    path = tmp_path / "a.zarr"
    execute(Toy(100), path, chunk=30)
    before = {file: file.stat().st_mtime_ns for file in path.rglob("*")}
    standing = execute(Toy(100), path, resume=True)
    assert (standing.ended, standing.found, standing.rate) == (100, 100, 0.0)
    assert {file: file.stat().st_mtime_ns for file in path.rglob("*")} == before


def test_progress_only_rises_and_ends_with_all_samples(tmp_path):
    seen = []
    execute(Toy(500, delay=0.5), tmp_path / "a.zarr", workers=2, chunk=100, tell=seen.append)
    ended = [standing.ended for standing in seen]
    assert ended[0] == 0 and ended[-1] == 500 and ended == sorted(ended)
    assert len(set(ended)) > 6  # chunks under way are told of as well
    assert all(standing.samples == 500 for standing in seen) and seen[-1].rate > 0


@pytest.mark.parametrize("left", ["little", "much"])
def test_workers_are_started_only_where_much_is_left(tmp_path, monkeypatch, left):
    """Of a scenario, whose own process begins: a short ensemble is done before workers have loaded their libraries."""
    from saltus.ensembles.execute import pool, runner

    asked = []
    monkeypatch.setattr(runner, "_here", _as_if_computed)
    monkeypatch.setattr(pool, "run", lambda work, store, chunks, number, tally: asked.append((list(chunks), number)))
    monkeypatch.setattr(runner, "TRIAL", 1e9 if left == "little" else -1.0)  # at once, and the pace is not yet known
    monkeypatch.setattr(runner, "ScenarioWork", Toy)  # the toy stands for a scenario
    monkeypatch.setattr(Toy, "allow_python", False, raising=False)
    execute(Toy(100), tmp_path / "a.zarr", workers=2, chunk=25)
    assert asked == ([] if left == "little" else [([1, 2, 3], 2)])


def _as_if_computed(work, store, chunk, tally):
    first, last = store.bounds(chunk)
    tally(chunk, last - first)


def test_the_chunk_of_a_dead_worker_is_computed_by_another(tmp_path, undisturbed):
    deaths = tmp_path / "deaths"
    toy = Toy(2000, deadly=600, deaths=str(deaths), mortal=2)
    execute(toy, tmp_path / "a.zarr", workers=2, chunk=300)
    assert deaths.stat().st_size == 3
    assert bits(tmp_path / "a.zarr") == undisturbed


def test_a_chunk_that_kills_every_worker_is_named_and_the_rest_is_kept(tmp_path, undisturbed):
    toy = Toy(2000, deadly=600, deaths=str(tmp_path / "deaths"), mortal=100)
    with pytest.raises(ChunkError, match=r"Samples 600 to 899 ended 3 workers.*signal 9.*--resume goes on"):
        execute(toy, tmp_path / "a.zarr", workers=2, chunk=300)
    assert Store(tmp_path / "a.zarr").pending() == [2]
    execute(Toy(2000), tmp_path / "a.zarr", resume=True, workers=1)
    assert bits(tmp_path / "a.zarr") == undisturbed


@pytest.mark.parametrize("workers", [1, 2])
def test_samples_that_raise_are_named_and_all_others_computed(tmp_path, workers):
    with pytest.raises(
        ChunkError, match=r"Samples 30 to 59 .*FloatingPointError: The toy is broken.*70 of 100 samples"
    ):
        execute(Toy(100, broken=30), tmp_path / "a.zarr", workers=workers, chunk=30)
    assert Store(tmp_path / "a.zarr").pending() == [1]
    execute(Toy(100), tmp_path / "a.zarr", resume=True, workers=1)
    assert opened(tmp_path / "a.zarr").done.all()


@pytest.mark.parametrize("workers", [1, 2])
def test_where_everything_fails_the_run_soon_stops(tmp_path, workers):
    with pytest.raises(ChunkError, match=r"The toy is broken.*4 other chunks failed as well.*0 of 100 samples"):
        execute(Toy(100, broken=-1), tmp_path / "a.zarr", workers=workers, chunk=5)


def test_an_interrupt_says_how_to_go_on(tmp_path, undisturbed):
    def interrupt(standing):
        if standing.ended >= 600:
            raise KeyboardInterrupt

    for workers in (1, 2):
        path = tmp_path / f"{workers}.zarr"
        with pytest.raises(Interruption, match=r"Interrupted\. \d+ of 2000 samples are done.*--resume"):
            execute(Toy(2000), path, workers=workers, chunk=300, tell=interrupt)
        standing = execute(Toy(2000), path, resume=True, workers=1)
        assert 600 <= standing.found < 2000 and bits(path) == undisturbed


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="needs a limit on the size of files")
def test_a_disk_that_fills_up_stops_the_run_and_spoils_nothing(tmp_path):
    # Files over 32 KiB cannot be written: too little for a chunk of positions, enough for all metadata.
    path = tmp_path / "a.zarr"
    program = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (32768, 32768));"
        f"from tests.ensemble_work import main; main({str(path)!r}, 4000, 2000, {{}}, 0)"
    )
    for workers in (1, 2):
        ended = subprocess.run(
            [sys.executable, "-c", program.format(workers)],
            cwd=ROOT,
            env=environment(),
            capture_output=True,
            text=True,
        )
        assert ended.returncode == 1
        assert "WriteError: Cannot write to" in ended.stderr and "File too large" in ended.stderr
        assert Store(path).pending() == [0, 1] and not list(path.rglob("*.partial"))


def test_a_store_of_another_ensemble_is_refused_and_untouched(tmp_path):
    path = tmp_path / "a.zarr"
    execute(Toy(100), path)
    before = bits(path)
    with pytest.raises(ScenarioError, match="with seed 0, this one is with seed 1"):
        execute(Toy(100, seed=1), path, resume=True)
    with pytest.raises(ScenarioError, match="exists already. Give --resume"):
        execute(Toy(100), path)
    with pytest.raises(ScenarioError, match="has 100 samples, more than the 50 asked for"):
        execute(Toy(50), path, resume=True)
    assert bits(path) == before


def test_more_samples_can_be_asked_for_where_the_design_allows_it(tmp_path, undisturbed):
    path = tmp_path / "a.zarr"
    execute(Toy(500), path, chunk=300)
    standing = execute(Toy(2000), path, resume=True)
    assert standing.found == 300 and bits(path) == undisturbed
    fixed = tmp_path / "b.zarr"
    execute(Toy(100, design="latin"), fixed)
    with pytest.raises(ScenarioError, match="design 'latin', which cannot be extended to 200"):
        execute(Toy(200, design="latin"), fixed, resume=True)


def test_places_that_are_no_stores_are_refused(tmp_path):
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / "mine.txt").write_text("precious")
    for resume in (False, True):
        with pytest.raises(ScenarioError, match="is no ensemble"):
            execute(Toy(10), tmp_path / "a.zarr", resume=resume)
    with pytest.raises(ScenarioError, match="end its name in .zarr"):
        execute(Toy(10), tmp_path / "a.nc")
    with pytest.raises(ScenarioError, match="there is no folder"):
        execute(Toy(10), tmp_path / "nowhere" / "b.zarr")
    assert (tmp_path / "a.zarr" / "mine.txt").read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["a.zarr"]


def test_wrong_numbers_of_workers_and_chunks_are_refused(tmp_path):
    for wrong in ({"workers": 0}, {"chunk": 0}, {"workers": 2, "scheduler": "tcp://127.0.0.1:1"}):
        with pytest.raises(ScenarioError):
            execute(Toy(10), tmp_path / "a.zarr", **wrong)
    assert not list(tmp_path.iterdir())


# --- kill -9 ---


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to find the workers")
def test_kill_of_a_worker_and_of_the_main_process_loses_nothing(tmp_path, undisturbed):
    path = tmp_path / "a.zarr"
    process = started(path)
    wait_for_some_done(path, process, 3)
    workers = children(process.pid)
    os.kill(workers[0], signal.SIGKILL)
    wait_for_some_done(path, process, 7)
    orphans = children(process.pid)
    process.kill()
    process.communicate()
    some = len(Store(path).pending())
    assert 0 < some < 20 and len(workers) == 2 and set(orphans) != set(workers)
    assert all(gone(orphan) for orphan in orphans)
    execute(Toy(2000), path, resume=True, workers=1)
    assert bits(path) == undisturbed


def test_ctrl_c_ends_main_process_and_workers(tmp_path):
    path = tmp_path / "a.zarr"
    process = started(path, delay=0.2)
    wait_for_some_done(path, process, 2)
    workers = children(process.pid)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=20)
    assert b"Interrupted" in told and process.returncode == 1 and all(gone(worker) for worker in workers)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_kills_at_random_moments_lose_nothing(tmp_path, undisturbed, seed):
    """Workers and main processes are killed at random moments until one run gets through."""
    chance = random.Random(seed)
    path = tmp_path / "a.zarr"
    kills, halfway = 0, 0
    while True:
        process = started(path, chunk=20, delay=0.1, workers=chance.choice([1, 2, 3]))
        if kills >= 12:
            _, told = process.communicate(timeout=120)
            assert process.returncode == 0, told
            break
        if chance.random() < 0.8:  # in the others the kill comes as it starts
            done = len(list(path.glob("done/c/*")))
            wait_for_some_done(path, process, done + chance.randint(1, 6))
        time.sleep(chance.uniform(0.0, 0.2))
        for _ in range(chance.randint(0, 3)):
            if workers := children(process.pid):
                os.kill(chance.choice(workers), signal.SIGKILL)
                kills += 1
            time.sleep(chance.uniform(0.0, 0.3))
        process.kill()
        process.communicate()
        kills += 1
        halfway += path.exists() and 0 < len(Store(path).pending()) < 100
    assert halfway >= 3  # kills did hit runs that were under way
    assert bits(path) == undisturbed
    assert not list(path.rglob("*.partial"))


@pytest.mark.slow
def test_a_killed_ensemble_of_real_runs_is_resumed_bit_by_bit(tmp_path):
    """The command itself, with mechanics: killed with its workers, resumed, and compared with one undisturbed run."""

    def command(out, *options):
        words = [sys.executable, "-m", "saltus", "ensemble", "bowl-ensemble", "--out", out]
        return subprocess.Popen([*map(str, words), *options], cwd=tmp_path, env=environment(), stderr=subprocess.PIPE)

    plain, killed = tmp_path / "plain.zarr", tmp_path / "killed.zarr"
    # So many that workers are worth starting on a fast machine, too.
    options = ("--samples", "24000", "--workers", "2", "--chunk", "150", "-q")
    process = command(killed, *options)
    until = time.monotonic() + 200
    while time.monotonic() < until and not workers_of(process.pid):
        time.sleep(0.01)
    done = len(list(killed.glob("done/c/*")))
    wait_for_some_done(killed, process, done + 1, seconds=120)
    os.kill(workers_of(process.pid)[0], signal.SIGKILL)
    wait_for_some_done(killed, process, done + 5, seconds=120)
    process.kill()
    process.communicate()
    assert 0 < len(Store(killed).pending()) < 160
    for process in (
        command(killed, *options, "--resume"),
        command(plain, "--samples", "24000", "--workers", "1", "-q"),
    ):
        _, told = process.communicate(timeout=300)
        assert process.returncode == 0, told
    assert bits(killed) == bits(plain)
