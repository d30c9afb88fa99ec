"""A puck is pushed off its centre: will it move, and about which point does it turn?

The limit surface is the set of forces and torques that friction can bear at rest. A push inside moves nothing; at its
boundary the motion begins along the outward normal. Notice that the centre of rotation comes nearer the farther off
the centre one pushes, and that the ellipse of physics engines would let the puck bear too much.
"""

import jax.numpy as jnp
import numpy as np

from saltus.laws.friction import Combined, LimitSurface
from saltus.views import friction as pictures

RADIUS, WEIGHT, MU = 0.04, 2.0, 0.3  # a puck with uniform pressure [m, N, -]
puck = Combined(MU, RADIUS, "uniform")
surface = LimitSurface(puck)

lever = jnp.array([0.0, 0.01, 0.02, 0.03, 0.039])  # where the push acts, beside the centre [m]
push = jnp.stack([jnp.ones(5), jnp.zeros(5)], -1)  # 1 N along x
needed = 1.0 / surface.use(push, lever, WEIGHT * jnp.ones(5))
slip, spin = surface.motion(push, lever, WEIGHT * jnp.ones(5))
for arm, force, v, w in zip(lever, needed, slip[:, 0], spin, strict=True):
    centre = float(v / w) if w > 0 else np.inf
    print(f"{1e3 * arm:4.0f} mm off: moves from {force:.4f} N on, turning about a point {1e3 * centre:6.1f} mm away")
pictures.limit_surface().savefig("planar_push.png", dpi=160)

assert float(needed[0]) == MU * WEIGHT  # through the centre: Coulomb
assert np.all(np.diff(needed) < 0)
assert not surface.holds(push[2], 1.001 * lever[2], WEIGHT * needed[2] ** -1 * 0.999)
# What friction answers to that motion is the push itself: maximal dissipation.
answer = puck.reaction(slip, spin, WEIGHT * jnp.ones(5))
np.testing.assert_allclose(-answer.force[:, 0], needed, rtol=1e-13)
np.testing.assert_allclose(-answer.spin_torque, needed * lever, rtol=1e-13, atol=1e-16)
