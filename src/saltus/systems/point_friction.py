"""The friction law of masses that touch the ground at a point: sliding masses and rafts."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from saltus import checks
from saltus.laws.friction import AbstractFrictionLaw, AbstractSpotLaw, Coulomb
from saltus.programs.arrays import numbers


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
