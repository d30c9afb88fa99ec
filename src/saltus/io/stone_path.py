"""The way of a stone over a terrain, as closely as its own run knows it: what maps and barriers are made of.

The samples of a dataset are as many as its user asks for. The path is looked at in every step of the run instead, so
often that parabolas through three looks follow it: in flight they are exact for the place, the kinetic energy and the
square of the speed; elsewhere a stone turns by a quarter radian at most from one look to the next, and goes over
half a pixel. Looks within a step are at the cubics through its ends: to integrate once more takes ten times as long.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

if TYPE_CHECKING:
    from saltus.hybrid import AbstractTrajectory, HybridSystem, State

    Observe = Callable[[HybridSystem, State], dict[str, np.ndarray]]

LOOKS = 3  # in each piece: at its ends and in the middle
TURN = 0.25  # from one look to the next at most [rad]
CELLS = 0.5  # pixels that a stone goes over from one look to the next at most
MOST = 1000  # pieces of one step; the example `rockfall` needs 5, and any numbers must end with a path that fits
AT_ONCE = 4096  # times at which a run is looked at together
FINE = 8  # parts of each piece between which a path is straight enough for what is crossed
SHORT = 1e-8  # part of a run below which a step is none: in the shortest something may have jumped

SEEN = ("position", "velocity", "kinetic_energy", "jump_height")  # quantities of a run that its path is made of
# Name of each variable of a path: its dimensions, units, and what it is.
VARIABLES = {
    "path_time": (("piece", "look"), "s", "times at which the path was looked at, three in each piece"),
    "path_position": (("piece", "look", "axis"), "m", "position of the centre of mass there"),
    "path_kinetic_energy": (("piece", "look"), "J", "kinetic energy there"),
    "path_jump_height": (("piece", "look"), "m", "height of the lowest point over the ground there"),
    "path_speed": (("piece", "look"), "m s-1", "speed of the centre of mass there"),
}


def cell_of(system: Any) -> float | None:
    """The pixel of the terrain on which a stone moves [m]; None for all other systems: nothing is mapped there."""
    grid = getattr(getattr(system, "surface", None), "grid", None)
    return None if grid is None or system.kind != "ground_body" else float(min(grid.dx, grid.dy))


def n_pieces(before: State, after: State, cell: float) -> np.ndarray:
    """Into how many pieces steps are to be parted, none for steps of no length.

    How fast a stone rises or falls is no matter: it goes over no pixels so, and in flight three looks are exact.

    Args:
        before: The states from which the steps began, stacked.
        after: Those to which they led.
        cell: Pixel of the terrain [m].
    """
    duration = np.asarray(after.t) - np.asarray(before.t)
    speed, turning = (
        np.maximum(*(np.linalg.norm(getattr(state.v, name)[..., :axes], axis=-1) for state in (before, after)))
        for name, axes in (("velocity", 2), ("turning", 3))
    )
    looks = duration * np.maximum(speed / (CELLS * cell), turning / TURN)
    count = np.ceil(np.nan_to_num(looks, posinf=0.0) / (LOOKS - 1))
    return np.where(duration > 0.0, np.clip(count, 1.0, MOST), 0.0).astype(int)


def look_times(first: np.ndarray, last: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The looks in steps that are parted into so many pieces each: to which step each piece belongs, and its times."""
    which = np.repeat(np.arange(len(count)), count)
    number = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
    share = (number[:, None] + np.linspace(0.0, 1.0, LOOKS)) / count[which][:, None]
    times = first[which][:, None] + share * (last - first)[which][:, None]
    return which, np.clip(times, first[which][:, None], last[which][:, None])


def path_variables(times: np.ndarray, seen: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What is kept of looks, given one after the other, by the names of `VARIABLES` and piece by piece."""
    named = {
        "path_time": times,
        "path_position": seen["position"],
        "path_kinetic_energy": seen["kinetic_energy"],
        "path_jump_height": seen["jump_height"],
        "path_speed": np.linalg.norm(seen["velocity"], axis=-1),
    }
    return {name: np.reshape(value, (-1, LOOKS, *np.shape(value)[1:])) for name, value in named.items()}


def path_of(system: HybridSystem, trajectory: AbstractTrajectory, observe: Observe) -> dict[str, np.ndarray]:
    """The path of a run, as `path_along` has it."""
    import jax

    if cell_of(system) is None:
        return {}
    return path_along(system, jax.tree.map(np.asarray, trajectory.knots), observe)


def path_along(system: HybridSystem, knots: State, observe: Observe) -> dict[str, np.ndarray]:
    """The path of a run, by the names of `VARIABLES`; empty for what is no stone over a terrain.

    Args:
        system: What moved.
        knots: Its states at the steps of the run, and before and after its jumps, stacked: arrays of NumPy.
        observe: `io.dataset.observe`.
    """
    import jax

    cell = cell_of(system)
    if cell is None:
        return {}
    before, after = (jax.tree.map(lambda leaf, part=part: leaf[part], knots) for part in (np.s_[:-1], np.s_[1:]))
    t = np.asarray(knots.t)
    first, last = t[:-1], t[1:]
    count = np.where(last - first > SHORT * (t[-1] - t[0]), n_pieces(before, after, cell), 0)
    if not count.any():  # it never moves: one piece where it is
        first, last, count = t[:1], t[:1], np.ones(1, int)
    which, times = look_times(first, last, count)
    begins, ends = times == first[which][:, None], times == last[which][:, None]
    inside = ~(begins | ends)
    # A look at the end of a step sees the state before a jump, one at its beginning that after it.
    step = np.broadcast_to(which[:, None], times.shape)
    at_knots = observe(system, knots)
    seen = {name: at_knots[name][np.where(begins, step, step + ends)] for name in SEEN}
    if inside.any():
        looked_at = _between(before, after, at_knots["kinetic_energy"], step[inside], times[inside], system, observe)
        for name, values in looked_at.items():
            seen[name][inside] = values
    return path_variables(times.ravel(), {name: values.reshape(-1, *values.shape[2:]) for name, values in seen.items()})


def _between(before: State, after: State, energy, step, times, system: Any, observe: Observe) -> dict[str, np.ndarray]:
    """What steps show at times within them, on the cubics through the states at their ends.

    In flight place and velocity are exact so, and the energy of turning is constant; in contact it goes evenly from one
    end of a step to the other, which is right to a few per cent of what the stone has there.

    Args:
        before: States at the beginning of the steps, stacked.
        after: Those at their end.
        energy: Kinetic energy of the states one after the other [J].
        step: Which step each time is in.
        times: When to look [s].
        system: What moves.
        observe: `io.dataset.observe`.
    """
    import jax

    from saltus.numerics.on_host import quaternion_rates
    from saltus.numerics.runge_kutta import cubic

    def ends(part: Callable[[State], Any]) -> tuple[np.ndarray, np.ndarray]:
        return part(before)[step], part(after)[step]

    begins, stops = ends(lambda state: state.t)
    duration = (stops - begins)[:, None]
    share = (times - begins)[:, None] / duration
    velocities, turnings = ends(lambda state: state.v.velocity), ends(lambda state: state.v.turning)
    (c0, c1), (q0, q1) = ends(lambda state: state.q.centre), ends(lambda state: state.q.quaternion)
    way = c0, duration * velocities[0], c1, duration * velocities[1], share
    centre, velocity = cubic(*way), _slope_of_cubic(*way) / duration
    turn0, turn1 = (duration * quaternion_rates(q, w) for q, w in zip((q0, q1), turnings, strict=True))
    quaternion = cubic(q0, turn0, q1, turn1, share)
    facing, turning = ((1.0 - share) * a + share * b for a, b in (ends(lambda state: state.q.facing), turnings))
    like = jax.tree.map(lambda leaf: leaf[step], before)
    quaternion = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
    place = like.q.replace(centre=centre, quaternion=quaternion, facing=facing)
    states = like.replace(t=times, q=place, v=like.v.replace(velocity=velocity, turning=turning))
    blocks = [slice(k, k + AT_ONCE) for k in range(0, len(times), AT_ONCE)]
    parts = [observe(system, jax.tree.map(lambda leaf, block=block: leaf[block], states)) for block in blocks]
    seen = {name: np.concatenate([part[name] for part in parts]) for name in SEEN}
    half_mass = 0.5 * float(system.solid.mass)
    first, last = (half_mass * np.sum(v * v, axis=-1) for v in velocities)
    of_turning = (1.0 - share[:, 0]) * (energy[step] - first) + share[:, 0] * (energy[step + 1] - last)
    return seen | {"kinetic_energy": of_turning + half_mass * np.sum(velocity * velocity, axis=-1)}


def _slope_of_cubic(y0, slope0, y1, slope1, x) -> np.ndarray:
    """The slope at x of `numerics.runge_kutta.cubic`."""
    return slope0 + x * (2 * (3 * (y1 - y0) - 2 * slope0 - slope1) + 3 * x * (2 * (y0 - y1) + slope0 + slope1))


def as_variables(path: Mapping[str, np.ndarray]) -> dict[str, xr.Variable]:
    """A path as variables of a dataset, with dimensions and units."""
    about = {name: VARIABLES[name] for name in path}
    return {
        name: xr.Variable(dims, path[name], {"units": units, "long_name": phrase})
        for name, (dims, units, phrase) in about.items()
    }


@dataclasses.dataclass(frozen=True)
class StonePath:
    """The path of a run as parabolas, one for each piece.

    Args:
        pieces: x, y, kinetic energy, jump height and square of the speed at the three looks of each piece.
        close: Whether the looks are those of the run itself; else they are its samples, with straight lines between.
    """

    pieces: np.ndarray
    close: bool

    @classmethod
    def of(cls, dataset: xr.Dataset) -> StonePath:
        """The path that a dataset keeps, or, of one without, that from sample to sample."""
        if "path_time" in dataset:
            names = ("path_kinetic_energy", "path_jump_height", "path_speed")
            place = dataset["path_position"].values[..., :2]
            looks = np.concatenate([place, *(dataset[name].values[..., None] for name in names)], axis=-1)
        else:
            speed = np.linalg.norm(dataset["velocity"].values, axis=-1)
            columns = [dataset["kinetic_energy"].values, dataset["jump_height"].values, speed]
            rows = np.column_stack([dataset["position"].values[:, :2], *columns])
            first, last = (rows[:-1], rows[1:]) if len(rows) > 1 else (rows, rows)
            looks = np.stack([first, 0.5 * (first + last), last], axis=1)
        return cls(np.concatenate([looks[..., :-1], looks[..., -1:] ** 2], axis=-1), "path_time" in dataset)

    def along(self, spacing: float = np.inf) -> tuple[np.ndarray, np.ndarray]:
        """Piece and share of it of points along the path, no farther apart than this [m]; each piece with both ends."""
        way = np.linalg.norm(np.diff(self.pieces[:, :, :2], axis=1), axis=-1).sum(axis=1)
        parts = np.maximum(np.ceil(way / spacing), FINE).astype(int)
        piece = np.repeat(np.arange(len(parts)), parts + 1)
        number = np.arange(len(piece)) - np.repeat(np.cumsum(parts + 1) - parts - 1, parts + 1)
        return piece, number / parts[piece]

    def at(self, piece: np.ndarray, share: np.ndarray) -> np.ndarray:
        """x, y, kinetic energy, jump height and speed at these shares of these pieces, one row for each."""
        s = np.asarray(share)[:, None]
        first, middle, last = np.moveaxis(self.pieces[piece], 1, 0)
        values = (1 - s) * (1 - 2 * s) * first + 4 * s * (1 - s) * middle + s * (2 * s - 1) * last
        values[:, 2:] = np.maximum(values[:, 2:], 0.0)
        values[:, -1] = np.sqrt(values[:, -1])
        return values

    def widest(self) -> float:
        """How far apart looks are at most, over the ground [m]."""
        return float(np.linalg.norm(np.diff(self.pieces[:, [0, -1], :2], axis=1), axis=-1).max())
