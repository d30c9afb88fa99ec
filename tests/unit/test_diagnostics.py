import numpy as np
import pytest
import xarray as xr

from saltus import diagnostics


def run(kinetic, potential, dissipated, **more):
    data = {"kinetic_energy": kinetic, "potential_energy": potential, "dissipated_energy": dissipated}
    return xr.Dataset({name: ("time", np.asarray(values, float)) for name, values in data.items()} | more)


def test_the_balance_closes_when_every_joule_is_accounted_for():
    balance = diagnostics.energy_balance(run([3.0, 2.0, 0.0], [1.0, 1.5, 2.0], [0.0, 0.5, 2.0]))
    assert (balance.initial, balance.final, balance.dissipated) == (4.0, 2.0, 2.0)
    assert balance.residual == 0.0 and balance.relative == 0.0


def test_the_worst_moment_counts_not_only_the_end():
    balance = diagnostics.energy_balance(run([3.0, 2.0, 3.0], [1.0, 1.5, 1.0], [0.0, 0.0, 0.0]))
    assert balance.residual == pytest.approx(0.5)
    assert balance.relative == pytest.approx(0.5 / 3.0)


def test_the_datum_of_potential_energy_does_not_matter():
    low = diagnostics.energy_balance(run([3.0, 2.0], [0.0, 0.9], [0.0, 0.0]))
    high = diagnostics.energy_balance(run([3.0, 2.0], [1e6, 1e6 + 0.9], [0.0, 0.0]))
    assert low.relative == pytest.approx(high.relative, rel=1e-8)  # 1e6 keeps 1e-10 of 0.1


def test_a_system_at_rest_has_a_closed_balance():
    assert diagnostics.energy_balance(run([0.0, 0.0], [1.0, 1.0], [0.0, 0.0])).relative == 0.0


def test_the_drift_is_the_largest_relative_change_of_a_length():
    lengths = xr.Variable(("time", "rod"), [[1.0, 2.0], [1.0, 2.002], [0.9999, 2.0]])
    assert diagnostics.constraint_drift(xr.Dataset({"rod_length": lengths})) == pytest.approx(1e-3)


def test_quaternions_should_keep_their_norm():
    quaternions = xr.Variable(("time", "body", "quaternion_axis"), [[[1.0, 0, 0, 0]], [[0.0, 1.01, 0, 0]]])
    assert diagnostics.constraint_drift(xr.Dataset({"quaternion": quaternions})) == pytest.approx(0.01)


def test_a_system_without_constraints_has_no_drift():
    assert diagnostics.constraint_drift(run([0], [0], [0])) is None
    no_rods = xr.Variable(("time", "rod"), np.empty((3, 0)))
    assert diagnostics.constraint_drift(xr.Dataset({"rod_length": no_rods})) is None


def test_periods_of_a_sine_are_right_to_the_accuracy_of_a_spline():
    times = np.linspace(0.0, 10.0, 1001)
    series = xr.DataArray(np.sin(2 * np.pi * times / 1.25 + 0.3), coords={"time": times})
    found = diagnostics.periods(series, level=0.0)
    assert len(found) == 7
    np.testing.assert_allclose(found, 1.25, rtol=1e-7)  # 125 samples per period


def test_periods_survive_undefined_values_and_doubled_times():
    times = np.sort(np.append(np.linspace(0.0, 10.0, 1001), 5.0))
    values = np.sin(2 * np.pi * times / 1.25)
    values[200:203] = np.nan
    found = diagnostics.periods(xr.DataArray(values, coords={"time": times}), level=0.0)
    np.testing.assert_allclose(found, 1.25, rtol=1e-5)  # the gap costs digits


def test_too_few_values_have_no_period():
    series = xr.DataArray([np.nan, 1.0, 2.0], coords={"time": [0.0, 1.0, 2.0]})
    assert diagnostics.periods(series).size == 0
