"""Gaps, first contacts and events of ellipsoids: how exact and how many per second; gaps beside coal."""

from __future__ import annotations

import time

import numpy as np
from reference_gap import refined, rotation_matrices
from stamp import Report, best_of

import saltus as sl
from saltus.shapes import Body, Ellipsoid
from saltus.systems.bodies import fill_box

import jax  # isort: skip
import jax.numpy as jnp  # isort: skip

sl.configure()

BATCH = 4096
SIZES = (25, 50, 100, 200)
FRACTION = 0.2


def random_bodies(n: int, seed: int, center) -> Body:
    """Ellipsoids with semi-axes from 0.5 to 2 at random orientations, stacked."""
    random = np.random.default_rng(seed)
    axes = np.exp(random.uniform(np.log(0.5), np.log(2.0), (n, 3)))

    def one(axes, center, quaternion, omega):
        return Body(Ellipsoid(axes), center=center, quaternion=quaternion, angular_velocity=omega)

    return jax.jit(jax.vmap(one))(
        axes, center(random, n), random.standard_normal((n, 4)), 2.0 * random.standard_normal((n, 3))
    )


def pairs(n: int = BATCH, seed: int = 1) -> tuple[Body, Body]:
    """Separated pairs: the second centre is 4 to 6 away."""

    def away(random, n):
        direction = random.standard_normal((n, 3))
        return direction / np.linalg.norm(direction, axis=1)[:, None] * random.uniform(4.0, 6.0, (n, 1))

    return random_bodies(n, seed, lambda random, n: np.zeros((n, 3))), random_bodies(n, seed + 1, away)


def coal_gaps(ones: Body, twos: Body) -> tuple[float, np.ndarray, np.ndarray]:
    """Wall time, gaps and normals by coal, one call per pair as it offers."""
    import coal

    request = coal.DistanceRequest()
    request.gjk_tolerance, request.gjk_max_iterations = 1e-12, 1000

    def placed(body, turns, k):
        place = coal.Transform3s()
        place.setRotation(turns[k])
        place.setTranslation(np.asarray(body.center[k]))
        return place

    count = len(ones.mass)
    shapes = [(coal.Ellipsoid(*map(float, a)), coal.Ellipsoid(*map(float, b)))
              for a, b in zip(np.asarray(ones.shape.axes), np.asarray(twos.shape.axes), strict=True)]  # fmt: skip
    turned = [rotation_matrices(body.quaternion).astype(float) for body in (ones, twos)]
    places = [(placed(ones, turned[0], k), placed(twos, turned[1], k)) for k in range(count)]
    results = [coal.DistanceResult() for _ in range(count)]
    began = time.perf_counter()
    for (a, b), (at, bt), result in zip(shapes, places, results, strict=True):
        coal.distance(a, at, b, bt, request, result)
    wall = time.perf_counter() - began
    return wall, np.array([r.min_distance for r in results]), np.array([np.asarray(r.normal) for r in results])


def report_gaps(report: Report) -> None:
    ones, twos = pairs()
    gap = jax.jit(jax.vmap(sl.contacts.gap))
    jax.block_until_ready(gap(ones, twos))
    wall, seen = best_of(lambda: jax.block_until_ready(gap(ones, twos)), 9)
    width, normal = refined(ones, twos, seen)
    error = np.abs(np.asarray(seen.gap) - width).max()
    turn = np.abs(np.asarray(seen.normal) - normal).max()
    report.line(f"gap, saltus: {BATCH / wall:10,.0f} queries/s in batches of {BATCH}; "
                f"worst error of gap {error:.1e} m, of normal {turn:.1e}")  # fmt: skip
    wall, gaps, normals = coal_gaps(ones, twos)
    error, turn = np.abs(gaps - width).max(), np.abs(np.abs(normals) - np.abs(normal)).max()
    report.line(f"gap, coal:   {BATCH / wall:10,.0f} queries/s from Python, one core; "
                f"worst error of gap {error:.1e} m, of normal {turn:.1e}")  # fmt: skip


def report_contacts(report: Report) -> None:
    ones, twos = pairs(1024, 5)
    speeds = -0.5 * twos.center + 0.5 * np.random.default_rng(3).standard_normal((1024, 3))
    twos = jax.vmap(lambda b, v: b.with_motion(b.center, v, b.quaternion, b.angular_velocity))(
        twos, jnp.asarray(speeds)
    )
    search = jax.jit(jax.vmap(lambda a, b: sl.contacts.first_contact(a, b, 4.0)))
    found = jax.block_until_ready(search(ones, twos))
    wall, _ = best_of(lambda: jax.block_until_ready(search(ones, twos)), 3)
    report.line(f"first contacts: {1024 / wall:8,.0f} pairs/s in a batch of 1024 (up to 4 s, 8 rad), "
                f"{float(found.happens.mean()):.0%} touch, {float(found.n_steps.mean()):.0f} safe steps")  # fmt: skip


def report_events(report: Report) -> None:
    shape, rates = Ellipsoid([0.6, 0.45, 0.35]), []
    for n in SIZES:
        edge = float((n * float(shape.volume()) / FRACTION) ** (1 / 3))
        bodies = fill_box(shape, n, [edge] * 3, seed=2, periodic=n >= 50)
        box = [] if n >= 50 else [(s * np.eye(3)[k], -edge / 2) for k in range(3) for s in (1.0, -1.0)]
        system = sl.systems.RigidBodies(bodies, period=[edge] * 3 if n >= 50 else None, walls=box)
        start = system.start(bodies)
        sl.simulate(system, start, 50.0, max_events=5)
        cpu, began = time.process_time(), time.perf_counter()
        run = sl.simulate(system, start, 50.0, max_events=200)
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
        rates.append(len(run.events) / wall)
        report.line(f"events: {n:4d} ellipsoids, volume fraction {FRACTION}: {rates[-1]:7.1f} events/s "
                    f"({len(run.events) / cpu:.1f} per CPU second)")  # fmt: skip
    slope = np.polyfit(np.log(SIZES), np.log(rates), 1)[0]
    report.line(f"events per second grow with N to the power {slope:.2f}")


def main() -> None:
    report = Report("impact", "coal")
    report_gaps(report)
    report_contacts(report)
    report_events(report)
    report.write()


if __name__ == "__main__":
    main()
