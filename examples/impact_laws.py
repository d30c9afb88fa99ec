"""A ball with backspin meets a wall under three laws of impact.

Without friction (elastic, Newton) the spin is kept and has no influence; with friction it holds the ball back, and near
the normal throws it back to where it came from. Notice the corner of the rough law: left of it the contact sticks
before the impact is over, right of it the ball slides all the way through.
"""

import jax
import jax.numpy as jnp
import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from saltus.laws import impact

normal = jnp.array([0.0, 0.0, 1.0])
mobility = jnp.diag(jnp.array([3.5, 3.5, 1.0]))  # of a homogeneous ball of 1 kg, at its contact point
angles = np.linspace(0.0, 1.45, 146)  # of incidence, from the normal
spin = 0.5  # backspin: rim speed over speed
speeds = np.stack([np.sin(angles), np.zeros_like(angles), -np.cos(angles)], axis=1)
slips = speeds + np.array([spin, 0.0, 0.0])
restitution, mu = 0.8, 0.25
laws = {
    "elastic": impact.Elastic(),
    f"Newton, e = {restitution}": impact.Newton(restitution),
    f"Stronge, e = {restitution}, mu = {mu}": impact.Stronge(restitution, mu),
}

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
after = {}
for name, law in laws.items():
    impulse = jax.vmap(lambda slip, law=law: law.impulse(slip, normal, mobility))(jnp.asarray(slips))
    after[name] = speeds + np.asarray(impulse)
    axes.plot(np.degrees(angles), np.degrees(np.arctan2(after[name][:, 0], after[name][:, 2])), label=name)
axes.set(xlabel="angle of incidence [deg]", ylabel="angle of departure [deg]")
axes.axhline(0.0, color="grey", linewidth=0.7)
axes.legend()
figure.savefig("impact_laws.png", dpi=150)

elastic, newton, rough = after.values()
assert np.allclose(elastic[:, 2], -speeds[:, 2]) and np.allclose(newton[:, 2], -restitution * speeds[:, 2])
# A ball that sticks loses 2/7 of its slip as speed, one that slides mu times the normal impulse.
stuck = np.minimum(slips[:, 0] / 3.5, mu * (1.0 + restitution) * np.cos(angles))
print(f"largest distance from the closed form {np.abs(speeds[:, 0] - stuck - rough[:, 0]).max():.1e} m/s")
assert np.allclose(rough[:, 0], speeds[:, 0] - stuck, atol=1e-9)  # the law follows the slip in small steps
