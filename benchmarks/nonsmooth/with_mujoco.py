"""Benchmark problems through MuJoCo, for the models that a physics engine can be given: bodies, planes, contacts.

Contacts in MuJoCo are soft; a restitution is set by the damping ratio of the contact (`solref`), and an
impact is an interval. Its time is taken where the distance of the surfaces falls through zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import mujoco
import numpy as np
from scipy.optimize import brentq

from saltus.validation.nonsmooth import Problem, ProblemEvent, Record, problem

STEP = 2e-5  # [s]
LASTS = 30  # steps that an impact takes
RADIUS = 0.1

BALL = """
<mujoco>
  <option timestep="{step}" gravity="{gx} 0 {gz}" integrator="implicitfast" cone="elliptic"/>
  <worldbody>
    {ground}
    {balls}
  </worldbody>
</mujoco>
"""


def _restitution(ratio: float) -> float:
    """Share of the speed that a spring with this damping ratio returns, if it cannot pull."""
    beat = math.sqrt(1.0 - ratio**2)
    return math.exp(-ratio * (math.pi - math.atan2(2.0 * ratio * beat, 1.0 - 2.0 * ratio**2)) / beat)


def _solref(e: float) -> str:
    """Stiffness and damping of the contact, as negative numbers: it lasts for about `LASTS` steps."""
    ratio = brentq(lambda ratio: _restitution(ratio) - e, 1e-9, 0.7)
    frequency = math.pi / (LASTS * STEP)
    return f"{-(frequency**2)} {-2.0 * ratio * frequency}"


def _model(heights, p: Mapping[str, float], slope: float = 0.0) -> mujoco.MjModel:
    solref = _solref(p["e"])
    # A thin lower margin of the impedance: the contact acts with its full stiffness from the first touch on.
    contact = f'solref="{solref}" solimp="0.9999 0.9999 0.001" friction="0 0 0" condim="1"'
    balls = "".join(
        f'<body pos="{2.5 * RADIUS * k} 0 {h + RADIUS}"><joint type="slide" axis="0 0 1"/><joint type="slide" axis="1 0 0"/>'
        f'<geom type="sphere" size="{RADIUS}" mass="1" {contact}/></body>'
        for k, h in enumerate(heights)
    )
    ground = f'<geom type="plane" size="50 50 1" {contact}/>'
    gravity = {"gx": p["g"] * math.sin(slope), "gz": -p["g"] * math.cos(slope)}
    return mujoco.MjModel.from_xml_string(BALL.format(step=STEP, ground=ground, balls=balls, **gravity))


def _balls(heights, p: Mapping[str, float], until: float, slope: float = 0.0, state=None) -> Record:
    """Balls on a plane; an event is a gap that falls through zero."""
    model = _model(heights, p, slope)
    data = mujoco.MjData(model)
    n, events, gap = len(heights), [], np.asarray(heights, float)
    while data.time < until - 0.5 * STEP:
        before = gap
        mujoco.mj_step(model, data)
        gap = np.asarray(heights) + data.qpos[0::2]
        for k in np.flatnonzero((before > 0.0) & (gap <= 0.0)):
            share = before[k] / (before[k] - gap[k])
            here = state(data, k, gap)
            events.append(ProblemEvent(f"floor_{k}", float(data.time - STEP * (1.0 - share)), here, here))
    end = np.concatenate([gap, data.qvel[0::2]]) if n > 1 else state(data, 0, gap)
    return Record(tuple(events), float(data.time), end)


def _single(data, k, gap):
    return np.array([gap[k], data.qvel[2 * k]])


def _sliding(data, k, gap):
    return np.array([data.qpos[2 * k + 1], gap[k], data.qvel[2 * k + 1], data.qvel[2 * k]])


SOLVERS = {
    "bouncing_ball": lambda p: _balls([p["h"]], p, p["until"], state=_single),
    "slope_ball": lambda p: _balls([p["h"]], p, p["until"], slope=p["a"], state=_sliding),
    "beads_drop": lambda p: _balls([p["h"]] * 10, p, p["until"], state=_single),
}


def solve(chosen: Problem, given: Mapping[str, float]) -> Record | None:
    """The record of a problem; None where MuJoCo cannot be given it."""
    name = next((name for name in SOLVERS if problem(name) is chosen), None)
    return None if name is None else SOLVERS[name](given)
