"""Which number means what where bodies in lasting contact are stepped as rows of numbers.

The variables of a band are CLOCK and LOST, then one row for each body, then the marks of its contacts.
"""

from __future__ import annotations

import numpy as np

# Of the variables of a band: time since its start [s], energy lost to friction [J]; the rows begin at HEAD.
CLOCK, LOST, HEAD = 0, 1, 2
# Of a row: centre [m], quaternion, velocity [m s-1], angular velocity [rad s-1].
CENTRE, QUATERNION, VELOCITY, TURNING = slice(0, 3), slice(3, 7), slice(7, 10), slice(10, 13)
PLACE, MOTION = slice(0, 7), slice(7, 13)  # the first two and the last two of these
ROW = 13  # numbers of a row
ARGUMENTS = (CENTRE, VELOCITY, QUATERNION, TURNING)  # in the order in which `Body.with_motion` takes them


def rows_in(y: np.ndarray, count: int) -> np.ndarray:
    """The rows of so many bodies in the variables of a band; a view."""
    return y[..., HEAD : HEAD + ROW * count].reshape(*y.shape[:-1], count, ROW)


def with_unit_quaternions(y: np.ndarray, count: int) -> np.ndarray:
    """The variables of a band of so many bodies, in one place or several, with quaternions of length one; in place."""
    rows = rows_in(y, count)
    rows[..., QUATERNION] /= np.sqrt(np.sum(rows[..., QUATERNION] ** 2, axis=-1, keepdims=True))
    return y


def marks_in(y: np.ndarray, count: int) -> np.ndarray:
    """The marks of the contacts in the frames of both partners, behind the rows of so many bodies; a view."""
    return y[..., HEAD + ROW * count :].reshape(*y.shape[:-1], -1, 2, 3)
