"""How far the approximations of combined friction are from the exact law.

A contact spot that slides and spins at once resists both less. The exact law is compared with the models in use, down
to the elliptic cone of physics engines. Notice that the largest errors sit where rim speed and slip are about equal,
and that the cone is too strong while the classical fits are too weak.
"""

import saltus as sl
from saltus.laws import friction
from saltus.views import friction as pictures

sl.configure()

LAWS = (friction.Pade, friction.FirstOrder, friction.SecondOrder, friction.PowerNorm, friction.EllipticCone)

largest = {}
for law in LAWS:
    errors = friction.maximal_errors(law(mu=1.0, spot_radius=1.0, pressure="hertz"))
    largest[law.__name__] = {name: error.error for name, error in errors.items()}
    words = ", ".join(f"{name} {error.error:.3f} at ratio {error.ratio:.2f}" for name, error in errors.items())
    print(f"{law.__name__:13s} off by {words}")

exact = friction.Combined(mu=0.3, spot_radius=0.01)
still = exact.reaction([1.0, 0.0], 0.0, 10.0).force[0]
spinning = exact.reaction([1.0, 0.0], 300.0, 10.0).force[0]
print(f"a spot under 10 N resists with {-still:.3f} N; while it spins at 300 rad/s, with {-spinning:.3f} N")
pictures.comparison("hertz").savefig("friction_laws.png", dpi=160)

# The paper's model, measured: 12 per cent of the force, 21 per cent of the torque.
assert abs(largest["Pade"]["F_par/F0"] - 0.121) < 6e-4 and abs(largest["Pade"]["M_C/M0"] - 0.212) < 6e-4
assert min(largest, key=lambda name: largest[name]["M_C/M0"]) == "PowerNorm"
assert abs(float(still) + 3.0) < 1e-14  # pure slip is Coulomb's law
assert sl.laws.friction.spot_functions(3.0, "hertz").Phi0 == -spinning / 3.0
