"""How exact gaps, normals and contact times are, per pair of shapes; writes the table of docs/impact.md.

usage: python accuracy_impact.py [number of pairs, 10000 by default]

Random pairs with aspect ratios 1 to 20. References are computed in extended precision (80 bits, `reference_gap`); the
error of a contact time is the gap at that time, after free motion in extended precision, over the closing speed.
"""

from __future__ import annotations

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from reference_gap import Long, refined, rotation_matrices

import saltus as sl
from saltus.shapes import Body, Ellipsoid, Superellipsoid

import jax  # isort: skip

sl.configure()

PAGE = Path(__file__).parents[1] / "docs" / "impact.md"
MARKS = ("<!-- accuracy -->", "<!-- /accuracy -->")
ORDER, STEP, BATCH = 20, 0.1, 100
SHARES = 4  # in which the pairs of a family are computed side by side
FAMILIES = {
    "balls": ("round", "round"),
    "ellipsoid, ball": ("ellipsoid", "round"),
    "ellipsoids": ("ellipsoid", "ellipsoid"),
    "superellipsoid, ellipsoid": ("superellipsoid", "ellipsoid"),
    "superellipsoids": ("superellipsoid", "superellipsoid"),
}


def bodies(sort: str, random, n: int, center, velocity) -> Body:
    """Stacked bodies of longest semi-axis 1 and aspect ratios 1 to 20."""
    axes = np.ones((n, 3)) if sort == "round" else np.exp(random.uniform(-np.log(20.0), 0.0, (n, 3)))
    axes = axes / axes.max(axis=1)[:, None]
    exponents = random.uniform(2.0, 8.0, (n, 3))

    def one(axes, exponents, center, velocity, quaternion, omega):
        shape = Superellipsoid(axes, exponents) if sort == "superellipsoid" else Ellipsoid(axes)
        return Body(shape, center=center, velocity=velocity, quaternion=quaternion, angular_velocity=omega)

    turns, spins = random.standard_normal((n, 4)), random.standard_normal((n, 3))
    return jax.jit(jax.vmap(one))(axes, exponents, center, velocity, turns, spins)


def pairs(sorts, seed: int, n: int) -> tuple[Body, Body]:
    """Pairs about 3 apart that fly towards each other."""
    random = np.random.default_rng(seed)
    far = random.standard_normal((n, 3))
    far *= 3.0 / np.linalg.norm(far, axis=1)[:, None]
    velocity = -far / 2.0 + 0.1 * random.standard_normal((n, 3))
    zero = np.zeros((n, 3))
    return bodies(sorts[0], random, n, zero, zero), bodies(sorts[1], random, n, far, velocity)


def turned(body: Body, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centres and rotation matrices after free motion, by Taylor series in extended precision."""
    q = np.asarray(body.quaternion, Long)
    q = q / np.sqrt(np.sum(q * q, axis=1))[:, None]
    inertia, omega = np.asarray(body.inertia, Long), np.asarray(body.angular_velocity, Long)
    w = np.einsum("nji,nj->ni", rotation_matrices(q), omega)
    fastest = np.sqrt(np.sum(inertia * w**2, axis=1) / inertia.min(axis=1))
    steps = int(np.ceil(np.max(fastest * times) / STEP))
    h = (np.asarray(times, Long) / steps)[:, None]
    ratios = (np.roll(inertia, -1, axis=1) - np.roll(inertia, -2, axis=1)) / inertia
    for _ in range(steps):
        q, w = _taylor(q, w, ratios, h)
        q = q / np.sqrt(np.sum(q * q, axis=1))[:, None]
    center = np.asarray(body.center, Long) + np.asarray(times, Long)[:, None] * np.asarray(body.velocity, Long)
    return center, rotation_matrices(q)


def _taylor(q, w, ratios, h):
    ws, qs = [w], [q]
    for k in range(ORDER):
        spin = sum(np.roll(ws[i], -1, axis=1) * np.roll(ws[k - i], -2, axis=1) for i in range(k + 1))
        ws.append(ratios * spin * h / (k + 1))
        turn = sum(_product(qs[i], ws[k - i]) for i in range(k + 1))
        qs.append(turn * h / (2 * (k + 1)))
    return sum(reversed(qs)), sum(reversed(ws))


def _product(p, w):
    """Quaternion times a vector."""
    scalar, vector = p[:, :1], p[:, 1:]
    return np.concatenate([-np.sum(vector * w, axis=1)[:, None], scalar * w + np.cross(vector, w)], axis=1)


def errors(sorts, seeds: range) -> dict[str, float]:
    """Worst errors of gap, normal and contact time; how many pairs touch, and how many have no reference."""
    gap = jax.jit(jax.vmap(sl.contacts.gap))
    search = jax.jit(jax.vmap(lambda a, b: sl.contacts.first_contact(a, b, 4.0)))
    local_motion = jax.jit(jax.vmap(sl.contacts.local_motion))
    worst = {"gap": 0.0, "normal": 0.0, "time": 0.0, "touch": 0, "left out": 0}
    for seed in seeds:
        ones, twos = pairs(sorts, seed, BATCH)
        seen = gap(ones, twos)
        width, normal = refined(ones, twos, seen)
        good = np.isfinite(width)
        worst["left out"] += int((~good).sum())
        worst["gap"] = max(worst["gap"], float(np.abs(np.asarray(seen.gap) - width)[good].max()))
        worst["normal"] = max(worst["normal"], float(np.abs(np.asarray(seen.normal) - normal)[good].max()))
        found = search(ones, twos)
        if not bool(found.certified.all()):
            raise RuntimeError("A search was not certified.")
        times, hit = np.asarray(found.time), np.asarray(found.happens)
        places = [turned(body, times) for body in (ones, twos)]
        moved = (found.body1, found.body2)
        left, _ = refined(*moved, found.separation, [place[0] for place in places], [place[1] for place in places])
        local = local_motion(*moved, found.separation)
        speed = np.abs(np.asarray(local.v))
        keep = hit & (speed > 1e-3) & np.isfinite(left)
        worst["time"] = max(worst["time"], float(np.abs(left[keep] / speed[keep] / times[keep]).max()))
        worst["touch"] += int(hit.sum())
    return worst


def main() -> None:
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    rows = ["| pair | gap [m] | normal | contact time, relative | touch | left out |", "|---|---|---|---|---|---|"]
    shares = [range(first, total // BATCH, SHARES) for first in range(SHARES)]
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        found = {name: [pool.submit(errors, sorts, share) for share in shares] for name, sorts in FAMILIES.items()}
        for name, parts in found.items():
            results = [part.result() for part in parts]
            gap, normal, time = (f"{max(one[key] for one in results):.1e}" for key in ("gap", "normal", "time"))
            touch, left_out = (sum(one[key] for one in results) for key in ("touch", "left out"))
            rows.append(f"| {name} | {gap} | {normal} | {time} | {touch} | {left_out} |")
            print(rows[-1], flush=True)
    text = PAGE.read_text()
    begin, end = (text.index(mark) for mark in MARKS)
    note = f"Worst of {total} random pairs each:\n\n"
    PAGE.write_text(text[:begin] + MARKS[0] + "\n" + note + "\n".join(rows) + "\n" + text[end:])


if __name__ == "__main__":
    main()
