"""Ensembles on a Dask cluster: the same numbers, whoever dies."""

import os
import random
import signal
import socket
import subprocess
import sys
import time

import pytest
from tests.ensemble_kills import ROOT, bits, children, environment, started, wait_for_some_done
from tests.ensemble_work import Toy

from saltus.ensembles.errors import ChunkError
from saltus.ensembles.execute import cluster
from saltus.ensembles.execute.runner import execute
from saltus.ensembles.store import Store
from saltus.errors import ScenarioError

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    path = tmp_path_factory.mktemp("undisturbed") / "a.zarr"
    execute(Toy(2000), path, workers=1)
    return bits(path)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense", "nowhere://127.0.0.1:1", "tcp://a:b"])
def test_a_scheduler_that_does_not_answer_is_told_soon_and_nothing_is_made(tmp_path, monkeypatch, address):
    monkeypatch.setattr(cluster, "CONNECT", 1.0)
    began = time.monotonic()
    with pytest.raises(ScenarioError, match="does not answer"):
        execute(Toy(10), tmp_path / "a.zarr", scheduler=address)
    assert time.monotonic() - began < 10 and not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_local_cluster_gives_the_same_numbers_though_a_worker_dies(tmp_path, undisturbed):
    path = tmp_path / "a.zarr"
    process = started(path, scheduler=["local"])
    wait_for_some_done(path, process, 4)
    os.kill(random.Random(0).choice(_workers_below(process.pid)), signal.SIGKILL)
    _, told = process.communicate(timeout=90)
    assert process.returncode == 0, told
    assert bits(path) == undisturbed


@pytest.mark.slow
def test_a_killed_client_of_a_local_cluster_can_be_resumed(tmp_path, undisturbed):
    path = tmp_path / "a.zarr"
    process = started(path, scheduler=["local"])
    wait_for_some_done(path, process, 4)
    process.kill()
    process.communicate()
    assert 0 < len(Store(path).pending()) < 20
    second = started(path, scheduler=["local"])
    _, told = second.communicate(timeout=90)
    assert second.returncode == 0, told
    assert bits(path) == undisturbed


@pytest.mark.slow
def test_kills_at_random_moments_of_a_local_cluster_lose_nothing(tmp_path, undisturbed):
    chance = random.Random(1)
    path, halfway = tmp_path / "a.zarr", 0
    for turn in range(4):
        process = started(path, chunk=50, delay=0.1, scheduler=["local"])
        wait_for_some_done(path, process, len(list(path.glob("done/c/*"))) + chance.randint(1, 6))
        for _ in range(chance.randint(0, 2)):
            if workers := _workers_below(process.pid):
                os.kill(chance.choice(workers), signal.SIGKILL)
            time.sleep(chance.uniform(0.0, 0.5))
        if turn == 3:
            _, told = process.communicate(timeout=120)
            assert process.returncode == 0, told
            break
        process.kill()
        process.communicate()
        halfway += 0 < len(Store(path).pending()) < 40
    assert halfway >= 2 and bits(path) == undisturbed


@pytest.mark.slow
def test_a_chunk_that_kills_workers_of_a_cluster_is_named(tmp_path):
    toy = Toy(200, deadly=100, deaths=str(tmp_path / "deaths"), mortal=100)
    with pytest.raises(ChunkError, match=r"Samples 100 to 149 ended several workers.*--resume goes on"):
        execute(toy, tmp_path / "a.zarr", scheduler="local", workers=2, chunk=50)


def _workers_below(process):
    """Processes below the nannies of a local cluster."""
    found = children(process)
    return [one for one in found if not children(one) and "spawn_main" in _command(one)]


def _command(process):
    with open(f"/proc/{process}/cmdline") as file:
        return file.read()


class Site:
    """A scheduler and workers as programs of their own, to be killed and restarted."""

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler, self.workers = None, []

    def start(self, workers=2):
        self.scheduler = self._started(
            "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", self.port, "--no-dashboard"
        )
        for _ in range(workers):
            self.add_worker()

    def add_worker(self):
        options = ("--nthreads", 1, "--no-nanny", "--no-dashboard", "--death-timeout", 60)
        self.workers.append(self._started("distributed.cli.dask_worker", self.address, *options))

    def _started(self, module, *options):
        command = [sys.executable, "-m", module, *map(str, options)]
        return subprocess.Popen(command, cwd=ROOT, env=environment(), stderr=subprocess.DEVNULL)

    def stop(self):
        for process in (self.scheduler, *self.workers):
            process.kill()
            process.wait()
        self.workers = []


@pytest.fixture
def site():
    made = Site()
    made.start()
    yield made
    made.stop()


@pytest.mark.slow
def test_scheduler_and_workers_may_die_and_come_back(tmp_path, undisturbed, site):
    path = tmp_path / "a.zarr"
    process = started(path, delay=0.3, scheduler=[site.address])
    wait_for_some_done(path, process, 2)
    site.workers[0].kill()
    site.add_worker()
    wait_for_some_done(path, process, 6)
    site.stop()
    time.sleep(1.0)
    unfinished = len(Store(path).pending())
    site.start()
    _, told = process.communicate(timeout=120)
    assert process.returncode == 0, told
    assert 0 < unfinished <= 14 and b"Lost the scheduler" in told
    assert bits(path) == undisturbed


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Lost the scheduler")
def test_a_scheduler_that_stays_away_is_told_of(tmp_path, monkeypatch, site):
    monkeypatch.setattr(cluster, "PATIENCE", 2.0)
    process = []

    def tell(standing):
        if standing.ended >= 300 and not process:
            process.append(site.stop())

    with pytest.raises(cluster.EnsembleError, match="has been gone for 2 s"):
        execute(Toy(2000, delay=0.3), tmp_path / "a.zarr", scheduler=site.address, chunk=100, tell=tell)
    assert len(Store(tmp_path / "a.zarr").pending()) <= 17
