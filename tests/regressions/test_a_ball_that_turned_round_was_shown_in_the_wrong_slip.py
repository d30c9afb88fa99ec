"""A ball on the Butterfly that stops and slips the other way is held for a moment; what was shown of it was wrong.

Samples within that moment went on from before the stop, through it: slip and friction had the wrong sign, and energy
that was lost came back.
"""

import numpy as np
import pytest

from saltus.diagnostics import energy_balance
from saltus.scenarios.loader import validate

TURNS = {
    "kind": "butterfly",
    "mass": 0.05,
    "radius": 0.025,
    "half_angle": 0.0793,
    "profile": {"type": "butterfly", "a": 0.11, "b": 0.03},
    "turning": {"type": "sinusoid", "amplitude": 0.2, "frequency": 4.0},
    "friction": {"mu": 0.036743, "model": "pade", "pressure": 3.0, "spot_radius": 5.57e-4, "sliding_shift": 0.14166},
    "start": {"speed": -0.0411826},
    "solve": {"until": 0.2},
}


def test_samples_while_a_ball_turns_round_show_it_held():
    run = validate(TURNS).simulate()
    turn = next(event for event in run.events if event.name == "reverses")
    first, last = turn.t, float(turn.after.t)
    assert last - first > 1e-5
    shown = run.to_dataset(times=np.linspace(first, last, 50)[1:-1])
    meanwhile = (shown.time > first) & (shown.time < last)
    # It stands on the plates to rounding, and loses nothing.
    assert float(np.abs(shown["slip"].values[meanwhile.values]).max()) < 1e-12
    assert (np.diff(shown["dissipated_energy"].values) >= -1e-15).all()


def test_the_energy_balance_of_a_ball_that_turns_round_does_not_hang_on_the_samples():
    run = validate(TURNS).simulate()
    few, many = (energy_balance(run.to_dataset(times=count)).relative for count in (5, 4001))
    assert many == pytest.approx(few, abs=1e-7)
