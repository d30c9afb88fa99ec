"""Cases that need more than one run of one problem."""

from __future__ import annotations

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np

from saltus import hybrid
from saltus.laws import friction
from saltus.simulation import simulate
from saltus.validation.nonsmooth.engine import ATOL, RTOL, system

Given = Mapping[str, float]


def bouncing_ball_gradient(given: Given) -> dict[str, float]:
    """Derivatives of the height at a time by restitution, gravity and the height at the start."""
    numbers = {name: given[name] for name in ("g", "e", "h", "until")}
    made, start = system("bouncing_ball", numbers)
    run = simulate(made, start, given["until"], rtol=RTOL, atol=ATOL)

    def height(p):
        begin = made.start(jnp.stack([p["h"], 0.0 * p["h"]]))
        return run.replay(made.with_parameters({"e": p["e"], "g": p["g"]}), begin).end.q[0]

    slopes = jax.grad(height)({name: jnp.asarray(given[name]) for name in ("e", "g", "h")})
    return {f"d height / d {name}": float(slope) for name, slope in slopes.items()}


def _mean_flight(model: str, given: Given, places) -> dict[str, float]:
    """Mean time from wall to wall for starts that are evenly spread over the invariant measure of the walls.

    Places at equal arc lengths and directions with equal sines of the angle from the normal fill that
    measure; the second coordinates are shifted by the golden ratio, so that the mean converges like 1 / n.
    """
    n = int(given["n"])
    u, w = (np.arange(n) + 0.5) / n, (np.arange(n) * 0.6180339887498949 + 0.5) % 1.0
    x, normal = places(u, given)
    sine = 2.0 * w - 1.0
    along = np.stack([-normal[:, 1], normal[:, 0]], 1)
    velocity = np.sqrt(1.0 - sine**2)[:, None] * normal + sine[:, None] * along
    made, _ = system(model, {"x": 0.0, "y": 0.0, "u": 1.0, "w": 0.0, "until": 1.0, **given})
    first = hybrid.system(
        made.rates[0], jnp.zeros(4), [_ending(rule) for rule in made.rules], parameters=made.parameters
    )
    starts = jax.vmap(lambda y: first.start(y))(jnp.asarray(np.concatenate([x, velocity], 1)))
    many = hybrid.simulate_many(first, starts, 100.0)
    return {"mean time": float(np.mean(many.end.t))}


def _ending(rule) -> hybrid.Guard:
    return hybrid.Guard(rule.name, rule.function, ends="finished")


def _on_stadium(u, given: Given):
    """Places on the wall by arc length, and the normals that point inwards."""
    a = given["a"]
    s = u * (4.0 * a + 2.0 * np.pi)
    x, y, nx, ny = (np.zeros_like(s) for _ in range(4))
    for first, last, piece in (
        (0.0, 2 * a, lambda r: (r - a, -1.0 + 0 * r, 0 * r, 1.0 + 0 * r)),
        (2 * a, 2 * a + np.pi, lambda r: (a + np.sin(r), -np.cos(r), -np.sin(r), np.cos(r))),
        (2 * a + np.pi, 4 * a + np.pi, lambda r: (a - r, 1.0 + 0 * r, 0 * r, -1.0 + 0 * r)),
        (4 * a + np.pi, np.inf, lambda r: (-a - np.sin(r), np.cos(r), np.sin(r), -np.cos(r))),
    ):
        rows = (s >= first) & (s < last)
        x[rows], y[rows], nx[rows], ny[rows] = piece(s[rows] - first)
    return np.stack([x, y], 1), np.stack([nx, ny], 1)


def _on_sinai(u, given: Given):
    """Places on the square and the disc by arc length, and the normals that point into the table."""
    side, r = 2.0 * given["L"], given["r"]
    s = u * (4.0 * side + 2.0 * np.pi * r)
    places, normals = np.zeros((s.size, 2)), np.zeros((s.size, 2))
    for k in range(4):
        rows = (s >= k * side) & (s < (k + 1) * side)
        angle = 0.5 * np.pi * k
        normal = np.array([np.cos(angle), np.sin(angle)])
        offset = (s[rows] - k * side - given["L"])[:, None] * np.array([-normal[1], normal[0]])
        places[rows], normals[rows] = -given["L"] * normal + offset, normal
    rows = s >= 4 * side
    angle = (s[rows] - 4 * side) / r
    normals[rows] = np.stack([np.cos(angle), np.sin(angle)], 1)
    places[rows] = r * normals[rows]
    return places, normals


def stadium_mean_time(given: Given) -> dict[str, float]:
    """Mean time between collisions in a stadium."""
    return _mean_flight("stadium", given, _on_stadium)


def sinai_mean_time(given: Given) -> dict[str, float]:
    """Mean time between collisions in Sinai's billiard."""
    return _mean_flight("sinai", given, _on_sinai)


def sliding_disc(given: Given) -> dict[str, float]:
    """The ratio of speed to rim speed with which a sliding, spinning disc comes to rest."""
    law = friction.Combined(mu=given["mu"], spot_radius=given["R"], pressure="uniform")

    def rate(t, y, p):
        answer = law.reaction(jnp.stack([y[0], 0.0 * y[0]]), y[1], jnp.asarray(1.0))
        # Mass 1 / g carries the load 1; the inertia of the disc is m R^2 / 2. A relative time keeps the end apart:
        # d/ds = speed d/dt, so that the ratio settles while the motion dies out.
        size = y[0] + given["R"] * y[1]
        force, torque = answer.force[0], answer.spin_torque
        return jnp.stack([force, 2.0 * torque / given["R"] ** 2]) * p["g"] * size

    made = hybrid.system(rate, jnp.array([given["v"], given["w"]]), parameters={"g": given["g"]})
    run = simulate(made, made.start(), given["until"], rtol=RTOL, atol=1e-300)
    v, w = np.asarray(run.end.q)
    return {"ratio": float(v / (given["R"] * w))}


def models() -> tuple[str, ...]:
    """The names that a case of group "library" may give."""
    return ("bouncing_ball_gradient", "stadium_mean_time", "sinai_mean_time", "sliding_disc")
