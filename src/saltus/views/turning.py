"""How a ball or body is turned, from what a dataset tells."""

from __future__ import annotations

import numpy as np
import xarray as xr


def radius(dataset: xr.Dataset) -> float:
    """Radius of the ball, from its centre and where it touches."""
    between = dataset["position"].values[:, None] - dataset["contact_position"].values
    return float(np.nanmedian(np.linalg.norm(between, axis=-1)))


def orientations(times: np.ndarray, angular_velocity: np.ndarray) -> np.ndarray:
    """Quaternions (w, x, y, z) since the first row; the angular velocity is taken as steady between rows."""
    turned = [np.array([1.0, 0.0, 0.0, 0.0])]
    for row in range(1, len(times)):
        mean = 0.5 * (angular_velocity[row] + angular_velocity[row - 1]) * (times[row] - times[row - 1])
        turned.append(_product(_quaternion(mean), turned[-1]))
    return np.array(turned)


def rotation_matrix(q: np.ndarray) -> np.ndarray:
    """Rotation matrix of a unit quaternion (w, x, y, z), body to lab."""
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _quaternion(vector: np.ndarray) -> np.ndarray:
    """Rotation about `vector` by its length."""
    angle = float(np.linalg.norm(vector))
    if not angle > 0.0:
        return np.array([1.0, 0.0, 0.0, 0.0])
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * vector / angle])


def _product(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    scalar = first[0] * second[0] - first[1:] @ second[1:]
    vector = first[0] * second[1:] + second[0] * first[1:] + np.cross(first[1:], second[1:])
    return np.concatenate([[scalar], vector])
