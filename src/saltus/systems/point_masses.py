"""What sliding masses and rafts have in common: their masses, and the friction law of points."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from saltus import checks
from saltus.laws.friction import AbstractFrictionLaw, AbstractSpotLaw, Coulomb
from saltus.programs.arrays import numbers
from saltus.surfaces import AbstractSurface


def check_masses(surface: Any, masses: Any, gravity: Any) -> int:
    """Refuse what is no surface, no list of masses or no gravity; the number of masses."""
    checks.instance(
        "surface", surface, AbstractSurface, "Give one of saltus.surfaces, such as surfaces.Sphere(radius=1.0)."
    )
    checks.positive("mass", masses, "Every mass needs a weight to be held on the surface.")
    checks.positive("gravity", gravity)
    if len(checks.shape_of(masses)) != 1 or checks.shape_of(masses)[0] == 0:
        raise ValueError(f"`masses` must be a list of at least one number, got {masses}.")
    return checks.shape_of(masses)[0]


def point_law(law: AbstractFrictionLaw | None, mu, n: int) -> AbstractFrictionLaw:
    """The friction law of n masses: the one given, or Coulomb's with `mu`, one for all or one per mass."""
    if (law is None) == (mu is None):
        raise ValueError("Give either `mu`, such as mu=0.2 (0.0 means none), or `law`, such as law=Coulomb(0.2).")
    if law is None:
        checks.nonnegative("mu", mu)
        if checks.shape_of(mu) not in ((), (n,)):
            raise ValueError(f"`mu` must be one number or {n}, one per mass, got {len(mu)} numbers.")
        known = checks.concrete(mu)
        if known is None:
            return Coulomb(jnp.broadcast_to(jnp.asarray(mu, float), (n,)))
        return Coulomb(numbers(np.broadcast_to(known, (n,))))  # by NumPy: JAX would compile it
    checks.instance("law", law, AbstractFrictionLaw, "Give one of saltus.laws.friction, such as Coulomb(0.2).")
    if isinstance(law, AbstractSpotLaw) or not law.proportional:
        raise ValueError(
            f"{type(law).__name__} is no friction of a point that is proportional to the load, as masses on rods need. "
            "Give one such as Coulomb(0.2); a law of your own says so by its property `proportional`."
        )
    return law.for_masses(n)
