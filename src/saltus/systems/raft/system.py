"""Many masses joined by elastic rods, sliding on a surface: a rockslide that breaks up as it goes."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int

from saltus import checks
from saltus.hybrid import AbstractSteppedSystem, Parts, Quantity, State, part
from saltus.hybrid.state import on_host, same_types
from saltus.laws.friction import AbstractFrictionLaw
from saltus.links.springs import ElasticRods
from saltus.programs import ahead, brief_program, prepare
from saltus.programs.arrays import numbers
from saltus.starts.point_masses import check_domain, check_lengths, check_motion, check_pairs
from saltus.surfaces.base import AbstractSurface
from saltus.systems.point_masses import check_masses, point_law
from saltus.systems.raft import step as one
from saltus.systems.raft.results import EVENT_QUANTITIES, QUANTITIES
from saltus.systems.sliding.contact import GONE, MODE_NAMES, SLIP, STICK, RodLedger

RIM = 1e-6  # margin of the surface that counts as its border
HALVINGS = 10  # how often a step that does not converge is halved
STEP = 0.02  # default step, in units of sqrt(rod length / gravity)


class RaftMode(Parts):
    """Mode of each mass (slip, stick, gone), and whether each rod is whole (1) or broken (0)."""

    masses: Int[Array, " n"] = part(1)
    rods: Int[Array, " r"] = part(1)


class Raft(AbstractSteppedSystem):
    """Point masses joined by elastic rods, sliding on a surface under gravity and dry friction.

    Every mass slips or sticks; a rod whose force exceeds its strength breaks and is gone. The motion is stepped
    implicitly (see `systems.raft.step`): stable for rods of any stiffness, and kinetic, potential and elastic energy
    together never grow. Masses stay on the surface; friction acts on the size of the reaction. One that leaves the
    region where the surface is defined (event `left_domain`) is gone: it stays at the border, and its rods are lost.

    Args:
        surface: What the masses slide on.
        masses: Mass of each, > 0 [kg].
        rods: Pairs of masses that a rod joins; its length without force is the distance at the start.
        mu: Friction coefficient, >= 0, one for all or one per mass [-]; short for `law=Coulomb(mu)`.
        law: Friction of a point, proportional to the load, such as `laws.friction.Coulomb`; instead of `mu`.
        stiffness: Of the rods, > 0, one for all or one per rod [N/m].
        damping: Of the rods, >= 0 [N s/m].
        strength: Size of the force that breaks a rod, > 0; infinite if it never breaks [N].
        gravity: Acceleration of gravity, > 0 [m s-2].
    """

    kind: ClassVar[str] = "raft"
    mode_names: ClassVar[tuple[str, ...]] = MODE_NAMES

    surface: AbstractSurface
    mass: Float[Array, " n"]
    law: AbstractFrictionLaw
    gravity: Float[Array, ""]
    rods: ElasticRods

    def __init__(
        self,
        surface: AbstractSurface,
        masses,
        rods=(),
        *,
        mu=None,
        law: AbstractFrictionLaw | None = None,
        stiffness: ArrayLike | list[float] = 1.0,
        damping: ArrayLike | list[float] = 0.0,
        strength: ArrayLike | list[float] = np.inf,
        gravity: float = 9.81,
    ):
        n = check_masses(surface, masses, gravity)
        pairs = check_pairs(rods, n)
        for name, value in (("stiffness", stiffness), ("damping", damping), ("strength", strength)):
            if checks.shape_of(value) not in ((), (len(pairs),)):
                raise ValueError(f"`{name}` must be one number or {len(pairs)}, one per rod, got {np.size(value)}.")
        self.surface = surface
        self.mass = numbers(masses)
        self.law = point_law(law, mu, n)
        self.gravity = numbers(gravity)
        self.rods = ElasticRods(pairs, n, stiffness, damping, strength)

    # ---- states -------------------------------------------------------------------------------

    def blank(self) -> State:
        """A state of the form that all have: every mass at the origin."""
        n, n_rods = self.mass.size, len(self.rods)
        ledger = RodLedger(numbers(0.0), numbers(np.zeros(n_rods)))
        mode = RaftMode(numbers(np.full(n, SLIP), int), numbers(np.ones(n_rods), int))
        return State.of(0.0, np.zeros((n, 2)), np.zeros((n, 2)), ledger, mode)

    def start(self, position, velocity=None) -> State:
        """The state at the beginning, checked; the rods are without force.

        Args:
            position: Horizontal position (x, y) of each mass [m].
            velocity: Horizontal velocity of each; at rest if not given [m s-1].
        """
        n = self.mass.size
        velocity = np.zeros((n, 2)) if velocity is None else velocity
        check_motion(position, velocity, n)
        state, margin = _begin(self, numbers(position), numbers(velocity))
        check_domain(margin, position)
        check_lengths(state.ledger.lengths, self.rods.pairs)
        return state

    @property
    def mu(self) -> Float[Array, " n"]:
        """Friction coefficients of Coulomb's law [-]."""
        return self.law.coefficient()

    def grip(self, speed: Float[Array, " n"]) -> Float[Array, " n"]:
        """Friction per reaction of each mass at its speed; of one at rest, the most that holds it [-]."""
        at_rest = speed == 0.0
        return jnp.where(
            at_rest, self.law.capacity(jnp.ones_like(speed)), self.law.grip(jnp.where(at_rest, 1.0, speed))
        )

    def _position(self, x: Float[Array, "2 n"]) -> Float[Array, "3 n"]:
        return jnp.concatenate([x, self.surface.height(x[0], x[1])[None]])

    def modes(self, state: State) -> tuple[Array, Bool[Array, " r"]]:
        """Mode of each mass, and which rods are whole."""
        return state.mode.masses, state.mode.rods == 1

    # ---- motion -------------------------------------------------------------------------------

    def suggested_step(self, start: State) -> float:
        """A step for this raft [s]: a small part of the time in which something falls by the length of a rod."""
        lengths = np.asarray(start.ledger.lengths)
        length = float(np.median(lengths)) if lengths.size else 1.0
        return STEP * float(np.sqrt(length / self.gravity))

    def advance(self, state: State, duration) -> tuple[State, Bool[Array, ""]]:
        """The state after `duration`, and whether the step could be solved; it is halved where it has to be."""
        mode, whole = self.modes(state)
        gone, rest = mode == GONE, state.ledger.lengths

        def body(carry):
            x, v, stuck, lost, left, part, _ = carry
            part = jnp.minimum(part, left)
            tried = one.step(self, x, v, rest, whole, gone, part)
            good = tried.solved
            x, v, stuck = (jnp.where(good, new, old) for new, old in ((tried.x, x), (tried.v, v), (tried.stuck, stuck)))
            left = jnp.where(good, left - part, left)
            lost = lost + jnp.where(good, tried.dissipated, 0.0)
            part = jnp.where(good, part, 0.5 * part)
            return x, v, stuck, lost, left, part, part < duration * 0.5**HALVINGS

        def going(carry):
            *_, left, _, failed = carry
            return (left > 0.0) & ~failed

        duration = jnp.asarray(duration, float)
        first = (state.q.T, state.v.T, mode == STICK, state.ledger.lost, duration, duration, jnp.asarray(False))
        x, v, stuck, lost, _, _, failed = jax.lax.while_loop(going, body, first)
        mode = jnp.where(gone, GONE, jnp.where(stuck, STICK, SLIP))
        after = State(state.t + duration, x.T, v.T, state.ledger.replace(lost=lost), state.mode.replace(masses=mode))
        return same_types(state, after), ~failed

    def change(self, state: State) -> State:
        """Rods whose force exceeds their strength are gone, and masses beyond the border with all their rods.

        The energy that was in the rods is lost; that of the masses is so with the next step.
        """
        mode, whole = self.modes(state)
        gone = (mode == GONE) | (self.surface.margin(state.q[:, 0], state.q[:, 1]) <= RIM)
        breaks = whole & (jnp.abs(self.rod_force(state)) > self.rods.strength)
        breaks = breaks | (whole & (gone[self.rods.first] | gone[self.rods.second]))
        energy = jnp.sum(jnp.where(breaks, self._elastic(state), 0.0))
        mode = RaftMode(jnp.where(gone, GONE, mode), jnp.where(breaks, 0, state.mode.rods))
        return same_types(state, state.replace(ledger=state.ledger.lose(energy), mode=mode))

    @property
    def others_go_on(self) -> bool:
        """A mass that leaves is gone, and the others go on."""
        return True

    def resting(self, state: State) -> Bool[Array, ""]:
        """Whether nothing moves any more: every mass is held or gone, and none by its last motion."""
        mode, _ = self.modes(state)
        return jnp.all((mode == STICK) | (mode == GONE)) & jnp.all(state.v == 0.0)

    def changes(self, before: State, after: State) -> list[tuple[str, int, dict[str, Any]]]:
        """What happened between two states of one instant: masses that left, rods that broke or went with them."""
        was, now = on_host(before, after)
        left = np.flatnonzero((was.mode.masses != GONE) & (now.mode.masses == GONE))
        found: list[tuple[str, int, dict[str, Any]]] = [("left_domain", int(i), {"mass": int(i)}) for i in left]
        broken = np.flatnonzero(was.mode.rods != now.mode.rods)
        if not broken.size:
            return found
        force, energy, middle = (np.asarray(part) for part in _observe_rods(self, before))
        strength = np.asarray(self.rods.strength)
        for r in broken:
            name = "rod_broken" if abs(force[r]) > strength[r] else "rod_lost"
            data = {"rod": int(r), "rod_force": float(force[r]), "energy_loss": float(energy[r]), "point": middle[:, r]}
            found.append((name, int(r), data))
        return found

    def prepare_breaks(self) -> None:
        """Have another thread make what is asked when rods break, if they can (`programs.prepare`)."""
        strength = checks.concrete(self.rods.strength)
        if strength is not None and np.isfinite(strength).any():
            prepare(_observe_rods, self, self.blank(), rank=ahead.Rank.at_end)

    # ---- forces and results -------------------------------------------------------------------

    def _stretch(self, state: State):
        """Stretch, speed of stretching, direction, length and slope of the ground."""
        x = state.q.T
        slope = jnp.stack(self.surface.gradient(x[0], x[1]))
        rod = self.rods.between(self._position(x))
        length = jnp.sqrt(jnp.sum(rod * rod, axis=0))
        direction = rod / length
        speed = jnp.sum(direction * self.rods.between(one.lift(slope, state.v.T)), axis=0)
        return length - state.ledger.lengths, speed, direction, length, slope

    def _kinetic(self, state: State) -> Float[Array, " n"]:
        x = state.q.T
        velocity = one.lift(jnp.stack(self.surface.gradient(x[0], x[1])), state.v.T)
        return 0.5 * self.mass * jnp.sum(velocity**2, axis=0)

    def _elastic(self, state: State) -> Float[Array, " r"]:
        _, whole = self.modes(state)
        return jnp.where(whole, 0.5 * self.rods.stiffness * self._stretch(state)[0] ** 2, 0.0)

    def rod_force(self, state: State) -> Float[Array, " r"]:
        """Force in each rod, > 0 pushes the masses apart; 0 in a broken one [N]."""
        stretch, speed, *_ = self._stretch(state)
        _, whole = self.modes(state)
        return jnp.where(whole, -self.rods.stiffness * stretch - self.rods.damping * speed, 0.0)

    def normal_force(self, state: State) -> Float[Array, " n"]:
        """Reaction of the surface along its upward normal [N]."""
        _, _, direction, _, slope = self._stretch(state)
        pull = self.rods.at_masses(direction * self.rod_force(state))
        (x, y), (vx, vy) = state.q.T, state.v.T
        fxx, fxy, fyy = self.surface.curvature(x, y)
        upward = jax.lax.rsqrt(1.0 + jnp.sum(slope * slope, axis=0))
        bend = (vx**2 * fxx + 2.0 * vx * vy * fxy + vy**2 * fyy) * upward
        return self.mass * (bend + self.gravity * upward) - (pull[2] - jnp.sum(slope * pull[:2], axis=0)) * upward

    def quantities(self) -> dict[str, Quantity]:
        """Names, units and meaning of the results."""
        return QUANTITIES

    def event_quantities(self) -> dict[str, Quantity]:
        """Units of what is told of a broken rod."""
        return EVENT_QUANTITIES

    def observe(self, state: State) -> dict[str, Array]:
        """All results at one instant."""
        _, _, _, length, slope = self._stretch(state)
        mode, whole = self.modes(state)
        position, velocity = self._position(state.q.T), one.lift(slope, state.v.T)
        kinetic = jnp.sum(self._kinetic(state))
        potential = jnp.sum(self.mass * self.gravity * position[2])
        momentum = jnp.sum(self.mass * velocity, axis=1)
        return {
            "position": position.T,
            "velocity": velocity.T,
            "normal_force": self.normal_force(state),
            "rod_force": self.rod_force(state),
            "rod_length": length,
            "rod_whole": whole.astype(int),
            "kinetic_energy": kinetic,
            "potential_energy": potential,
            "elastic_energy": jnp.sum(self._elastic(state)),
            "com_energy": 0.5 * jnp.sum(momentum**2) / jnp.sum(self.mass) + potential,
            "dissipated_energy": state.ledger.lost,
            "mode": mode,
        }

    def coordinates(self) -> dict[str, list[Any]]:
        """Labels of the dimensions."""
        return {"axis": ["x", "y", "z"], "rod": [f"{i}-{j}" for i, j in self.rods.pairs]}


@brief_program
def _observe_rods(raft: Raft, state: State):
    """Force, energy and middle of each rod."""
    position = raft._position(state.q.T)
    middle = 0.5 * (position[:, raft.rods.first] + position[:, raft.rods.second])
    return raft.rod_force(state), raft._elastic(state), middle


@brief_program
def _begin(raft: Raft, q, v) -> tuple[State, Array]:
    """The state at the beginning, and the margin of the surface there."""
    rods = raft.rods.between(raft._position(q.T))
    at_rest = (v == 0.0).all(axis=1) & (raft.grip(jnp.zeros(len(q))) > 0.0)
    mode = RaftMode(jnp.where(at_rest, STICK, SLIP), jnp.ones(len(raft.rods), int))
    ledger = RodLedger(jnp.zeros(()), jnp.sqrt(jnp.sum(rods * rods, axis=0)))
    return State.of(0.0, q, v, ledger, mode), raft.surface.margin(q[:, 0], q[:, 1])
