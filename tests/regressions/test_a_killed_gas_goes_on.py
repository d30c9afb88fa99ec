"""A long run of a gas that is killed goes on from its checkpoint, to the same bits."""

import subprocess
import sys
import time

import pytest
import xarray as xr

# The command as users give it, but that saves ten times a second.
OFTEN = (
    "import sys; from saltus.gas.run import Checkpoint; Checkpoint.__init__.__kwdefaults__['every'] = 0.1; "
    "from saltus.__main__ import main; sys.exit(main())"
)
CHANGES = ("fill.count=64", "measure.equilibrate=2000", "measure.collisions=150000")


def command(out, *more: str) -> list[str]:
    changes = [word for change in CHANGES for word in ("--set", change)]
    return [sys.executable, "-c", OFTEN, "run", "gas", "--out", str(out), *changes, *more]


@pytest.mark.slow
def test_a_gas_that_is_killed_and_resumed_ends_as_one_that_is_not(tmp_path):
    whole, killed = tmp_path / "whole.nc", tmp_path / "killed.nc"
    subprocess.run(command(whole), check=True, capture_output=True)
    process = subprocess.Popen(command(killed), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    began = time.monotonic()
    while not list(tmp_path.glob("killed*.npz*")) and process.poll() is None and time.monotonic() - began < 300.0:
        time.sleep(0.05)
    process.kill()
    process.communicate()
    assert process.returncode < 0 and not killed.exists(), "It had ended before it was killed."
    subprocess.run(command(killed, "--resume"), check=True, capture_output=True)
    with xr.open_dataset(whole) as one, xr.open_dataset(killed) as two:
        xr.testing.assert_identical(one.load().drop_attrs(), two.load().drop_attrs())
    assert not list(tmp_path.glob("killed*.npz*"))
