"""Fit parameters of a scenario to observations, by `scipy.optimize.least_squares` within bounds (dogbox).

Every residual comes from a fresh run, every Jacobian from a replay of that run; so events may come, go and change
their order on the way. A run that fails, or does not show what was observed, has no residuals, and a shorter step is
tried. Where the step is worse although nothing to speak of can be gained, the search ends: runs are exact to ten digits
or so, and smaller steps would only follow their rounding.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from saltus.calibration.observation import read_observations, sightings
from saltus.calibration.parameter import Parameter, parameters_of
from saltus.calibration.prediction import Model, Results
from saltus.calibration.result import Calibration
from saltus.calibration.uncertainty import Uncertainty
from saltus.errors import ScenarioError
from saltus.scenarios.base import Scenario
from saltus.scenarios.loader import LoadedScenario, load

SMALL_STEP = 1e-11  # of the parameters; a step below it is the last one
LITTLE_GAIN = 1e-14  # of the sum of squares; a step that gains less is the last one
SINGULAR = 1e-12  # singular values of the derivatives below this part of the largest tell nothing
TRIES = 20  # runs for each step that may be taken
NO_INFLUENCE = 1e-9  # change of the predictions, relative to them, if a parameter changes by all of itself
ROUNDING = 1e-20  # of the squares of the data: what runs with ten digits leave
SMALL_GAIN = 1e-4  # of the sum of squares, or of one observation; too little to matter
STUCK = (
    "No step makes the fit better, although the derivatives promise one: the predictions may jump there, as where "
    "events come and go, or the scenario allows no further step."
)
UNLIKELY = 1e-3  # probability below which the data are said not to fit the scenario

Progress = Callable[[int, float], None]


def calibrate(
    scenario: Scenario | LoadedScenario | str | Path,
    observed: Any,
    parameters: Any,
    *,
    max_iterations: int = 50,
    progress: Progress | None = None,
    allow_python: bool = False,
) -> Calibration:
    """Find the parameters of a scenario for which its run is nearest to what was observed.

    The sum of the squares of (observed - predicted) / sigma is made as small as possible; the standard deviations of
    the parameters follow from the derivatives of the predictions, through events. Without any `sigma`, that of the data
    is taken to be the same for all and is estimated from what is left.

    Args:
        scenario: A scenario, its TOML file, or a name of the catalogue.
        observed: Observations (`calibration.Observation`, or dicts with its parts), an xarray dataset whose variables
            are results over `time` (with `<name>_sigma` beside them), or a CSV file with the columns what, at, index,
            value, sigma.
        parameters: Keys of the scenario, such as ["friction.mu", "masses.0.mass"], or a dict that gives each a first
            guess, or {"guess": ..., "min": ..., "max": ...}.
        max_iterations: Steps after which the search is given up.
        progress: Called after each step with its number and the sum of squares.
        allow_python: Whether a scenario of kind "python" may run the code that it names.

    Returns:
        The values with standard deviations, covariance and residuals, and the fitted run.

    Raises:
        ScenarioError: With one sentence, for keys, names and observations that make no sense.
    """
    scenario = _scenario(scenario, allow_python)
    wanted = parameters_of(scenario, parameters)
    if not isinstance(max_iterations, int) or max_iterations < 1:
        raise ScenarioError(f"`max_iterations` must be a whole number >= 1, got {max_iterations!r}.")
    blank = Model(scenario, tuple(wanted), ())
    guess = np.array([one.guess for one in wanted.values()])
    system, start = blank.with_values(guess).assemble()
    seen = tuple(sightings(read_observations(observed), Results.of(system, start)))
    if len(seen) < len(wanted):
        raise ScenarioError(
            f"There are {len(wanted)} parameters but only {len(seen)} observed numbers. Give more, or fit fewer."
        )
    search = _Search(Model(scenario, tuple(wanted), seen), list(wanted.values()), guess)
    search.go(max_iterations, progress)
    return search.result()


def _scenario(given: Scenario | LoadedScenario | str | Path, allow_python: bool) -> Scenario:
    if isinstance(given, Scenario):
        return given
    if isinstance(given, LoadedScenario):
        return given.scenario
    return load(given, allow_python=allow_python).scenario


@dataclasses.dataclass
class _Point:
    """A set of parameters with its run, its residuals in standard deviations, and their sum of squares."""

    values: np.ndarray
    run: Any
    residuals: np.ndarray

    @property
    def cost(self) -> float:
        return float(self.residuals @ self.residuals)


class _Convergence(Exception):  # noqa: N818  (the search is over, by no error)
    """Nothing to speak of can be gained any more."""


class _StepLimit(Exception):  # noqa: N818
    """So many steps were taken as are allowed."""


class _Search:
    """The search for the best fit; `here` is the best point so far."""

    def __init__(self, model: Model, parameters: list[Parameter], guess: np.ndarray):
        self.model = model
        self.low, self.high = (np.array([getattr(one, end) for one in parameters]) for end in ("min", "max"))
        self.data = np.array([one.value for one in model.seen])
        sigma = np.array([one.sigma for one in model.seen])
        self.known_noise = not np.isnan(sigma).any()
        self.sigma = sigma if self.known_noise else np.ones_like(sigma)
        self.runs, self.iterations = 0, 0
        self.converged, self.why = False, ""
        self.here = self.at(guess)
        self.last: _Point | None = self.here
        self.jacobian, self.derivatives = self._jacobian()

    def at(self, values: np.ndarray) -> _Point:
        """A point from a fresh run."""
        self.runs += 1
        run = self.model.run(values)
        residuals = (self.data - self.model.predict(run)) / self.sigma
        if not np.isfinite(residuals).all():
            worst = self.model.seen[int(np.argmin(np.isfinite(residuals)))]
            raise ScenarioError(f"The run has no value of {worst.what!r} at {worst.moment}.")
        return _Point(values, run, residuals)

    def _jacobian(self) -> tuple[np.ndarray, str]:
        slope, derivatives = self.model.jacobian(self.here.run, self.here.values)
        if not np.isfinite(slope).all():
            key = self.model.keys[int(np.argmin(np.isfinite(slope).all(axis=0)))]
            raise ScenarioError(f"The observations have no finite derivative by `{key}`; a guard may only graze zero.")
        slope = slope / self.sigma[:, None]
        # Rounding leaves a trace of parameters that have no influence at all.
        size = np.linalg.norm(slope, axis=0) * np.where(self.here.values == 0.0, 1.0, np.abs(self.here.values))
        predicted = np.linalg.norm(self.data / self.sigma - self.here.residuals)
        return np.where(size > NO_INFLUENCE * predicted, slope, 0.0), derivatives

    def go(self, max_iterations: int, progress: Progress | None) -> None:
        """Step after step until nothing is gained."""
        from scipy.optimize import least_squares

        def slope(values: np.ndarray) -> np.ndarray:
            if self.last is not None and self.last is not self.here:  # SciPy has taken the step to the last point
                self.here, self.iterations = self.last, self.iterations + 1
                self.jacobian, self.derivatives = self._jacobian()
                if progress is not None:
                    progress(self.iterations, self.here.cost)
            if self.iterations >= max_iterations:
                raise _StepLimit
            return self.jacobian

        more: dict[str, Any] = {"jac": slope, "gtol": None}  # SciPy's hints allow neither
        try:
            least_squares(
                self._excess, self.here.values, bounds=(self.low, self.high), method="dogbox", x_scale="jac",
                ftol=LITTLE_GAIN, xtol=SMALL_STEP, max_nfev=TRIES * max_iterations, **more,
            )  # fmt: skip
        except _Convergence:
            self.converged = True
            return
        except _StepLimit:
            if self._expected_gain() > self._enough():
                self.why = f"Not converged after {max_iterations} steps; raise `max_iterations` or begin nearer."
                return
        self.converged = self._expected_gain() <= self._enough()
        self.why = "" if self.converged else STUCK

    def _excess(self, values: np.ndarray) -> np.ndarray:
        """What is predicted less what was observed, in standard deviations; NaN where there is no such run."""
        if np.array_equal(values, self.here.values):
            return -self.here.residuals
        try:
            self.last = self.at(values.copy())
        except (ScenarioError, FloatingPointError):
            self.last = None  # beyond what the scenario allows, or what was observed does not happen there
        if (self.last is None or self.last.cost >= self.here.cost) and self._expected_gain() <= self._enough():
            raise _Convergence
        return np.full_like(self.data, np.nan) if self.last is None else -self.last.residuals

    def _enough(self) -> float:
        """A gain of the sum of squares that does not matter."""
        rounding = ROUNDING * float(np.sum((self.data / self.sigma) ** 2))
        return max(SMALL_GAIN * self.here.cost, SMALL_GAIN if self.known_noise else 0.0, rounding)

    def _expected_gain(self) -> float:
        """By how much the derivatives promise to make the sum of squares smaller, within the bounds."""
        left, pull = self.here.residuals, self.jacobian.T @ self.here.residuals
        # What stands at a bound and is pushed against it stays there.
        free = ~((self.here.values <= self.low) & (pull < 0.0)) & ~((self.here.values >= self.high) & (pull > 0.0))
        step = np.zeros(len(free))
        if free.any():
            step[free] = np.linalg.lstsq(self.jacobian[:, free], left, rcond=SINGULAR)[0]
        step = np.clip(self.here.values + step, self.low, self.high) - self.here.values
        after = left - self.jacobian @ step
        return float(left @ left - after @ after)

    def result(self) -> Calibration:
        """The best point as a user gets it."""
        known = Uncertainty.of(self.jacobian)
        dof = len(self.data) - known.rank
        noise = None
        covariance = known.covariance
        if not self.known_noise:
            noise = math.sqrt(self.here.cost / dof) if dof > 0 else math.nan
            covariance = covariance * noise**2
        keys = list(self.model.keys)
        undetermined = tuple(dict.fromkeys(keys[k] for several in known.open for k in several))
        return Calibration(
            values=dict(zip(keys, map(float, self.here.values), strict=True)),
            sigma=dict(zip(keys, map(float, np.sqrt(np.diag(covariance))), strict=True)),
            covariance=covariance,
            correlation=known.correlation(),
            residuals=self.here.residuals * self.sigma,
            normalised=self.here.residuals / (noise or 1.0),
            observed=self.model.seen,
            chi_square=self.here.cost / (noise or 1.0) ** 2,
            degrees_of_freedom=dof,
            noise=noise,
            undetermined=undetermined,
            converged=self.converged,
            message=self._message(known.sentence(keys), dof),
            iterations=self.iterations,
            runs=self.runs,
            derivatives=self.derivatives,
            scenario=self.model.with_values(self.here.values),
            run=self.here.run,
        )

    def _message(self, left_open: str, dof: int) -> str:
        told = [self.why or f"Converged in {self.iterations} step{'' if self.iterations == 1 else 's'}."]
        told += [left_open] if left_open else []
        at_bound = [
            f"`{key}`"
            for key, value, low, high in zip(self.model.keys, self.here.values, self.low, self.high, strict=True)
            if value in (low, high)
        ]
        if at_bound:
            told.append(f"{', '.join(at_bound)} stopped at a bound; the standard deviations do not know of it.")
        if self.known_noise and dof > 0:
            from scipy.stats import chi2

            if chi2.sf(self.here.cost, dof) < UNLIKELY:
                told.append(
                    f"The data do not fit the scenario within their sigma: chi square is {self.here.cost:.4g} for "
                    f"{dof} degrees of freedom. A sigma may be too small, or the scenario may lack something."
                )
        elif not self.known_noise and dof == 0:
            told.append("There are as many observations as parameters, so the noise, and with it sigma, is not known.")
        return " ".join(told)
