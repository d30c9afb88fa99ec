"""A run that ends at a guard, of a system whose ledger is empty: its derivative aborted the process."""

import subprocess
import sys

import pytest

SHOT = """
import jax
import jax.numpy as jnp
import saltus as sl
from saltus.hybrid import AbstractSystem, Guard, Quantity, Rate, State


class Shot(AbstractSystem):
    kind = "shot"

    def rate(self, s):
        return Rate(q=s.v, v=jnp.array([0.0, -9.81]), ledger=jnp.zeros_like(s.ledger))

    def guards(self):
        return (Guard("ground", lambda s: s.q[1], ends="finished"),)

    def quantities(self):
        return {"place": Quantity(("axis",), "m", "place")}

    def observe(self, s):
        return {"place": s.q}


def start(speed, length):
    return State.of(q=[0.0, 1.0], v=[speed, speed], ledger=jnp.zeros(length))


sl.configure(cache=False)
for length in (0, 1):
    run = sl.simulate(Shot(), start(7.0, length), until=10.0)
    way = lambda speed: run.replay(Shot(), start(speed, length)).end.q[0]
    print(float(jax.grad(way)(7.0)), float(jax.jacfwd(way)(7.0)), flush=True)
"""


def test_the_derivative_of_a_shot_is_found_whatever_its_ledger_holds():
    done = subprocess.run([sys.executable, "-c", SHOT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # x = v t with g t^2 / 2 - v t - 1 = 0, so dx/dv = t + v dt/dv with dt/dv = t / (g t - v).
    t = (7.0 + (49.0 + 2 * 9.81) ** 0.5) / 9.81
    expected = t + 7.0 * t / (9.81 * t - 7.0)
    assert [float(word) for word in done.stdout.split()] == pytest.approx([expected] * 4, rel=1e-10)
