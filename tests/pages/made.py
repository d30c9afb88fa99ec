"""Small datasets of every kind, made without a simulation: what a page must show of them is known."""

import json

import numpy as np
import xarray as xr

AXES = ["x", "y", "z"]
JUMP = 0.6  # time of the only jump


def times():
    """Rows from 0 to 1 s with both sides of a jump."""
    time = np.sort(np.append(np.linspace(0.0, 1.0, 21)[np.arange(21) != 12], [JUMP, JUMP]))
    side = np.zeros(len(time), np.int8)
    side[np.flatnonzero(time == JUMP)] = [-1, 1]
    return time, side


def dataset(kind, variables, attributes=None, **coordinates):
    time, side = times()
    ones = np.ones(len(time))
    common = {name: ("time", ones, {"units": "J"}) for name in ("kinetic_energy", "potential_energy")}
    common["dissipated_energy"] = ("time", 0.1 * (side == 1) + 0.1 * (time > JUMP), {"units": "J"})
    common["jump_side"] = ("time", side)
    events = {
        "event_time": ("event", [JUMP], {"units": "s"}),
        "event_name": ("event", np.array(["stop"], dtype=object)),
        "event_index": ("event", [0]),
        "event_impulse": ("event", [2.5], {"units": "N s"}),
    }
    told = {
        "kind": kind,
        "mode_names": "slip, stick",
        "outcome": "finished",
        "outcome_ok": 1,
        "outcome_message": "Reached t = 1 s.",
        "saltus_version": "0",
        "scenario": f'# what this is <script>alert("no")</script>\nkind = "{kind}"\n',
        "scenario_name": f"made {kind}",
    }
    return xr.Dataset({**common, **variables, **events}, {"time": time, **coordinates}, {**told, **(attributes or {})})


def sliding():
    time, side = times()
    x = np.stack([0.3 * np.cos(3 * time), 0.4 * np.cos(3 * time)], axis=1)
    y = np.stack([0.3 * np.sin(3 * time), 0.4 * np.sin(3 * time)], axis=1)
    position = np.stack([x + 640_000.0, y + 5_000_000.0, 0.5 * (x**2 + y**2) + 1000.0], axis=-1)
    gx, gy = np.meshgrid(np.linspace(-0.6, 0.6, 31), np.linspace(-0.6, 0.6, 31))
    height = np.where(np.hypot(gx, gy) < 0.55, 0.5 * (gx**2 + gy**2), np.nan) + 1000.0
    grid = ("ground_row", "ground_column")
    modes = np.where((time > JUMP) | (side == 1), 1, 0)[:, None] * np.array([1, 0])
    variables = {
        "position": (("time", "mass", "axis"), position, {"units": "m"}),
        "velocity": (("time", "mass", "axis"), np.ones_like(position), {"units": "m s-1"}),
        "normal_force": (("time", "mass"), np.ones((len(time), 2)), {"units": "N"}),
        "rod_force": (("time", "rod"), np.where(time > JUMP, np.nan, np.sin(time))[:, None], {"units": "N"}),
        "rod_length": (("time", "rod"), np.ones((len(time), 1)), {"units": "m"}),
        "mode": (("time", "mass"), modes),
        "ground_x": (grid, gx + 640_000.0),
        "ground_y": (grid, gy + 5_000_000.0),
        "ground_height": (grid, height),
    }
    return dataset("sliding", variables, axis=AXES, rod=["0-1"])


def chain():
    time, _ = times()
    off = np.where(time < JUMP, 2, 3)
    position = np.zeros((len(time), 4, 2))
    position[:, 0, 0], position[:, 1, 0] = 1.0 + time, time
    position[:, 2, 1], position[:, 3, 1] = -1.0 + time, -2.0 + time
    variables = {
        "position": (("time", "particle", "axis"), position, {"units": "m"}),
        "velocity": (("time", "particle", "axis"), np.ones_like(position), {"units": "m s-1"}),
        "tension": (("time", "link"), np.ones((len(time), 3)) * time[:, None], {"units": "N"}),
        "edge_force": (("time", "axis"), np.ones((len(time), 2)), {"units": "N"}),
        "off_table": ("time", off),
        "table_speed": ("time", time, {"units": "m s-1"}),
        "jerk_loss": ("time", 0.1 * (time > JUMP), {"units": "J"}),
        "friction_loss": ("time", np.zeros(len(time)), {"units": "J"}),
        "mode": ("time", np.zeros(len(time), int)),
    }
    return dataset("chain", variables, axis=["x", "y"], particle=[1, 2, 3, 4], link=[1, 2, 3])


def ball(kind):
    time, _ = times()
    still = np.zeros(len(time))
    sides = [0.0] if kind == "plane_ball" else [0.1, -0.1]
    position = np.stack([5 * time, still, np.full(len(time), 0.2)], axis=1)
    touch = np.stack([position + np.array([0.0, side, -np.sqrt(0.04 - side**2)]) for side in sides], axis=1)
    pair = ("time", "contact", "axis")
    variables = {
        "position": (("time", "axis"), position, {"units": "m"}),
        "velocity": (("time", "axis"), np.ones_like(position), {"units": "m s-1"}),
        "angular_velocity": (("time", "axis"), np.stack([still, still + 25.0, still], axis=1), {"units": "rad s-1"}),
        "contact_position": (pair, touch, {"units": "m"}),
        "slip": (pair, np.zeros_like(touch), {"units": "m s-1"}),
        "spin": (("time", "contact"), np.zeros(touch.shape[:2]), {"units": "rad s-1"}),
        "normal_force": (("time", "contact"), np.ones(touch.shape[:2]), {"units": "N"}),
        "friction_force": (pair, -np.ones_like(touch), {"units": "N"}),
        "mode": ("time", np.zeros(len(time), int)),
    }
    if kind == "butterfly":
        around = np.linspace(0.0, 2 * np.pi, 25)
        flat = np.stack([0.3 * np.sin(around), 0 * around, 0.15 * np.cos(around)], axis=-1)
        c, s = np.cos(time)[:, None], np.sin(time)[:, None]
        turned = np.stack(
            [c * flat[:, 0] - s * flat[:, 2], 0 * c + flat[:, 1], s * flat[:, 0] + c * flat[:, 2]], axis=-1
        )
        variables["outline"] = (("time", "edge", "axis"), turned, {"units": "m"})
        for name in ("plate_angle", "profile_angle", "required_friction"):
            variables[name] = ("time", time, {"units": "rad"})
    return dataset(kind, variables, axis=AXES, contact=["plane"] if kind == "plane_ball" else ["left", "right"])


def bodies():
    time, _ = times()
    position = np.stack([np.stack([time, 0 * time, 2 - time], -1), np.stack([0 * time, 2 * time, 1 + 0 * time], -1)], 1)
    angle = time[:, None] * [3.0, 1.0]
    quaternion = np.stack([np.cos(angle / 2), np.sin(angle / 2), 0 * angle, 0 * angle], axis=-1)
    vector = ("time", "body", "axis")
    variables = {
        "position": (vector, position, {"units": "m"}),
        "velocity": (vector, np.ones_like(position), {"units": "m s-1"}),
        "quaternion": (("time", "body", "quaternion_part"), quaternion, {"units": "1"}),
        "angular_velocity": (vector, np.ones_like(position), {"units": "rad s-1"}),
        "gap": (("time", "body"), np.abs(position[..., 2]), {"units": "m"}),
        "contact_force": (("time", "body"), np.zeros((len(time), 2)), {"units": "N"}),
        "mode": (("time", "body"), np.zeros((len(time), 2), int)),
        "event_point": (("event", "axis"), [[0.0, 0.0, 0.5]], {"units": "m"}),
    }
    attributes = {
        "shape_axes": json.dumps([[0.5, 0.3, 0.2], [0.4, 0.4, 0.4]]),
        "shape_exponents": json.dumps([[2.0, 2.0, 2.0], [4.0, 4.0, 4.0]]),
        "walls": json.dumps([[0.0, 0.0, 1.0, 0.0]]),
        "period": "[]",
    }
    return dataset("bodies", variables, attributes, axis=AXES)


def own():
    """A system of somebody's own: one number over time, no energies, no positions."""
    time, _ = times()
    data = dataset("moving_table", {"height": ("time", np.sin(time), {"units": "m", "long_name": "height"})})
    return data.drop_vars(["kinetic_energy", "potential_energy", "dissipated_energy"])


MADE = {
    "sliding": sliding,
    "chain": chain,
    "plane_ball": lambda: ball("plane_ball"),
    "rails": lambda: ball("rails"),
    "butterfly": lambda: ball("butterfly"),
    "bodies": bodies,
    "own": own,
}
