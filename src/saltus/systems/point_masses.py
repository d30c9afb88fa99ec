"""What sliding masses and rafts have in common: checks of what is given, and the friction law of points."""

from __future__ import annotations

from collections.abc import Sequence
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


def check_pairs(rods, n: int) -> tuple[tuple[int, int], ...]:
    """The rods as pairs of different, existing masses, none of them twice."""
    try:
        pairs = tuple((int(i), int(j)) for i, j in rods)
    except (TypeError, ValueError):
        raise ValueError(f"`rods` must be pairs of masses, such as [(0, 1), (1, 2)], got {rods!r}.") from None
    seen = {}
    for r, (i, j) in enumerate(pairs):
        if i == j:
            raise ValueError(
                f"Rod {r} joins mass {i} to itself. Give `rods` as pairs of different masses, such as (0, 1)."
            )
        for k in (i, j):
            if not 0 <= k < n:
                raise ValueError(f"Rod {r} joins mass {k}, but the masses are numbered 0 to {n - 1}.")
        first = seen.setdefault(frozenset((i, j)), r)
        if first != r:
            raise ValueError(f"Rod {r} joins masses {i} and {j} as rod {first} does already. Leave one of them out.")
    return pairs


def check_motion(position: Any, velocity: Any, n: int) -> None:
    """Refuse places and velocities that are not two finite numbers for each of n masses."""
    checks.shaped("position", position, (n, 2), "Give x and y of each mass.")
    checks.finite("position", position)
    checks.shaped("velocity", velocity, (n, 2), "Give the horizontal velocity of each mass.")
    checks.finite("velocity", velocity)


def check_domain(margin: Any, position: Any) -> None:
    """Refuse masses outside the domain of the surface, by their margins to its border [m]; traced ones pass."""
    margin = checks.concrete(margin)
    if margin is not None and not (margin > 0.0).all():
        i = int(np.flatnonzero(~(margin > 0.0))[0])
        x, y = np.asarray(position, float)[i]
        raise ValueError(
            f"Mass {i} at ({x:g}, {y:g}) m is outside the region where the surface is defined. Start it inside."
        )


def check_lengths(lengths: Any, pairs: Sequence[tuple[int, int]]) -> None:
    """Refuse rods without length (which may come out as NaN); traced ones pass."""
    known = checks.concrete(lengths)
    if known is not None and not (known > 0.0).all():
        r = int(np.argmin(known > 0.0))
        i, j = pairs[r]
        raise ValueError(f"Rod {r} has no length: masses {i} and {j} start at the same place. Move one of them.")


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
