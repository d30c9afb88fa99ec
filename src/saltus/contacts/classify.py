"""Which kind of touch a contact is."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from saltus.contacts.gap import Separation, gap
from saltus.contacts.impact import mobility
from saltus.contacts.local import LocalMotion, local_motion
from saltus.numerics import rotation
from saltus.programs import program
from saltus.shapes.body import Body

LABELS = (
    "normal",
    "separating",
    "tangential-1",
    "unrealisable-1",
    "unrealisable-2a",
    "paradox-2b*",
    "paradox-2b",
    "paradox-2c",
    "unrealisable-2b*",
    "unrealisable-2b",
    "unrealisable-2c",
    "degenerate",
)

# Rounding of a length, relative to the size of the two bodies, after free motion to the contact.
LENGTH_ERROR = 2e-15


class Tolerances(eqx.Module):
    """Below which the derivatives of the gap count as zero.

    A length error eps moves a grazing contact by sqrt(2 eps / a) and a paradox by
    (6 eps / |gap3|)^(1/3) in time; the derivatives of lower order change accordingly.
    """

    v: Array
    a_eff: Array
    gap3: Array
    u: Array
    w: Array


class Contact(eqx.Module):
    """A classified touch.

    Args:
        code: Index into `LABELS`.
        local: Derivatives of the gap and their parts.
        tolerances: What counted as zero.
        force_rate: How fast the contact force would grow in sustained contact, -gap3 / (n . M n) [N s-1].
    """

    code: Array
    local: LocalMotion
    tolerances: Tolerances
    force_rate: Array

    @property
    def label(self) -> str:
        """Name of the kind, one of `LABELS`."""
        return LABELS[int(self.code)]

    @property
    def is_paradox(self) -> bool:
        """Whether free motion would drive the bodies into each other from rest at the contact."""
        return self.label.startswith("paradox")

    def report(self) -> dict[str, Any]:
        """The label and the numbers behind it."""
        numbers = {name: float(getattr(self.local, name)) for name in ("gap", "v", "a_eff", "gap3", "a", "j")}
        return {"label": self.label, **numbers, "force_rate": float(self.force_rate)}


def classify(body1: Body, body2: Body, point=None, *, length_error: float | None = None) -> Contact:
    """Kind of the contact of two bodies that touch.

    The decision uses the derivatives of the true gap, so it does not depend on which body comes
    first nor on the spin of a round body about its axis; only the sub-types 2b*, 2b and 2c do.

    Args:
        body1: First body.
        body2: Second body.
        point: Contact point [m]; the closest points by default. Matters where two flats meet.
        length_error: Error of the given positions [m]; by default 2e-15 of the size.
    """
    size = body1.shape.radius() + body2.shape.radius()
    error = jnp.asarray(LENGTH_ERROR * size if length_error is None else length_error, float)
    if point is None:
        return _classify(body1, body2, gap(body1, body2), error)
    point = jnp.asarray(point, float)
    q = body1.quaternion
    normal = rotation.rotate(q, body1.shape.normal(rotation.rotate_back(q, point - body1.center)))
    return _classify(body1, body2, Separation(jnp.zeros(()), normal, point, point, jnp.zeros(())), error)


@program
def _classify(body1: Body, body2: Body, separation: Separation, error: Array) -> Contact:
    local = local_motion(body1, body2, separation)
    size = body1.shape.radius() + body2.shape.radius()
    tolerances = tolerances_of(local, _turning(body1, body2), size, error)
    n = separation.normal
    resistance = n @ mobility(body1, body2, separation.point1, separation.point2) @ n
    return Contact(code_of(local, tolerances), local, tolerances, -local.gap3 / resistance)


def _turning(body1: Body, body2: Body) -> Array:
    def speed(omega):
        return jnp.sqrt(jnp.sum(omega * omega))

    return jnp.maximum(speed(body1.angular_velocity), speed(body2.angular_velocity))


def tolerances_of(local: LocalMotion, turning: Array, size: Array, error: Array) -> Tolerances:
    """Tolerances that scale as the conditioning of the event does, with a factor 3 in hand."""
    slip = jnp.sqrt(jnp.sum(local.u * local.u))
    speed = slip + turning * size
    turning = jnp.maximum(turning, slip / size)
    gap3 = jnp.abs(local.gap3)
    time = jnp.cbrt(6.0 * error / jnp.maximum(gap3, 1e-12 * turning * turning * speed + 1e-300))
    return Tolerances(
        v=3.0 * jnp.maximum(jnp.sqrt(2.0 * jnp.abs(local.a_eff) * error), 0.5 * gap3 * time * time) + 1e-14 * speed,
        a_eff=3.0 * gap3 * time + 1e-13 * speed * turning,
        gap3=1e-11 * speed * turning * turning,
        u=3.0 * speed * turning * time,
        w=3.0 * turning * turning * time,
    )


def code_of(local: LocalMotion, tolerances: Tolerances) -> Array:
    """Index into `LABELS`."""

    def length(vector):
        return jnp.sqrt(jnp.sum(vector * vector))

    still = length(local.w) <= tolerances.w
    sub_type = jnp.where(still, jnp.where(length(local.u) <= tolerances.u, 0, 1), 2)
    second_a = (jnp.abs(local.a) <= tolerances.a_eff) & ~still
    flat = jnp.where(
        jnp.abs(local.gap3) <= tolerances.gap3,
        LABELS.index("degenerate"),
        jnp.where(local.gap3 < 0.0, LABELS.index("paradox-2b*"), LABELS.index("unrealisable-2b*")) + sub_type,
    )
    overlapping = jnp.where(second_a, LABELS.index("unrealisable-2a"), LABELS.index("unrealisable-1"))
    tangential = jnp.where(
        local.a_eff > tolerances.a_eff,
        LABELS.index("tangential-1"),
        jnp.where(local.a_eff < -tolerances.a_eff, overlapping, flat),
    )
    moving = jnp.where(local.v < 0.0, LABELS.index("normal"), LABELS.index("separating"))
    return jnp.where(jnp.abs(local.v) > tolerances.v, moving, tangential)
