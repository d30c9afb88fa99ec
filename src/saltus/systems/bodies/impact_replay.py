"""An impact taken again with other numbers: what can be differentiated with respect to everything.

The time of the contact is where the gap is zero and the closest points are where the normals are opposite, whatever the
numbers. One Newton step from what is known of both depends on the numbers as they do.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from saltus.contacts.gap import Separation, closest
from saltus.contacts.pair import Pair, face, newton_step
from saltus.contacts.wall import Wall, wall_gap
from saltus.laws.impact import AbstractImpactLaw
from saltus.numerics import rotation
from saltus.numerics.components import Vec
from saltus.shapes.body import Body
from saltus.systems.bodies.touch import body_mobility, push, relative_velocity


class ImpactResult(eqx.Module):
    """What an impact did to those it concerns.

    Args:
        t: When it was [s].
        q: Configurations of the bodies, one row each.
        v: Velocities after it.
        ledger: Energy lost in it [J].
    """

    t: Array
    q: Array
    v: Array
    ledger: Array


def strike(system, wall: Array | None, t: Array, since: Array, q: Array, v: Array) -> ImpactResult:
    """The impact that an earlier run had at time t.

    Args:
        system: A system of the bodies concerned alone, in their order.
        wall: Number of the wall; None if two bodies met.
        t: Time of the impact in that run [s].
        since: When each of the bodies last changed [s].
        q: Configurations of the bodies then.
        v: Velocities then.
    """
    members = jnp.arange(len(q))
    flown = jax.vmap(lambda *row: system.flow(*row, compact=True))(members, q, v, t - since)
    bodies = [system.at(*row) for row in zip(*flown, members, strict=True)]
    if wall is None:
        late, bodies, at = _meet(system, *bodies)
        partners = tuple(bodies)
    else:
        late, bodies, at = _meet_wall(system, system.wall(wall), *bodies)
        partners = (system.wall(wall), *bodies)
    after, lost = _collide(partners, at, system.law)
    after = after[-len(bodies) :]
    rows = [jnp.concatenate([body.center, body.quaternion]) for body in bodies]
    velocities = [jnp.concatenate([body.velocity, body.angular_velocity, jnp.zeros(1)]) for body in after]
    return ImpactResult(t + late, jnp.stack(rows), jnp.stack(velocities), lost)


def _meet(system, one: Body, two: Body) -> tuple[Array, list[Body], Separation]:
    """How much later two bodies touch, the bodies there, and how they touch."""
    image = system.nearest_image(two.center, one.center) - one.center
    pair = _pair(one, two, image)
    normal, point1, point2, _ = jax.lax.stop_gradient(closest(jax.lax.stop_gradient(pair)))
    width = face(pair, normal).width
    here = _touch(one, image, width, normal.array(), point1.array(), point2.array())
    late = _late(width, here.normal @ relative_velocity(one, two, here))
    one, two = _nudge(one, late, system.gravity), _nudge(two, late, system.gravity)
    step = newton_step(_pair(one, two, image), point1, point2)
    found = zip(
        (normal, point1, point2), (step.normal1 + step.turn, point1 + step.move1, point2 + step.move2), strict=True
    )
    return (
        late,
        [one, two],
        _touch(one, image, width, *(_with_derivative(known.array(), new.array()) for known, new in found)),
    )


def _touch(one: Body, image: Array, width: Array, normal: Array, point1: Array, point2: Array) -> Separation:
    """A touch from points relative to the first centre; the second body is at another image of it."""
    return Separation(width, normal, one.center + point1, one.center + image + point2, width)


def _meet_wall(system, wall: Wall, body: Body) -> tuple[Array, list[Body], Separation]:
    """How much later a body touches a wall, the body there, and how they touch."""
    here = wall_gap(wall, body)
    late = _late(here.gap, wall.normal @ relative_velocity(wall, body, here))
    body = _nudge(body, late, system.gravity)
    return late, [body], wall_gap(wall, body)


def _pair(one: Body, two: Body, image: Array) -> Pair:
    pair = Pair.of(one, two)
    return eqx.tree_at(lambda p: p.offset, pair, Vec.of(two.center - one.center - image))


def _late(gap: Array, rate: Array) -> Array:
    """Change of the time of contact: zero, as the gap is, with the derivative of the gap's zero by other numbers."""
    return -gap / jax.lax.stop_gradient(rate)


def _with_derivative(known: Array, new: Array) -> Array:
    """The known value with the derivative of the new one."""
    return jax.lax.stop_gradient(known) + (new - jax.lax.stop_gradient(new))


def _nudge(body: Body, late: Array, gravity: Array) -> Body:
    """The body a very short time later."""
    turning = rotation.rate_of_quaternion(body.quaternion, body.angular_velocity)
    spin = -body.inverse_inertia() @ jnp.cross(body.angular_velocity, body.angular_momentum())
    return body.with_motion(
        body.center + late * body.velocity,
        body.velocity + late * gravity,
        body.quaternion + late * turning,
        body.angular_velocity + late * spin,
    )


def _collide(partners: tuple, at: Separation, law: AbstractImpactLaw) -> tuple[tuple, Array]:
    """Both partners after the impulse of the law, and the energy it took."""
    first, second = partners
    mobility = body_mobility(second, at.point2)
    if not isinstance(first, Wall):
        mobility = mobility + body_mobility(first, at.point1)
    velocity = relative_velocity(first, second, at)
    impulse = law.impulse(velocity, at.normal, mobility)
    after = push(first, second, at, impulse)
    mean = velocity + relative_velocity(*after, at)
    lost = jnp.zeros(()) if law.lossless else jnp.maximum(-0.5 * impulse @ mean, 0.0)
    return after, lost
