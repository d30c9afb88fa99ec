"""A paradox of two ellipsoids: free motion drives them into each other from a touch without approach.

The paper that discovered the paradox thought that ellipsoids have none. A random search finds one with a free past;
with a finite contact force it is no paradox any more. Notice that the contact neither costs nor gains energy.
"""

import jax
import matplotlib.pyplot as plt
import numpy as np

import saltus as sl

sl.configure()

one, two = sl.shapes.Ellipsoid([2.0, 1.0, 1.5]), sl.shapes.Ellipsoid([0.7, 1.6, 1.1])
found = sl.contacts.paradox.find(one, two, jax.random.key(0))
bodies = [found.body1, found.body2]
print(found.contact.report())

runs = {}
for policy in ("pass", "sustain"):
    system = sl.systems.RigidBodies(bodies, paradox=policy)
    runs[policy] = sl.simulate(system, system.start(bodies), until=0.2)

times = np.linspace(-0.1, 0.2, 61)
figure, (above, below) = plt.subplots(2, sharex=True)
gaps = {}
for policy, run in runs.items():
    states = [bodies if t > 0 else [body.after(t) for body in bodies] for t in times]
    states = [run.system.bodies(run.at(t)) if t > 0 else state for t, state in zip(times, states, strict=True)]
    gaps[policy] = np.array([float(sl.contacts.gap(*state).gap) for state in states])
    above.plot(times, gaps[policy], label=policy)
    below.plot(times[times > 0], [float(run.system.contact_force(run.at(t))[0]) for t in times[times > 0]])
above.set(ylabel="gap [m]")
above.legend()
below.set(xlabel="time [s]", ylabel="contact force [N]")
figure.savefig("paradox_of_ellipsoids.png")

assert found.contact.label == "paradox-2c" and runs["sustain"].events[0].name == "paradox"
assert gaps["pass"].min() < -1e-6 and gaps["sustain"].min() > -1e-12
energies = [
    sum(float(b.kinetic_energy()) for b in runs["sustain"].system.bodies(runs["sustain"].at(t))) for t in (0, 0.2)
]
assert abs(energies[1] / energies[0] - 1) < 1e-11
