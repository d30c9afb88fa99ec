"""Many links: does the chain tend to the one of the textbooks?

The continuous chain moves as cosh and loses nothing. Chains of 31 to 511 links (give other numbers as arguments) come
near in time and speed; each particle stands for the piece of chain about it, so lengths are counted to the middle of
a link. Notice the energy lost at the sharp edge, which levels off instead of vanishing, and that beyond half the
length, where the continuous chain would lift off, the real one outruns it.
"""

import math
import sys

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import saltus as sl

sl.configure()

sizes = [int(word) for word in sys.argv[1:] if word.isdecimal()] or [31, 63, 127, 255, 511]
exact = sl.systems.chain.continuum(length=1.0, overhang=1 / 8, gravity=1.0)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
lost, at_half = [], []
for n in sizes:
    link = 1 / (n + 1)
    chain = sl.systems.Chain(n, mass=link, length=link, gravity=1.0, ends_off_table=True)
    run = sl.simulate(chain, chain.start(overhang=1 / 8 - link / 2), until=math.inf, rtol=1e-7, atol=1e-9)
    crossings = [event.data for event in run.events if event.name in ("crossing", "exit")]
    over = np.array([told["particle"] - 0.5 for told in crossings]) * link
    speed = np.array([told["table_speed"] for told in crossings])
    lost.append(float(run.end.ledger[2]))
    moving = over > 1 / 8 + link
    ratio = speed[moving] / np.asarray(exact.speed_at(over[moving]))
    at_half.append(np.interp(0.5, over[moving], ratio))
    left.plot(over[moving], ratio, label=f"{n} links")
    print(f"{n:4d} links: lost {lost[-1]:.5f}, speed / speed of cosh at L/2: {at_half[-1]:.4f}")
left.axvline(float(exact.lift_off), color="grey", linewidth=0.7)
left.set(xlabel="length over the edge / L", ylabel="speed / speed of the continuous chain")
left.legend()
right.semilogx(sizes, lost, "o-")
right.set_xticks(sizes, [str(n) for n in sizes])
right.minorticks_off()
right.set(xlabel="links", ylabel="energy lost / (weight times length)", ylim=(0, None))
figure.savefig("chain_continuum.png", dpi=150)

assert abs(float(exact.lift_off) - 0.515) < 1e-3
assert min(lost) > 0.008 and max(lost) < 0.0115
assert all(0.95 < ratio < 0.98 for ratio in at_half)
