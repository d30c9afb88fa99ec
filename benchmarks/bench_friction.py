"""Combined dry friction: the exact law against its approximation and quadrature; a ball on rails against SciPy's Radau.

The law: a batch of a million slips and spins, Hertz pressure, against the paper's three square roots, and against
adaptive quadrature over the chords of the spot (SciPy). The motion: a ball thrown onto two rails slides, creeps and
stops; the rival integrates the same law to the same tolerance, without the creep in closed form.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import integrate
from stamp import Report, best_of

import saltus as sl

import equinox as eqx  # isort: skip
import jax  # isort: skip
from saltus.laws import friction  # isort: skip
from saltus.systems.ball_on_rails import forces  # isort: skip

sl.configure()

COUNT = 1_000_000
QUADRATURES = 300
BALL = {"mass": 1.0, "radius": 0.342, "half_angle": 0.383}
MU, SPOT, SPEED = 0.344, 0.0855, 2.879
TOLERANCE = 1e-9


@eqx.filter_jit
def reaction(law, slip, spin, load):
    return law.reaction(slip, spin, load)


def bench_law(report: Report) -> None:
    rng = np.random.default_rng(1)
    speed, ratio = rng.uniform(0.1, 1.0, COUNT), 10.0 ** rng.uniform(-2.0, 2.0, COUNT)
    angle = rng.uniform(0.0, 2 * np.pi, COUNT)
    slip = jax.device_put(np.stack([speed * np.cos(angle), speed * np.sin(angle)], -1))
    spin, load = jax.device_put(speed * ratio / 0.02), jax.device_put(np.full(COUNT, 3.0))
    rates = {}
    for name, law in (("exact", friction.Combined(0.3, 0.02)), ("Pade", friction.Pade(0.3, 0.02))):

        def run(law=law):
            return jax.block_until_ready(reaction(law, slip, spin, load))

        run()
        wall, _ = best_of(run, 15)
        rates[name] = COUNT / wall
        report.line(f"{name:10s} law, batch of {COUNT:.0e}: {rates[name] / 1e6:8.1f} million evaluations per second")
    wall, found = best_of(lambda: [quadrature(x) for x in ratio[:QUADRATURES]], 3)
    exact = np.array([np.array(friction.spot_functions(x, "hertz"))[[0, 3]] for x in ratio[:QUADRATURES]])
    rates["quadrature"] = QUADRATURES / wall
    error = np.abs(np.array(found) - exact).max()
    report.line(
        f"quadrature of force and torque: {rates['quadrature']:8.0f} evaluations per second, off by {error:.1e}"
    )
    expense = rates["Pade"] / rates["exact"]
    report.line(f"the exact law is {expense:.2f} times as expensive as the Pade form (allowed: 3)")
    report.line(f"the exact law is {rates['exact'] / rates['quadrature']:.0f} times as fast as adaptive quadrature")


def quadrature(s: float) -> tuple[float, float]:
    """Force and torque of Hertz pressure by adaptive quadrature over the chords through the velocity pole."""
    c = 1.0 / s
    end = math.asin(min(s, 1.0))

    def chord(theta):
        return max(1.0 - (c * math.sin(theta)) ** 2, 0.0)

    options = {"epsabs": 1e-12, "epsrel": 1e-12, "limit": 200}
    force = integrate.quad(lambda x: math.cos(x) ** 2 * chord(x), -end, end, **options)[0]
    torque = integrate.quad(lambda x: chord(x) ** 2, -end, end, **options)[0]
    return c / math.pi * 0.75 * math.pi * force, 0.1875 * torque


def bench_rails(report: Report) -> None:
    law = friction.Combined(MU, SPOT)
    ball = sl.systems.BallOnRails(**BALL, law=law)
    start = ball.start(SPEED, [0.5, 0.0, 2.0])
    tight = sl.simulate(ball, start, 16.0, rtol=1e-13, atol=1e-15)
    stop = float(tight.events[-1].after.t)
    place = float(tight.end.q[0])
    report.line(f"ball on rails: {', '.join(event.name for event in tight.events)}; rest at t = {stop:.9f} s")

    def ours():
        return sl.simulate(ball, start, 16.0, rtol=TOLERANCE, atol=1e-12)

    ours()
    wall, run = best_of(ours, 7)
    error = abs(float(run.end.q[0]) - place)
    report.line(
        f"saltus, rtol 1e-9:  {wall * 1e3:8.1f} ms, {run.trajectory.steps} steps, error of the place {error:.1e} m"
    )

    @jax.jit
    def rate(y):
        v = forces.RailMotion(y[1], jax.numpy.zeros(()), y[2:])
        gain = forces.sliding_contacts(ball, forces.place_contacts(ball, jax.numpy.zeros(()), v), v).acceleration
        return jax.numpy.concatenate([jax.numpy.stack([y[1], gain.along]), gain.turning])

    jacobian = jax.jit(jax.jacfwd(rate))
    y0 = np.array([0.0, SPEED, 0.5, 0.0, 2.0])
    near = stop - 1e-3  # at rest itself the equations without events are not defined

    def radau():
        return integrate.solve_ivp(
            lambda t, y: np.asarray(rate(y)), (0.0, near), y0, method="Radau", jac=lambda t, y: np.asarray(jacobian(y)),
            rtol=TOLERANCE, atol=1e-12,
        )  # fmt: skip

    radau()
    rival, found = best_of(radau, 3)
    there = float(tight.at(near).q[0])
    report.line(
        f"SciPy Radau, same law and Jacobian, to 1 ms before rest: {rival * 1e3:8.1f} ms, {found.nfev} rates, "
        f"error of the place {abs(found.y[0, -1] - there):.1e} m"
    )
    report.line(f"Radau takes {rival / wall:.1f} times as long")


def main() -> None:
    report = Report("friction", "scipy")
    bench_law(report)
    bench_rails(report)
    report.write()


if __name__ == "__main__":
    main()
