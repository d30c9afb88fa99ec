"""A gas that is let run and measured: equation of state, rates, temperatures, correlations, with errors."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from saltus.gas.correlation import Correlations, PairCounts, long_axes, nematic_order
from saltus.gas.series import Series
from saltus.gas.states import freedoms
from saltus.hybrid import Outcome
from saltus.numerics.on_host import rotation_matrices
from saltus.systems.gas.bodies import Bodies
from saltus.systems.gas.hard_bodies import HardBodies

SLICE = 0.25  # contacts per body between two samples
SMALLEST_SLICE = 200  # contacts
FRAMES, FILM = 60, 16_000  # states that are kept at most, and bodies in all of them together
PAIRS_EVERY = 4  # contacts per body between two histograms of distances

Report = Callable[[float, int], None]


@dataclasses.dataclass(frozen=True)
class Value:
    """A measured number and its standard error."""

    value: float
    error: float


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """The bodies at an instant, and how many contacts there had been until then."""

    bodies: Bodies
    contacts: int


class Gas:
    """Hard bodies with what is measured on them.

    Args:
        hard: The bodies and their box.
        spins: Whether bodies of revolution spin about their axes too, as rough ones do.
    """

    def __init__(self, hard: HardBodies, spins: bool = False):
        self.hard = hard
        kept = int(hard.periodic.sum()) if len(hard.walls) == 2 * np.sum(~hard.periodic) else 0
        self.turning, self.freedoms = freedoms(hard.bodies, spins, kept)
        self.translations = 3 * hard.bodies.n - kept  # degrees of freedom of translation
        self.series, self.correlations = Series(), Correlations()
        reach = 6.0 * float(np.mean(np.prod(hard.bodies.axes, axis=1) ** (1 / 3)))
        self.pairs = PairCounts(hard.box, reach)
        self.step, self.equilibrated, self.next_pairs = 0.0, 0, 0
        self.begun, self.energy, self.lost = None, 0.0, 0.0  # when averages began; energy then, and lost until then
        self.film: list[tuple[float, float, Bodies]] = []  # the last states: time, energy lost until then, bodies
        self.wall_time = 0.0
        self._evaluating: tuple[Future, int] | None = None  # the last slice, and all contacts, until it is evaluated

    @property
    def outcome(self) -> Outcome | None:
        """Why the gas cannot go on; None while it can."""
        return self.hard.outcome

    @property
    def contacts(self) -> int:
        """Contacts since averages began."""
        if self._evaluating is not None:
            return self._evaluating[1]
        return int(self.series.column("contacts").sum() + self.series.pending[1])

    def equilibrate(self, contacts: int, report: Report | None = None, stop=None) -> None:
        """So many contacts that enter no average; the pace of sampling follows from the last of them.

        Args:
            contacts: How many, with those that there were before.
            report: Called with the time and the number of contacts so far.
            stop: Called now and then; true ends it there.
        """
        piece = max(self.hard.arena.n * 4, 2000)
        while self.equilibrated < contacts and self.outcome is None:
            before = self.hard.time
            done = self._advance(contacts=min(piece, contacts - self.equilibrated))
            self.equilibrated += int(done.contacts)
            self._set_step(int(done.contacts), self.hard.time - before)
            if report is not None:
                report(self.hard.time, self.equilibrated)
            if stop is not None and stop():
                return

    def _set_step(self, contacts: int, duration: float) -> None:
        wanted = max(SLICE * self.hard.arena.n, SMALLEST_SLICE)
        if contacts > 0 and duration > 0.0:
            self.step = duration * wanted / contacts

    def _advance(self, *args, **kwargs):
        """Let the bodies collide (`HardBodies.advance`), and count the time that takes."""
        began = time.perf_counter()
        done = self.hard.advance(*args, **kwargs)
        self.wall_time += time.perf_counter() - began
        return done

    def measure(
        self, contacts: float = np.inf, until: float = np.inf, report: Report | None = None, stop=None, due=None
    ) -> None:
        """Go on until so many contacts have entered the averages, or to a time.

        A second thread evaluates a slice of time while the bodies go on colliding in the next one.

        Args:
            contacts: Contacts since averages began.
            until: Time [s].
            report: Called with the time and the number of contacts so far.
            stop: Called after a sample, with all averages up to date; true ends the measurement there.
            due: Whether to call `stop` after this sample; always if left out.
        """
        if self.begun is None:
            if self.step == 0.0:
                self.equilibrate(max(2 * self.hard.arena.n, 200))
            self.begun, self.energy = self.hard.time, self.total_energy(self.hard.snapshot())
            self.lost = float(self.hard.fluid.tally.loss)
            self._evaluate(self._take_snapshot())
        with ThreadPoolExecutor(1, thread_name_prefix="saltus measuring") as second:
            while self.contacts < contacts and self.hard.time < until * (1.0 - 1e-12) and self.outcome is None:
                duration = min(self.step, until - self.hard.time)
                done = self._advance(duration)
                snapshot = self._take_snapshot()
                self._wait()
                count = self.contacts + int(done.contacts)
                self._evaluating = second.submit(self._add_slice, snapshot, done, duration), count
                if report is not None:
                    report(self.hard.time, self.equilibrated + self.contacts)
                if stop is not None and (due is None or due()):
                    self._wait()
                    if stop():
                        return
            self._wait()

    def _wait(self) -> None:
        """Until the last slice is evaluated."""
        if self._evaluating is not None:
            self._evaluating[0].result()
            self._evaluating = None

    def _take_snapshot(self) -> Snapshot:
        """The bodies now, which also become the last picture of the film."""
        bodies, tally = self.hard.snapshot(), self.hard.fluid.tally
        self.film.append((self.hard.time, float(tally.loss), bodies))
        self.film = self.film[-max(2, min(FRAMES, FILM // bodies.n)) :]
        return Snapshot(bodies, int(tally.contacts))

    def _add_slice(self, snapshot: Snapshot, done, duration: float) -> None:
        """What a slice of time adds to the averages."""
        translation, rotation, order = self._evaluate(snapshot)
        n_turning = self.freedoms - self.translations
        heat = (translation * self.translations + rotation * n_turning) / self.freedoms
        self.series.add(
            duration=duration,
            contacts=float(done.contacts),
            virial=float(done.virial),
            wall_impulse=float(done.wall_impulse),
            loss=float(done.loss),
            heat=heat * duration,
            translation=translation * duration,
            rotation=rotation * duration,
            order=order * duration,
        )

    def _evaluate(self, snapshot: Snapshot) -> tuple[float, float, float]:
        """Temperatures of translation and rotation, and nematic order; correlations go on."""
        bodies = snapshot.bodies
        turns = rotation_matrices(bodies.quaternion)
        axis = long_axes(bodies.axes, turns)
        self.correlations.add(bodies.place, bodies.velocity, axis)
        if snapshot.contacts >= self.next_pairs:
            self.pairs.add(bodies.place, self.hard.periodic)
            self.next_pairs = snapshot.contacts + PAIRS_EVERY * bodies.n
        translation, rotation = self.temperatures(bodies, turns)
        balls = bodies.shapes is None and not np.ptp(bodies.axes, axis=1).any()
        return translation, rotation, float("nan") if balls else nematic_order(axis)

    def temperatures(self, bodies: Bodies, turns: np.ndarray) -> tuple[float, float]:
        """Twice the energy per degree of freedom, of translation and of rotation (bodies turned so); 0 without any."""
        energy = bodies.translation().sum()
        spin = bodies.spin(turns) * self.turning
        turning = 0.5 * float(np.sum(spin**2 / bodies.inertia))
        n_turning = self.freedoms - self.translations
        return 2.0 * float(energy) / self.translations, (2.0 * turning / n_turning if n_turning else 0.0)

    def total_energy(self, bodies: Bodies) -> float:
        """Kinetic and potential energy of a state [J]."""
        kinetic = sum(float(part.sum()) for part in bodies.energies())
        return kinetic + self.potential_energy(bodies)

    def potential_energy(self, bodies: Bodies) -> float:
        """Of all bodies in the field of gravity [J]."""
        return -float(bodies.mass @ (bodies.place @ np.asarray(self.hard.terms.gravity)))

    # ---- results -------------------------------------------------------------------------------

    def results(self) -> dict[str, Value]:
        """The averages by name: compressibility, collision_rate, pressure, temperatures, order."""
        series, n = self.series, self.hard.arena.n
        volume = float(np.prod(self.hard.box))
        duration, heat = series.column("duration"), series.column("heat")
        if self.hard.periodic.all():
            excess, error = series.ratio(series.column("virial"), 3.0 * n * heat)
            factor = Value(1.0 + excess, error)
        else:
            factor = Value(*series.ratio(series.column("wall_impulse") / self._area() * volume, n * heat))
        kelvin, _ = series.mean("heat")
        rate, rate_error = series.ratio(series.column("contacts"), duration)
        found = {
            "compressibility": factor,
            "collision_rate": Value(2.0 * rate / n, 2.0 * rate_error / n),
            "pressure": Value(factor.value * n * kelvin / volume, factor.error * n * kelvin / volume),
            "temperature_translation": Value(*series.mean("translation")),
        }
        if self.freedoms > self.translations:
            found["temperature_rotation"] = Value(*series.mean("rotation"))
        else:
            found["temperature_rotation"] = Value(float("nan"), float("nan"))
        found["mean_order"] = Value(*series.mean("order"))
        return found

    def _area(self) -> float:
        """Of the walls of the box."""
        a, b, c = self.hard.box
        faces = np.array([b * c, a * c, a * b])
        return 2.0 * float(faces[~self.hard.periodic].sum())

    def diffusion(self) -> float:
        """Self-diffusion: the slope of the mean squared displacement over its later half, by 6 [m2 s-1]."""
        squared, _, _ = self.correlations.means()
        known = np.flatnonzero(~np.isnan(squared))
        late = known[len(known) // 2 :]
        return float(np.polyfit(late * self.step, squared[late], 1)[0] / 6.0) if len(late) > 2 else float("nan")
