"""How bodies are turned, and until when anything moves, from what a dataset tells."""

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


def moves_until(dataset: xr.Dataset) -> float:
    """When the last visible motion ends [s]: a replay need not show what rests."""
    time = dataset["time"].values
    if "position" not in dataset or dataset["position"].dims[0] != "time":
        return float(time[-1])
    place = dataset["position"].values.reshape(len(time), -1)
    place = np.nan_to_num(place)
    size = float(np.max(np.ptp(place, axis=0), initial=0.0))
    moved = np.abs(place - place[-1]).max(axis=1, initial=0.0) > 1e-4 * size
    if "quaternion" in dataset:
        turned = dataset["quaternion"].values.reshape(len(time), -1)
        moved |= np.abs(turned - turned[-1]).max(axis=1) > 1e-3
    elif "angular_velocity" in dataset:
        turning = np.abs(dataset["angular_velocity"].values.reshape(len(time), -1)).max(axis=1)
        moved |= turning > 1e-4 * turning.max(initial=0.0)
    last = int(np.flatnonzero(moved)[-1]) if moved.any() else len(time) - 1
    end = max([float(time[min(last + 1, len(time) - 1)]), *dataset["event_time"].values.tolist()])
    return min(end + 0.02 * float(time[-1] - time[0]), float(time[-1]))


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
