"""The published paradox of a rounded box and an ellipsoid, with both ways to go on.

Passing on by the conservation laws alone, the bodies overlap by 8 mm; in sustained contact a force of 4.4 N keeps them
apart for 0.14 s. Notice that the force starts and ends at zero: there is no impact at all.
"""

import matplotlib.pyplot as plt
import numpy as np

import saltus as sl

sl.configure()

runs = {}
for policy in ("pass", "sustain"):
    scenario = sl.scenarios.load("paradox", [f'impact.paradox="{policy}"', "solve.until=0.35"]).scenario
    runs[policy] = scenario.simulate()
system = runs["pass"].system
bodies = system.bodies(runs["pass"].at(0.0))

past = np.linspace(-0.2, 0.0, 21)
figure, (above, below) = plt.subplots(2, sharex=True)
above.plot(past, [float(sl.contacts.gap(*(body.after(t) for body in bodies)).gap) for t in past], "k", label="before")
data = {policy: run.to_dataset(times=141) for policy, run in runs.items()}
for policy, result in data.items():
    above.plot(result.time, result.gap[:, 0], label=policy)
    below.plot(result.time, result.contact_force[:, 0], label=policy)
above.set(ylabel="gap [m]")
above.legend()
below.set(xlabel="time [s]", ylabel="contact force [N]")
figure.savefig("published_paradox.png")

assert abs(runs["pass"].events[1].t - 0.303169568212201) < 1e-9  # the overlap ends
assert abs(runs["sustain"].events[1].t - 0.1409143695894) < 1e-9  # the contact ends
assert abs(float(data["pass"].gap.min()) + 0.008022606) < 1e-5
assert abs(float(data["sustain"].contact_force.max()) - 4.43) < 0.01 and float(data["sustain"].gap.min()) > -1e-12
