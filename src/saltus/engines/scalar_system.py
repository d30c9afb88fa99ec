"""A hybrid system as operations on scalars: what a kernel that runs many lanes needs to know of it."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from saltus.engines.flat import FlatSystem, Watch
from saltus.hybrid import AbstractSystem, State
from saltus.hybrid.parts import as_array, refill
from saltus.hybrid.state import pack_known
from saltus.numerics.scalars import (
    CannotScalariseError,
    Node,
    Scalars,
    as_constants,
    as_inputs,
    evaluate,
    needed_nodes,
    scalarize,
)

Values = dict[Node, Any]


@dataclasses.dataclass(frozen=True)
class ScalarGuard:
    """A guard value that is watched.

    Args:
        value: The value, falling through zero at the event.
        armed: Whether it is watched; a constant where the mode alone decides.
        singular: As of `Guard`.
    """

    value: Node
    armed: Node
    singular: bool


class ScalarSystem:
    """Rate, guards and watched quantities of one lane, written out as scalars.

    Args:
        system: The system of one lane; the numbers of leaves that do not vary become constants.
        state: A state of the right shapes.
        varying: For each array leaf of the system, whether it differs from lane to lane.
        mode: The mode, if it is the same for all lanes; None: given with the state.
        watch: Quantities whose largest values are kept.

    Raises:
        CannotScalariseError: If something cannot be written as operations on scalars.
    """

    def __init__(self, system: AbstractSystem, state: State, varying, mode, watch: Watch):
        for strict in (False, True):
            self._write(Scalars(strict), system, state, varying, mode, watch)
            if self.scalars.shows_all(self.rate):
                break
        self._everything = needed_nodes([*self.rate, *self.watched, *(g.value for g in self.guards)])
        needed_nodes([g.armed for g in self.guards])
        velocities = range(state.q.size, state.q.size + state.v.size)
        moving = [k for k in velocities if not self.rate[k].equals(0)]
        self.accelerations = moving if any(guard.singular for guard in self.guards) else []
        self.flowing = [k for k, node in enumerate(self.rate) if not node.equals(0)]
        self.autonomous = self.t not in set(self._everything)

    def _write(self, s: Scalars, system: AbstractSystem, state: State, varying, mode, watch: Watch) -> None:
        """Write the system down as nodes."""
        self.scalars = s
        arrays, static = eqx.partition(system, eqx.is_array)
        leaves, tree = jax.tree.flatten(arrays)
        self.parameters: list[Node] = []
        given = []
        for k, (leaf, varies) in enumerate(zip(leaves, varying, strict=True)):
            nodes = as_inputs(s, leaf, f"leaf {k}") if varies else as_constants(s, leaf)
            self.parameters += list(nodes.ravel()) if varies else []
            given.append(nodes)
        vector = pack_known(state)
        y = as_inputs(s, vector, "y")
        self.y: list[Node] = list(y)
        self.t = s.input("t", float)
        given += [np.array(self.t, object), y]
        modes = as_constants(s, mode) if mode is not None else as_inputs(s, np.asarray(state.mode), "mode")
        self.modes: list[Node] = [] if mode is not None else list(modes.ravel())
        given.append(modes.reshape(np.shape(np.asarray(state.mode))))

        def everything(leaves, t, y, mode):
            one = eqx.combine(jax.tree.unflatten(tree, leaves), static)
            flat = FlatSystem(one, state.replace(mode=refill(state.mode, mode)))
            if flat.rough(t, y) is not None:
                raise CannotScalariseError("A rate that is not smooth everywhere is not for a kernel.")
            seen = watch(one, flat.state(t, y))
            return flat.rate(t, y), flat.guards(t, y), flat.armed(), jnp.asarray(seen, float)

        arguments = (leaves, state.t, jnp.asarray(vector), jnp.asarray(as_array(state.mode)))
        rate, guards, armed, seen = scalarize(everything, arguments, given, s)
        singular = FlatSystem(system, state).marks().singular
        self.rate: list[Node] = list(rate)
        self.watched: list[Node] = list(seen.ravel())
        self.guards = _drop_dominated(
            [ScalarGuard(*one) for one in zip(guards, armed, singular, strict=True) if not one[1].equals(0)]
        )

    def constants(self) -> list[Node]:
        """What does not change along a flow, and is needed at each step."""
        changing = {self.t, *self.y}
        for node in self._everything:
            if any(arg in changing for arg in node.args):
                changing.add(node)
        outer = [node for node in self._everything if node not in changing and not node.known]
        return [*outer, *(g.armed for g in self.guards if not g.armed.known)]

    def constant_values(self, parameters, modes, like) -> Values:
        """Values of all that does not change along a flow."""
        values = {**dict(zip(self.parameters, parameters, strict=True)), **dict(zip(self.modes, modes, strict=True))}
        evaluate(self.constants(), values, like)
        return values

    def at(self, values: Values, t, y, nodes: list[Node], like, operations=None) -> list:
        """Values of nodes at a state."""
        here = dict(values)
        here[self.t] = t
        here.update(zip(self.y, y, strict=True))
        return evaluate(nodes, here, like, operations)


def _drop_dominated(guards: list[ScalarGuard]) -> list[ScalarGuard]:
    """Drop guards g + c with c > 0 where g is always armed: g fires first."""
    always = {g.value for g in guards if g.armed.known}

    def later(g: ScalarGuard) -> bool:
        if g.value.op != "add":
            return False
        return any(
            one in always and other.known and other.value > 0.0
            for one, other in (g.value.args, g.value.args[::-1])
        )  # fmt: skip

    return [g for g in guards if not later(g)]
