"""Parameters of a scenario from what was observed of it, with their uncertainty."""

from saltus.calibration.fit import calibrate
from saltus.calibration.observation import Observation
from saltus.calibration.parameter import Parameter
from saltus.calibration.result import Calibration

__all__ = ["Calibration", "Observation", "Parameter", "calibrate"]
