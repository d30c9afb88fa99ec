import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import saltus as sl
from saltus import io
from saltus.errors import ScenarioError
from saltus.hybrid import AbstractSystem, Event, Outcome, Quantity, Rate, State, Trajectory


class Ball(AbstractSystem):
    """A falling ball, as far as a dataset needs one."""

    kind = "ball"
    mode_names = ("free flight", "rest")

    def rate(self, state):
        return Rate(q=state.v, v=-9.81 * jnp.ones_like(state.v), ledger=state.ledger * 0)

    def quantities(self):
        return {
            "position": Quantity(("axis",), "m", "position"),
            "speed": Quantity((), "m s-1", "speed"),
            "mode": Quantity((), "1", "mode"),
        }

    def observe(self, state):
        return {"position": state.q, "speed": jnp.abs(state.v[2]), "mode": state.mode}

    def coordinates(self):
        return {"axis": ["x", "y", "z"], "unused": [1, 2]}

    def event_quantities(self):
        return {"heat": Quantity((), "J", "heat of the impact")}


def state(t, speed, mode=0):
    return State.of(t=t, q=[0.0, 0.0, float(t)], v=[0.0, 0.0, speed], ledger=[0.0], mode=mode)


def states(times):
    columns = [state(t, 1.0) for t in times]
    return State(
        t=jnp.asarray(times, float),
        q=jnp.stack([one.q for one in columns]),
        v=jnp.stack([one.v for one in columns]),
        ledger=jnp.zeros((len(times), 1)),
        mode=jnp.zeros(len(times), int),
    )


def bounce(t, before=2.0, after=3.0, **data):
    return Event("floor", 0, t, state(t, before), state(t, after, mode=1), data)


def trajectory(knots, events=()):
    """A record whose states keep their values between the knots."""

    def flow(states, times):
        return State(t=times, q=states.q, v=states.v, ledger=states.ledger, mode=states.mode)

    return Trajectory(knots, tuple(events), Outcome("finished", "Reached t = 1 s."), flow)


def dataset(times=(0.0, 0.5, 1.0), events=(), **attributes):
    return io.to_dataset(Ball(), trajectory(states(times), events), times, attributes)


def test_the_time_of_a_jump_appears_twice_with_both_values():
    data = dataset(events=[bounce(0.7)])
    np.testing.assert_array_equal(data.time, [0.0, 0.5, 0.7, 0.7, 1.0])
    np.testing.assert_array_equal(data.speed, [1.0, 1.0, 2.0, 3.0, 1.0])
    np.testing.assert_array_equal(data.mode, [0, 0, 0, 1, 0])
    np.testing.assert_array_equal(data.jump_side, [0, 0, -1, 1, 0])


def test_a_sample_at_the_time_of_a_jump_gives_way():
    data = dataset(events=[bounce(0.5)])
    np.testing.assert_array_equal(data.time, [0.0, 0.5, 0.5, 1.0])
    np.testing.assert_array_equal(data.speed, [1.0, 2.0, 3.0, 1.0])


def test_events_at_one_instant_are_one_jump_and_two_rows_of_the_table():
    data = dataset(events=[bounce(0.5, 2.0, 3.0), bounce(0.5, 3.0, 4.0)])
    np.testing.assert_array_equal(data.speed, [1.0, 2.0, 4.0, 1.0])
    np.testing.assert_array_equal(data.event_time, [0.5, 0.5])


def test_events_at_the_first_and_last_sample_keep_their_order():
    data = dataset(events=[bounce(0.0), bounce(1.0)])
    np.testing.assert_array_equal(data.speed, [2.0, 3.0, 1.0, 2.0, 3.0])


def test_every_variable_has_units_and_a_long_name():
    data = dataset(events=[bounce(0.7, heat=1.0, normal=[0.0, 0.0, 1.0], flavour=2)])
    for name, variable in data.variables.items():
        if name != "axis":
            assert "units" in variable.attrs, name
            assert variable.attrs["long_name"], name
    assert data.event_heat.units == "J"
    assert data.event_normal.dims == ("event", "axis")


def test_attributes_tell_where_the_run_comes_from_and_how_it_ended():
    data = dataset(scenario="kind = 'ball'", settings={"rtol": 1e-9}, seed=None)
    assert data.attrs["kind"] == "ball"
    assert data.attrs["saltus_version"] == sl.__version__
    assert data.attrs["outcome"] == "finished"
    assert data.attrs["outcome_message"] == "Reached t = 1 s."
    assert data.attrs["scenario"] == "kind = 'ball'"
    assert data.attrs["settings"] == '{"rtol": 1e-09}'
    assert "seed" not in data.attrs
    assert io.mode_names(data) == ["free flight", "rest"]
    assert data.mode.flag_meanings == "free_flight rest"
    assert list(data.axis.values) == ["x", "y", "z"]
    assert "unused" not in data.coords


def test_what_an_event_does_not_say_is_filled():
    events = [bounce(0.1, heat=1.0), bounce(0.2, body=3, word="hit"), bounce(0.3, point=[1.0, 2.0])]
    data = dataset(events=events)
    np.testing.assert_array_equal(data.event_heat, [1.0, np.nan, np.nan])
    np.testing.assert_array_equal(data.event_body, [-1, 3, -1])
    assert list(data.event_word.values) == ["", "hit", ""]
    np.testing.assert_array_equal(data.event_point, [[np.nan, np.nan], [np.nan, np.nan], [1.0, 2.0]])


@pytest.mark.parametrize("n", [1, 255, 256, 257, 20000])
def test_any_number_of_samples_is_observed(n):
    times = np.linspace(0.0, 1.0, n)
    rows = np.stack([times] * 3, axis=1)
    many = State(t=times, q=rows, v=0 * rows, ledger=rows[:, :1], mode=np.zeros(n, int))
    data = io.to_dataset(Ball(), trajectory(many), times)
    np.testing.assert_array_equal(data.position[:, 1], times)


@pytest.mark.parametrize("name", ["run.nc", "run.zarr"])
@pytest.mark.parametrize("events", [[], [bounce(0.7, heat=np.nan, word="hit", normal=[0.0, 0.0, 1.0])]])
def test_a_stored_run_comes_back_as_it_was(tmp_path, name, events):
    data = dataset(events=events, scenario="kind = 'ball'\nwith = 'lines — and µ'")
    for _ in range(2):  # the second time over an existing file
        io.write(data, tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    again = io.read(tmp_path / name)
    xr.testing.assert_equal(again, data)
    assert again.attrs == data.attrs
    assert again.speed.attrs == data.speed.attrs


def test_nothing_is_left_behind_when_writing_fails(tmp_path, monkeypatch):
    (tmp_path / "run.nc").write_bytes(b"before")
    data = dataset()

    def fail(data, path):
        path.write_bytes(b"half")
        raise RuntimeError("disk full")

    monkeypatch.setattr(io.dataset, "_write_netcdf", fail)
    with pytest.raises(RuntimeError, match="disk full"):
        io.write(data, tmp_path / "run.nc")
    assert [path.name for path in tmp_path.iterdir()] == ["run.nc"]
    assert (tmp_path / "run.nc").read_bytes() == b"before"


@pytest.mark.parametrize(
    ("name", "words"),
    [("run.txt", "Known endings: .nc"), ("missing/run.nc", "no folder"), ("folder.nc", "is a folder")],
)
def test_a_path_that_cannot_be_written_is_refused(tmp_path, name, words):
    (tmp_path / "folder.nc").mkdir()
    with pytest.raises(ScenarioError, match=words):
        io.write(dataset(), tmp_path / name)


def test_files_that_are_no_runs_are_refused(tmp_path):
    (tmp_path / "text.nc").write_text("no NetCDF")
    xr.Dataset({"a": 1}).to_netcdf(tmp_path / "other.nc", engine="netcdf4")
    for name, words in [("none.nc", "There is no file"), ("text.nc", "Cannot read"), ("other.nc", "is not a run")]:
        with pytest.raises(ScenarioError, match=words) as caught:
            io.read(tmp_path / name)
        assert "\n" not in str(caught.value)


def test_a_quantity_that_the_system_does_not_name_is_an_error():
    class Silent(Ball):
        def quantities(self):
            return {}

    with pytest.raises(ValueError, match="does not name"):
        io.to_dataset(Silent(), trajectory(states([0.0])), [0.0])


def test_a_number_of_times_means_evenly_over_the_run():
    data = io.to_dataset(Ball(), trajectory(states([2.0, 3.0, 4.0])), 5)
    np.testing.assert_array_equal(data.time, [2.0, 2.5, 3.0, 3.5, 4.0])


@pytest.mark.parametrize("times", [1, 2.5, -3])
def test_too_few_times_are_refused(times):
    with pytest.raises(ValueError, match="whole number >= 2"):
        io.to_dataset(Ball(), trajectory(states([0.0, 1.0])), times)
