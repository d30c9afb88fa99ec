"""What physics engines use for spinning contacts: an ellipsoid of admissible force and torque."""

from __future__ import annotations

import jax.numpy as jnp

from saltus.laws.friction.base import AbstractSpotLaw, Number
from saltus.laws.friction.spot import Coupling


class EllipticCone(AbstractSpotLaw):
    """Maximal dissipation on an ellipsoidal limit surface, as in engines with an elliptic friction cone.

    The torsion coefficient is matched to the exact torque of pure spin. For comparison with the exact law:
    maximal errors, Hertz / uniform / punch: force 0.111 / 0.123 / 0.144 of mu N, torque 0.140 / 0.151 / 0.167 of
    its maximum (both too strong). The shift of the pressure has no influence on force and torque, so the force
    across the slip is missing; the rolling moment is kept.

    Args:
        mu: Friction coefficient, >= 0 [-].
        spot_radius: Radius of the spot, >= 0 [m].
        pressure: "hertz", "uniform", "punch" or an exponent gamma > 1; sets the torque of pure spin.
        sliding_shift: Not used by this model [-].
        rolling_shift: Shift that gives the rolling moment, 0 to 1 [-].
        reference_load: If given, the radius grows with the cube root of load / reference_load [N].
    """

    def coupling(self, slip_square: Number, rim_speed: Number) -> Coupling:
        """The point of the ellipsoid that dissipates most."""
        torque = self.pressure.spin_torque
        square = slip_square + (torque * rim_speed) ** 2
        moves = square > 0.0
        drag = jnp.where(moves, 1.0 / jnp.sqrt(jnp.where(moves, square, 1.0)), 0.0)
        nothing = jnp.zeros_like(drag)
        return Coupling(drag, nothing, nothing, torque**2 * rim_speed * drag, nothing)
