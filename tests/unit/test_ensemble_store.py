"""The store of an ensemble: what is done stays, what is torn is not done."""

import errno
import os
import warnings

import numpy as np
import pytest
import xarray as xr
from tests.ensemble_work import Toy

from saltus.ensembles.compute.task import compute
from saltus.ensembles.errors import WriteError
from saltus.ensembles.store import Store, chunk_size
from saltus.ensembles.store.layout import is_store
from saltus.errors import ScenarioError


def made(path, samples=25, size=10):
    toy = Toy(samples)
    return toy, Store.create(path, toy.columns(), toy.keys, samples, size=size, attributes=toy.attributes())


def opened(path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with xr.open_zarr(path) as dataset:
            return dataset.load()


def test_a_new_store_opens_with_nothing_done(tmp_path):
    _, store = made(tmp_path / "a.zarr")
    dataset = opened(store.path)
    assert dict(dataset.sizes) == {"sample": 25, "mass": 2, "axis": 3, "rod": 0, "key": 3}
    assert not dataset.done.any() and np.isnan(dataset.stop_time).all()
    assert list(dataset.key.values) == ["friction.mu", "friction.model", "number"]
    assert dataset.stop_time.attrs["units"] == "s" and dataset.attrs["scenario_hash"] == "toy of 0"
    assert store.pending() == [0, 1, 2]


def test_what_is_written_is_read(tmp_path):
    toy, store = made(tmp_path / "a.zarr")
    for chunk in (2, 0):
        compute(toy, store, chunk)
    assert Store(store.path).pending() == [1]
    assert store.samples_in(store.finished_chunks()) == 15
    dataset = opened(store.path)
    done = dataset.done.values == 1
    np.testing.assert_array_equal(np.flatnonzero(done), [*range(10), *range(20, 25)])
    expected = toy.run(toy.draw(0, 25))
    np.testing.assert_array_equal(dataset.position.values[done], expected["position"][done])
    np.testing.assert_array_equal(dataset.parameter.values[done, 0], toy.draw(0, 25)["friction.mu"][done])
    np.testing.assert_array_equal(dataset.parameter.values[done, 1], np.arange(25)[done] % 3)


def test_a_chunk_that_was_torn_is_not_done_and_can_be_written_again(tmp_path):
    toy, store = made(tmp_path / "a.zarr")
    for chunk in range(3):
        compute(toy, store, chunk)
    before = opened(store.path)
    for chunk in (1, 2):
        (store.path / "done" / "c" / str(chunk)).unlink()
        data = store.path / "position" / "c" / str(chunk) / "0" / "0"
        data.write_bytes(data.read_bytes()[:7])
    assert store.pending() == [1, 2]
    for chunk in (1, 2):
        compute(toy, store, chunk)
    xr.testing.assert_identical(opened(store.path), before)


class FullDisk:
    """Lets some bytes through; then the disk is full."""

    def __init__(self, monkeypatch, files):
        from zarr.storage import _local

        self.left, self.put = files, _local._put
        monkeypatch.setattr(_local, "_put", self)

    def __call__(self, *arguments, **more):
        if self.left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.left -= 1
        return self.put(*arguments, **more)


@pytest.mark.parametrize("files", [0, 1, 3])
def test_a_full_disk_leaves_what_is_done(tmp_path, monkeypatch, files):
    toy, store = made(tmp_path / "a.zarr")
    compute(toy, store, 0)
    before = opened(store.path)
    with monkeypatch.context() as patch:
        FullDisk(patch, files)
        with pytest.raises(WriteError, match="No space left on device"):
            compute(toy, store, 1)
    assert store.pending() == [1, 2]
    xr.testing.assert_identical(opened(store.path).isel(sample=slice(10)), before.isel(sample=slice(10)))
    compute(toy, store, 1)
    assert store.pending() == [2]


def test_a_store_that_cannot_be_made_leaves_nothing(tmp_path, monkeypatch):
    FullDisk(monkeypatch, 2)
    with pytest.raises(WriteError, match="No space left on device"):
        made(tmp_path / "a.zarr")
    assert list(tmp_path.iterdir()) == []


def test_a_longer_store_keeps_what_is_done_but_its_last_short_chunk(tmp_path):
    toy, store = made(tmp_path / "a.zarr")
    for chunk in range(3):
        compute(toy, store, chunk)
    store = store.extend(45)
    assert (store.samples, store.pending()) == (45, [2, 3, 4])
    for chunk in store.pending():
        compute(toy, store, chunk)
    _, whole = made(tmp_path / "b.zarr", samples=45)
    for chunk in range(5):
        compute(toy, whole, chunk)
    xr.testing.assert_identical(opened(store.path), opened(whole.path))


def test_a_column_of_the_wrong_shape_is_refused(tmp_path):
    toy, store = made(tmp_path / "a.zarr")
    values = toy.draw(0, 10)
    columns = toy.run(values)
    with pytest.raises(ValueError, match="'stop_time' must be float64 of shape \\(10,\\), got float64 of \\(9,\\)"):
        store.write(0, values, {**columns, "stop_time": columns["stop_time"][:9]})
    del columns["stop_time"]
    with pytest.raises(ValueError, match="stop_time"):
        store.write(0, values, columns)
    assert store.pending() == [0, 1, 2]


def test_two_runs_cannot_write_one_store(tmp_path):
    _, store = made(tmp_path / "a.zarr")
    with store.lock(), pytest.raises(ScenarioError, match="Another run is writing"), Store(store.path).lock():
        pass
    with store.lock():
        pass


def test_other_folders_are_no_stores(tmp_path):
    (tmp_path / "b.zarr").mkdir()
    (tmp_path / "b.zarr" / "zarr.json").write_text("[]")
    assert not is_store(tmp_path) and not is_store(tmp_path / "nothing") and not is_store(tmp_path / "b.zarr")
    with pytest.raises(ScenarioError, match="no ensemble of saltus"):
        Store(tmp_path / "b.zarr")


def test_half_written_files_are_swept(tmp_path):
    _, store = made(tmp_path / "a.zarr")
    left = store.path / "position" / "c" / "0.123.partial"
    left.parent.mkdir()
    left.write_bytes(b"x")
    store.sweep()
    assert not left.exists()


def test_chunks_are_small_enough_to_share_and_to_hold():
    columns = Toy(1).columns()
    assert chunk_size(10, columns) == 10
    assert chunk_size(1000, columns) == 64  # 50 would be even, and leave a fifth of the lanes idle
    assert chunk_size(992, columns) == 62  # even, and nearly full
    assert chunk_size(1024, columns) == 64
    assert chunk_size(1009, columns) == 64  # a prime number leaves one in any case
    assert chunk_size(1_000_000, columns) == 4000
    assert chunk_size(1_000_000, columns, largest=65536) == 31250
    assert chunk_size(1_000_000, columns, workers=64) == 1024
    heavy = {"position": type(columns["position"])(("mass",), (100_000,), np.dtype("float64"), "m", "")}
    assert chunk_size(1_000_000, heavy) == 64  # of 83 that are 64 MiB
