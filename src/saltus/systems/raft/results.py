"""Names, units and meaning of what a raft shows."""

from __future__ import annotations

from saltus.hybrid import Quantity

QUANTITIES = {
    "position": Quantity(("mass", "axis"), "m", "position"),
    "velocity": Quantity(("mass", "axis"), "m s-1", "velocity"),
    "normal_force": Quantity(("mass",), "N", "reaction of the surface along its upward normal"),
    "rod_force": Quantity(("rod",), "N", "rod force, > 0 pushes the masses apart; 0 in a broken rod"),
    "rod_length": Quantity(("rod",), "m", "distance of the rod's ends"),
    "rod_whole": Quantity(("rod",), "1", "1 while the rod is whole, 0 once it is broken"),
    "kinetic_energy": Quantity((), "J", "kinetic energy"),
    "potential_energy": Quantity((), "J", "potential energy, 0 at z = 0"),
    "elastic_energy": Quantity((), "J", "elastic energy of the rods"),
    "com_energy": Quantity((), "J", "kinetic energy of the centre of mass plus potential energy"),
    "dissipated_energy": Quantity(
        (), "J", "work done against friction and damping, and lost with broken rods and masses gone"
    ),
    "mode": Quantity(("mass",), "1", "mode of each mass"),
}

EVENT_QUANTITIES = {
    "rod_force": Quantity((), "N", "force that broke the rod, > 0 pushes the masses apart"),
    "energy_loss": Quantity((), "J", "elastic energy of the rod as it broke"),
    "point": Quantity(("axis",), "m", "middle of the rod as it broke"),
}
