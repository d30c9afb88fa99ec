import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saltus.numerics.rotation import TurnSum, continue_turn, free_rotation, normalise, rotate, rotate_back

Q = normalise(jnp.asarray([0.3, -0.5, 0.7, 0.2]))
OMEGA = jnp.asarray([0.4, -1.1, 0.8])
NEEDLE = jnp.asarray([0.004, 0.8, 0.8001])  # slender: rounding of its angular velocity matters


@pytest.mark.parametrize("compact", [False, True])
def test_ten_thousand_short_turns_are_as_exact_as_one_long_turn(compact):
    momentum = rotate(Q, NEEDLE * rotate_back(Q, OMEGA))

    def short(_, made):
        return continue_turn(made, Q, NEEDLE, momentum, jnp.asarray(2.0**-11), compact)

    made = jax.jit(lambda: jax.lax.fori_loop(0, 10_240, short, TurnSum.zero()))()
    q, omega = made.motion(Q, NEEDLE, momentum)
    wanted_q, wanted_omega = free_rotation(Q, OMEGA, NEEDLE, 5.0)
    # Rounding of the angular momentum, 1e-16, turns a needle by 2e-14 rad/s about its axis, in either way of reckoning.
    assert np.asarray(q) == pytest.approx(np.asarray(wanted_q), abs=1e-13)
    assert np.asarray(omega) == pytest.approx(np.asarray(wanted_omega), abs=2e-13)


def test_a_turn_goes_on_from_where_it_was():
    momentum = rotate(Q, NEEDLE * rotate_back(Q, OMEGA))
    made = continue_turn(TurnSum.zero(), Q, NEEDLE, momentum, jnp.asarray(0.75))
    back = continue_turn(made, Q, NEEDLE, momentum, jnp.asarray(-0.75))
    assert np.asarray(back.turn) == pytest.approx([1.0, 0.0, 0.0, 0.0], abs=1e-15)
