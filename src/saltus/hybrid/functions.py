"""A hybrid system from plain functions: a rate, guards with their jumps, and a state of any form."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from saltus import checks
from saltus.hybrid.form import Form
from saltus.hybrid.guard import Guard, always, never
from saltus.hybrid.state import Rate, State
from saltus.hybrid.system import AbstractSystem, Quantity

RESERVED = ("time", "mode", "energy", "jump_side")  # names that a result gives to its own variables


class UserFunction(eqx.Module):
    """A user's function: its numbers, if it is a module that holds some, are leaves; the rest tells programs apart."""

    numbers: tuple[Array, ...]
    rest: tuple[Any, ...] = eqx.field(static=True)
    structure: Any = eqx.field(static=True)

    @staticmethod
    def of(function: Callable) -> UserFunction:
        """The function, held."""
        leaves, structure = jax.tree.flatten(function)
        numbers = tuple(leaf for leaf in leaves if eqx.is_array(leaf))
        return UserFunction(numbers, tuple(None if eqx.is_array(leaf) else leaf for leaf in leaves), structure)

    def __call__(self, *arguments: Any) -> Any:
        """Call it."""
        numbers = iter(self.numbers)
        leaves = [next(numbers) if leaf is None else leaf for leaf in self.rest]
        return jax.tree.unflatten(self.structure, leaves)(*arguments)


def _hold(function: Callable | None) -> UserFunction | None:
    return None if function is None else UserFunction.of(function)


IN_OTHER_WORDS = ("function", "armed", "jump", "settle", "likely", "to")  # fields of a guard that a rule translates


class _Change(eqx.Module):
    """The state and the mode after an event, by functions or, for a mode, by its number; what is None stays."""

    state: UserFunction | None
    mode: UserFunction | None = None
    number: int | None = eqx.field(static=True, default=None)


class _Rule(eqx.Module):
    """A guard of a `FunctionSystem`: its functions held, its modes by number, and its other fields as they are."""

    function: UserFunction
    likely: UserFunction | None
    jump: _Change
    settle: _Change | None
    modes: tuple[int, ...] | None = eqx.field(static=True)
    name: str = eqx.field(static=True)
    others: tuple[tuple[str, Any], ...] = eqx.field(static=True)


class FunctionSystem(AbstractSystem):
    """A hybrid system made of functions; `system` builds it.

    The whole state lies in `State.q` as one vector; `tree` gives it back in the form it was written in.
    """

    kind: ClassVar[str] = "own"

    mode_names: tuple[str, ...] = eqx.field(static=True)
    form: Form = eqx.field(static=True)
    rates: tuple[UserFunction, ...]
    rules: tuple[_Rule, ...]
    parameters: Any
    first: Array
    first_time: Array
    first_mode: int = eqx.field(static=True)
    observes: UserFunction | None
    energies: UserFunction | None
    units: tuple[tuple[str, Quantity], ...] = eqx.field(static=True)

    # ---- states ---------------------------------------------------------------------------------

    def start(self, y: Any = None, t: Any = None, mode: str | None = None) -> State:
        """The state to begin with.

        Args:
            y: The state in the form of the system; that given to `system` if None. A mapping may name some parts only.
            t: Time of the start [s]; that given to `system` if None.
            mode: Name of the mode at the start; the first one if None.
        """
        number = self.first_mode if mode is None else _number_of(mode, self.mode_names)
        vector = self.first if y is None else self.form.vector(self._complete(y), "The start")
        return State(
            t=self.first_time if t is None else jnp.asarray(t, float),
            q=vector,
            v=jnp.zeros(0),
            ledger=jnp.zeros(0),
            mode=jnp.asarray(number, int),
        )

    def _complete(self, y: Any) -> Any:
        """`y`, with what a mapping leaves out taken from the system's own start."""
        own = self.form.tree(self.first)
        if not isinstance(y, Mapping) or not isinstance(own, dict):
            return y
        for name in y:
            checks.one_of("part of the state", name, own)
        return {**own, **y}

    def tree(self, state: State) -> Any:
        """The state in the form it was written in; stacked states give stacked leaves."""
        return self.form.tree(state.q)

    def with_parameters(self, parameters: Any) -> FunctionSystem:
        """The same system with other parameters, perhaps traced; a mapping may name some of them only."""
        if isinstance(parameters, Mapping) and isinstance(self.parameters, dict):
            for name in parameters:
                checks.one_of("parameter", name, self.parameters)
            parameters = {**self.parameters, **parameters}
        parameters = as_numbers(parameters)
        if jax.tree.structure(parameters) != jax.tree.structure(self.parameters):
            raise ValueError(
                f"The parameters must have the form {jax.tree.structure(self.parameters)}, "
                f"got {jax.tree.structure(parameters)}."
            )
        return eqx.tree_at(lambda system: system.parameters, self, parameters, is_leaf=lambda x: x is None)

    # ---- the contract ----------------------------------------------------------------------------

    def _call(self, function: UserFunction, state: State, *more: Any) -> Any:
        """A user's function of the time, the state and, where there are any, the parameters."""
        given = () if self.parameters is None else (self.parameters,)
        return function(state.t, self.form.tree(state.q), *given, *more)

    def rate(self, state: State) -> Rate:
        """Time derivatives of the vector in the mode of the state."""

        def of(function):
            return lambda: self.form.vector(self._call(function, state), "The rate")

        if len(self.rates) == 1:
            rate = of(self.rates[0])()
        else:
            rate = jax.lax.switch(state.mode, [of(function) for function in self.rates])
        return Rate(q=rate, v=jnp.zeros(0), ledger=jnp.zeros(0))

    def guards(self) -> tuple[Guard, ...]:
        """The guards with their jumps, as functions of a `State`."""
        return tuple(self._guard(rule) for rule in self.rules)

    def _guard(self, rule: _Rule) -> Guard:
        def function(state: State) -> Array:
            return _guard_value(rule.name, self._call(rule.function, state))

        def armed(state: State) -> Array:
            return jnp.isin(state.mode, jnp.asarray(rule.modes))

        likely, settle = rule.likely, rule.settle
        return Guard(
            function=function, armed=always if rule.modes is None else armed,
            jump=lambda state, index: self._after(state, index, rule, rule.jump),
            settle=None if settle is None else lambda state, index: self._after(state, index, rule, settle),
            likely=never if likely is None else lambda state: self._call(likely, state),
            name=rule.name, **dict(rule.others),
        )  # fmt: skip

    def _after(self, state: State, index: Array, rule: _Rule, change: _Change) -> State:
        """The state after a change that belongs to an event of a guard."""
        many = jax.eval_shape(lambda s: jnp.asarray(self._call(rule.function, s)), state).ndim > 0
        more = (index,) if many else ()
        q, mode = state.q, change.number
        if change.state is not None:
            q = self.form.vector(self._call(change.state, state, *more), f"The jump of {rule.name!r}")
        if change.mode is not None:
            mode = self._call(change.mode, state, *more)
        mode = state.mode if mode is None else jnp.asarray(mode, state.mode.dtype)
        return State(state.t, q, state.v, state.ledger, mode)

    # ---- results ---------------------------------------------------------------------------------

    def quantities(self) -> dict[str, Quantity]:
        """Names and meanings: those given, or the parts of the state."""
        return dict(self.units)

    def observe(self, state: State) -> dict[str, Array]:
        """The parts of the state, or what the system's `observe` says, with the mode and the energy."""
        if self.observes is None:
            observed = dict(zip(self.form.names, self.form.leaves(state.q), strict=True))
        else:
            observed = {name: jnp.asarray(value) for name, value in self._call(self.observes, state).items()}
        if self.energies is not None:
            observed["energy"] = jnp.asarray(self._call(self.energies, state))
        if len(self.mode_names) > 1:
            observed["mode"] = state.mode
        return observed


def system(
    rate: Callable | Mapping[str, Callable],
    start: Any,
    guards: Sequence[Guard] = (),
    *,
    parameters: Any = None,
    observe: Callable | None = None,
    energy: Callable | None = None,
    units: Mapping[str, str | Quantity] | None = None,
    t: float = 0.0,
) -> FunctionSystem:
    """A hybrid system from functions of the time and the state.

    Every function is called as `f(t, y)`, or as `f(t, y, p)` where `parameters` are given; `y` has the form of
    `start`. Functions are traced by JAX: they compute with `jax.numpy` and branch with `jnp.where`, not with `if`.

    Args:
        rate: Time derivative of `y`, in the same form; or, for a system with modes, a mapping from the name of each
            mode to its rate. The first mode is the one at the start.
        start: The state at the beginning: a number, an array, a dict, a NamedTuple, an `equinox.Module`, or any other
            tree of numbers and arrays. It gives the parts of the state their names and shapes.
        guards: `Guard(name, function, jump=..., ends=...)`. `function(t, y)` ends a segment as it falls through
            zero; `jump(t, y)` is the state after. With modes, `armed` names the modes in which it is watched and `to`
            the mode after (or a function that gives its number). A guard whose function returns a 1-D
            array watches many things; its `jump` has their index as last argument. `settle` tells what follows
            where its events pile up: a function like a jump, the name of a mode, or a pair of both. `likely(t, y)`
            tells whether a run from there nearly always comes to its event.
        parameters: Numbers of the system, as a tree: differentiable, and changed without compiling anything again.
        observe: A dict of named results; the parts of the state if not given.
        energy: The energy of the system [J]; it becomes a result, and `check` watches it.
        units: SI units, or a whole `Quantity`, by the names of the results; "1" for those that are left out.
        t: Time of the start [s].

    >>> import saltus as sl
    >>> ball = sl.hybrid.system(
    ...     lambda t, y: {"height": y["speed"], "speed": -9.81},
    ...     start={"height": 1.0, "speed": 0.0},
    ...     guards=[
    ...         sl.hybrid.Guard(
    ...             "floor", lambda t, y: y["height"], jump=lambda t, y: {**y, "speed": -0.9 * y["speed"]}
    ...         )
    ...     ],
    ... )
    >>> sl.simulate(ball, ball.start(), until=1.0).events[0].t
    0.4515236409857...
    """
    rates = dict(rate) if isinstance(rate, Mapping) else {"flow": rate}
    _check_functions(rates, guards)
    modes = tuple(rates)
    form = Form.of(start)
    parameters = None if parameters is None else as_numbers(parameters)
    rules = tuple(_rule(guard, modes) for guard in guards)
    made = FunctionSystem(
        mode_names=modes, form=form, rates=tuple(UserFunction.of(one) for one in rates.values()), rules=rules,
        parameters=parameters, first=form.vector(start, "The start"), first_time=jnp.asarray(t, float), first_mode=0,
        observes=_hold(observe), energies=_hold(energy), units=(),
    )  # fmt: skip
    return dataclasses.replace(made, units=_quantities(made, units or {}))


def _check_functions(rates: Mapping[str, Any], guards: Sequence[Guard]) -> None:
    """Refuse what is no function, names given twice, and functions that hide a traced number."""
    named = {f"rate of mode {name!r}": function for name, function in rates.items()}
    if not rates:
        raise ValueError("A system needs a rate: a function, or a mapping from the names of its modes to functions.")
    for guard in guards:
        if not isinstance(guard, Guard):
            raise TypeError(f"`guards` must be a list of `Guard`s, got {guard!r}.")
        named[f"function of guard {guard.name!r}"] = guard.function
        if guard.jump is not None:
            named[f"jump of guard {guard.name!r}"] = guard.jump
    names = [guard.name for guard in guards]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"Two guards are called {twice!r}. Give each its own name.")
    for what, function in named.items():
        if not callable(function):
            raise TypeError(f"The {what} must be a function of (t, y), got {function!r}.")
        for cell in getattr(function, "__closure__", None) or ():
            if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(_content(cell))):
                raise ValueError(
                    f"The {what} uses a number that JAX traces and that is not among its arguments. "
                    "Give such numbers as `parameters`, so that derivatives with respect to them are right."
                )


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a name that is bound later
        return None


def _rule(guard: Guard, modes: tuple[str, ...]) -> _Rule:
    """The rule of a guard, with the names of modes replaced by their numbers."""
    if guard.armed is always:
        armed = None
    elif callable(guard.armed):
        raise TypeError(f"`armed` of guard {guard.name!r} must name modes ({', '.join(modes)}), got a function.")
    else:
        names = (guard.armed,) if isinstance(guard.armed, str) else tuple(guard.armed)
        armed = tuple(_number_of(name, modes) for name in names)
    if callable(guard.to):
        jump = _Change(_hold(guard.jump), mode=UserFunction.of(guard.to))
    else:
        jump = _Change(_hold(guard.jump), number=None if guard.to is None else _number_of(guard.to, modes))
    parts = guard.settle if isinstance(guard.settle, tuple | list) else (guard.settle,)
    follows = next((part for part in parts if callable(part)), None)
    rest = next((_number_of(part, modes) for part in parts if isinstance(part, str)), None)
    others = (field.name for field in dataclasses.fields(Guard) if field.name not in (*IN_OTHER_WORDS, "name"))
    return _Rule(
        function=UserFunction.of(guard.function), likely=None if guard.likely is never else _hold(guard.likely),
        jump=jump, settle=None if follows is None and rest is None else _Change(_hold(follows), number=rest),
        modes=armed, name=guard.name, others=tuple((name, getattr(guard, name)) for name in others),
    )  # fmt: skip


def _number_of(mode: str, modes: tuple[str, ...]) -> int:
    checks.one_of("mode", mode, modes)
    return modes.index(mode)


def _guard_value(name: str, value: Any) -> Array:
    value = jnp.asarray(value, float)
    if value.ndim > 1:
        raise TypeError(f"The function of guard {name!r} must return a number or a 1-D array, got shape {value.shape}.")
    return value


def as_numbers(tree: Any) -> Any:
    """A tree with its numbers as float64 arrays; functions and modules keep what is no number."""

    def number(leaf):
        if isinstance(leaf, bool) or not isinstance(leaf, int | float | np.ndarray | np.generic | jax.Array):
            return leaf
        return jnp.asarray(leaf, float)

    return jax.tree.map(number, tree)


def _quantities(made: FunctionSystem, units: Mapping[str, str | Quantity]) -> tuple[tuple[str, Quantity], ...]:
    """Names, units and dimensions of the results."""
    if made.observes is None:
        shapes = dict(zip(made.form.names, made.form.shapes, strict=True))
    else:
        shapes = {name: value.shape for name, value in eqx.filter_eval_shape(_observe, made, made.start()).items()}
    for name in shapes:
        if name in RESERVED or name.startswith("event_"):
            raise ValueError(f"A part of the state or a result cannot be called {name!r}: that name is taken.")
    for name in units:
        checks.one_of("result", name, [*shapes, "energy"])

    def quantity(name: str, shape: tuple[int, ...]) -> Quantity:
        given = units.get(name, "1")
        if isinstance(given, Quantity):
            return given
        dims = tuple(f"{name}_{axis}" for axis in (("index",) if len(shape) == 1 else "ijklmn")[: len(shape)])
        return Quantity(dims, given, name.replace("_", " "))

    found = {name: quantity(name, shape) for name, shape in shapes.items()}
    if made.energies is not None:
        given = units.get("energy", "J")
        found["energy"] = given if isinstance(given, Quantity) else Quantity((), given, "energy")
    if len(made.mode_names) > 1:
        found["mode"] = Quantity((), "1", "mode")
    return tuple(found.items())


def _observe(made: FunctionSystem, state: State) -> dict[str, Array]:
    return made.observe(state)
