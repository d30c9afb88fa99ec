"""The one entry point: let a system move."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus import checks
from saltus._jax_settings import remind_of_configure
from saltus.diagnostics.accuracy import TELLING, Promise, assess
from saltus.engines.choice import Engine, Options, check_fit, engine_for, parts_for
from saltus.hybrid import (
    AbstractSteppedSystem,
    AbstractSystem,
    AbstractTrajectory,
    Events,
    HybridSystem,
    Outcome,
    State,
)
from saltus.hybrid.object_facts import ObjectFacts
from saltus.programs import brief_program

if TYPE_CHECKING:
    import os

    import xarray as xr

    from saltus.engines.replay import Replay
    from saltus.views.pages import Inline


System = TypeVar("System", bound=HybridSystem)

_untraced: ObjectFacts[bool] = ObjectFacts()  # systems of plain numbers
LOOKS = 64  # knots at which the energies of a run are looked at


class Tolerances(TypedDict):
    """The errors allowed per step, as `simulate` takes them."""

    rtol: float
    atol: float


@dataclasses.dataclass(frozen=True)
class Run(Generic[System]):
    """A simulated motion: the system, its trajectory, and how long it took.

    Args:
        system: What moved.
        trajectory: How it moved.
        wall_time: Seconds it took to compute.
        rtol: Relative error allowed per step; None where steps are constant and no error is promised.
    """

    system: System
    trajectory: AbstractTrajectory
    wall_time: float
    rtol: float | None = None

    @property
    def events(self) -> Events:
        """What happened, in order."""
        return Events(self.trajectory.events)

    @functools.cached_property
    def outcome(self) -> Outcome:
        """Why the run ended; `inaccurate` where its energy balance or constraints are worse than promised.

        Looked at when first asked for: `trajectory.outcome` is what the engine says, without this check.
        """
        if not any(name in TELLING for name in self.system.quantities()):
            return self.trajectory.outcome
        knots = self.trajectory.knots
        rows = np.linspace(0, len(knots.t) - 1, LOOKS).astype(int)
        observed = _accuracy_figures(self.system, jax.tree.map(lambda x: np.asarray(x)[rows], knots))
        observed = {name: np.asarray(column) for name, column in observed.items()}
        return assess(self.trajectory.outcome, observed, self.promise)

    @property
    def promise(self) -> Promise:
        """What the tolerances promise of the energy balance and the constraints."""
        return Promise(self.rtol if self.system.balanced else None, self.trajectory.steps)

    @property
    def end(self) -> State:
        """The last state."""
        return self.trajectory.end

    def at(self, t: float, side: str = "after") -> State:
        """The state at one time."""
        return self.trajectory.at(t, side)

    def states(self, times, side: str = "after") -> State:
        """The states at these times, stacked."""
        return self.trajectory.states(times, side)

    def replay(self, system: HybridSystem | None = None, start: State | None = None, times=None) -> Replay:
        """The run taken again with other numbers, along the same steps and through the same events.

        For the run's own numbers it gives the run's own end; `jax.grad` and `jax.jacfwd` of it are
        right through events, with the derivative of their times. Meant for derivatives: far from the
        run's own numbers, events may come in another order, which a replay does not notice.

        Args:
            system: The system with its numbers, perhaps traced; that of the run if not given.
            start: Its start; that of the run if not given. Its mode is that of the run's own start.
            times: Times at which the states are wanted as well, within the run [s].
        """
        settled = [event.name for event in self.events if event.name.endswith("_settled")]
        if settled:
            raise ValueError(f"A run in which events pile up ({settled[0]}) cannot be replayed: they are too many.")
        ours = self.trajectory.start
        begin: State = ours if start is None else eqx.tree_at(lambda state: state.mode, start, ours.mode)
        taken = self.system if system is None else system.with_tolerance(self.rtol or 0.0)
        return self.trajectory.replay(taken, begin, times)

    def to_dataset(self, times: int | np.ndarray = 1001, attributes: dict | None = None) -> xr.Dataset:
        """The run as an xarray dataset with names and units; the instant of a jump appears twice.

        Args:
            times: How many times, evenly over the run, or the times themselves [s].
            attributes: Further attributes of the dataset.
        """
        from saltus.io.dataset import to_dataset

        dataset = to_dataset(self.system, self.trajectory, times, attributes or {})
        # Some times may all show the same phase of a motion, with nothing exchanged between them.
        throughout = np.ndim(times) == 0 and dataset.sizes["time"] >= LOOKS
        observed = {str(name): column.values for name, column in dataset.items()}
        outcome = assess(self.trajectory.outcome, observed, self.promise) if throughout else self.outcome
        dataset.attrs.update(outcome=outcome.name, outcome_message=outcome.message)
        return dataset

    def to_html(self, path: str | os.PathLike, times: int | np.ndarray = 1001) -> None:
        """Write the run as one web page that opens offline: the scene to turn and play, curves, events.

        Args:
            path: The file (.html), written whole or not at all.
            times: As for `to_dataset`.
        """
        from saltus.views import save_page

        save_page(self.to_dataset(times), path)

    def show(self, height: int = 620) -> Inline:
        """That page inside a notebook, in a frame of this height [pixels]."""
        from saltus.views.pages import Inline

        return Inline(self.to_dataset(), height)

    def __repr__(self) -> str:
        begin, end = float(self.trajectory.start.t), float(self.end.t)
        count = len(self.trajectory.events)
        events = f"{count} event{'' if count == 1 else 's'}"
        return f"Run({self.system.kind}, t = {begin:g} to {end:.9g} s, {events}, {self.outcome.name})"

    def _repr_html_(self) -> str:
        from saltus.io.notebook import run_html

        return run_html(self.system, self.trajectory, self.outcome, self.wall_time)


@brief_program
def _accuracy_figures(system: HybridSystem, states: State) -> dict[str, Array]:
    """What of the results of many states tells their accuracy; the rest is not computed."""

    def one(state):
        observed = system.observe(state)
        return {name: observed[name] for name in (*TELLING, "rod_whole") if name in observed}

    return jax.vmap(one)(states)


@brief_program
def observe(system: HybridSystem, state: State) -> dict[str, Array]:
    """All results of a system at one instant, compiled."""
    return system.observe(state)


def simulate(
    system: System,
    start: State,
    until: float,
    *,
    engine: Engine | None = None,
    method: str | None = None,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    step: float | None = None,
    max_events: int = 10_000,
    max_steps: int | None = None,
    progress: Callable[[float, int], None] | None = None,
) -> Run[System]:
    """Let a system move from `start` to time `until`.

    Args:
        system: What moves.
        start: Its state at the beginning; systems build it with `system.start(...)`.
        until: Time of the end [s]; inf to run until an event of the system ends the run.
        engine: What runs it, such as `engines.EventDriven(rtol=1e-8)`, with all the options below; if not given,
            the one that fits the system.
        method: "dopri8" (default), "tsit5", "dopri5", "bosh3"; "kvaerno5" for stiff flow;
            "rk4" with `step` for constant steps.
        rtol: Error allowed per step, relative to each component.
        atol: Error allowed per step, absolute, in the units of the state; small against the state itself. Systems
            with dry friction use no more than a tenth of the speed at which they tell a stop (`atol_limit`).
        step: Constant step [s]; only with a method that has no error estimate.
        max_events: Events after which the run is ended.
        max_steps: Steps after which the run is ended, or earlier if it is seen to need more; a million if not
            given (ten million constant steps).
        progress: Called now and then with the time reached and the number of events.
    """
    _check(system, start, until)
    remind_of_configure()
    begin = float(np.asarray(start.t))
    if not float(until) > begin:
        raise ValueError(f"`until` must be later than the start at t = {begin:g} s, got {until}.")
    if start.q.dtype != jnp.float64:
        raise TypeError(f"The state is {start.q.dtype}; events need float64. Import saltus before you build arrays.")
    options = Options(method, rtol, atol, step, max_events, max_steps)
    if engine is None:
        engine = engine_for(system, options)
    else:
        check_fit(engine, system, options)
    # Asked of the class: equinox builds a module for every method that is asked of an instance, which takes 50 us.
    system = type(system).with_tolerance(system, engine.rtol or 0.0)
    start = type(system).begin_run(system, start)
    began = time.perf_counter()
    trajectory = engine.run(system, start, float(until), progress)
    return Run(system, trajectory, time.perf_counter() - began, engine.rtol)


def prepare(system: HybridSystem, like: State, **options: Any) -> None:
    """Have other threads make programs that `simulate` will need, if any are known to be.

    Args:
        system: What will move.
        like: Its start, or any state of that form.
        options: Those of `simulate`.
    """
    if isinstance(system, AbstractSystem):
        from saltus.engines import loop

        loop.prepare_run(*parts_for(system, Options(**options), like.t), like)
    elif isinstance(system, AbstractSteppedSystem):
        from saltus.engines import time_stepping

        time_stepping.prepare_run(system, like)


def _check(system, start, until) -> None:
    """Refuse, with a sentence, what cannot be run."""
    advice = (
        "Build one of saltus.systems, such as SlidingMasses(...), or a class of your own derived from AbstractSystem."
    )
    checks.instance("system", system, HybridSystem, advice)
    checks.instance("start", start, State, "Build it with system.start(...).")
    known = _untraced.get(system) is not None
    leaves = jax.tree.leaves((start, until) if known else (system, start, until))
    if any(type(leaf).__name__.endswith("Tracer") for leaf in leaves):
        raise TypeError(
            "`simulate` cannot be traced by JAX (grad, jit, vmap): how many events there are depends on the numbers. "
            "Run it with plain numbers, then differentiate run.replay(system, start), which is right through events."
        )
    if not known:
        _untraced.put(system, True)
