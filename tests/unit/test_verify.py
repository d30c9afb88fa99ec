"""The library of non-smooth benchmarks, and the verb that runs it."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from saltus.cli import app
from saltus.validation import nonsmooth
from saltus.validation.nonsmooth import MODELS, library, problem

FOLDER = Path(__file__).parents[2] / "benchmarks" / "nonsmooth"
CASES = {case["id"]: case for case in nonsmooth.cases()}


@pytest.fixture(scope="module")
def formulas():
    sys.path.insert(0, str(FOLDER))
    try:
        import closed_forms
        import make_cases

        yield closed_forms, make_cases
    finally:
        sys.path.remove(str(FOLDER))


def test_every_case_says_what_it_asks_whence_and_how_it_was_proved():
    assert len(CASES) >= 30 and len(CASES) == len(nonsmooth.cases())
    for case in CASES.values():
        assert case["title"] and case["statement"] and case["source"] and case["second"]["by"], case["id"]
        assert case["group"] == "paper" or all(one["tolerance"] <= 1e-2 for one in case["expected"])


def test_every_model_has_a_case():
    models = {name for names in MODELS.values() for name in names} | set(library.models())
    assert models == {case["model"] for case in CASES.values() if "model" in case}


# Those whose closed form takes seconds are left to the slow test.
QUICK = [name for name, case in CASES.items() if case.get("model") not in (None, "sliding_disc", "weakening_belt")]


@pytest.mark.parametrize("name", QUICK)
def test_the_stored_numbers_are_those_of_the_closed_form(name, formulas):
    case = CASES[name]
    exact = getattr(formulas[0], case["model"])(formulas[0].numbers(case["input"]))
    for one in case["expected"]:
        assert one["value"] == float(exact[one["what"]]), one["what"]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "largest_difference" in case["second"]])
def test_a_second_formulation_gives_the_same_numbers(name, formulas):
    formulas[1].second(CASES[name])  # raises SystemExit where they differ


def test_the_numbers_of_the_bouncing_ball_are_sums_of_its_hops():
    given = {one["what"]: one["value"] for one in CASES["bouncing-ball"]["expected"]}
    first = np.sqrt(2 / 9.81)
    hops = 2 * first * 0.9 ** np.arange(1, 2000)
    assert given["event 1"] == pytest.approx(first, abs=1e-15)
    assert given["event 44"] == pytest.approx(first + hops[:43].sum(), abs=1e-13)
    assert given["rest"] == pytest.approx(first + hops.sum(), abs=1e-13)


def test_the_gradient_of_the_height_is_that_of_four_bounces_by_hand():
    e, g, h, t = 0.9, 9.81, 1.0, 3.0

    def height(e, g, h):
        t0, v0 = np.sqrt(2 * h / g), np.sqrt(2 * g * h)
        tau = t - t0 * (1 + 2 * (e + e**2 + e**3))
        return e**4 * v0 * tau - g * tau**2 / 2

    d = 1e-5
    slopes = {
        "d height / d e": (height(e + d, g, h) - height(e - d, g, h)) / (2 * d),
        "d height / d g": (height(e, g + d, h) - height(e, g - d, h)) / (2 * d),
        "d height / d h": (height(e, g, h + d) - height(e, g, h - d)) / (2 * d),
    }
    for one in CASES["bouncing-ball-gradient"]["expected"]:
        assert one["value"] == pytest.approx(slopes[one["what"]], rel=1e-7)  # central differences


def test_the_load_of_a_shaken_table_lands_where_brentq_finds_it():
    from scipy.optimize import brentq

    case = CASES["table-lift-off"]
    p, given = case["input"], {one["what"]: one["value"] for one in case["expected"]}
    lifts = np.arcsin(p["g"] / (p["A"] * p["w"] ** 2)) / p["w"]
    h, v = p["A"] * np.sin(p["w"] * lifts), p["A"] * p["w"] * np.cos(p["w"] * lifts)
    gap = lambda t: h + v * (t - lifts) - p["g"] * (t - lifts) ** 2 / 2 - p["A"] * np.sin(p["w"] * t)  # noqa: E731
    times = np.linspace(lifts + 0.01, lifts + 0.5, 2000)
    k = np.argmax((gap(times[:-1]) > 0) & (gap(times[1:]) <= 0))
    assert brentq(gap, times[k], times[k + 1], xtol=1e-14) == pytest.approx(given["lands"], abs=1e-12)


def test_formulas_are_the_same_for_numpy_and_for_jax():
    import jax.numpy as jnp

    for case in CASES.values():
        if case["group"] != "hybrid":
            continue
        chosen, p = problem(case["model"]), case["input"]
        y = np.asarray(chosen.start(p), float) + 0.01
        for rate in chosen.rates.values():
            np.testing.assert_allclose(rate(jnp, 0.3, y, p), rate(np, 0.3, y, p), rtol=1e-13)


def test_the_verb_runs_cases_by_name_and_tells_errors(capsys):
    assert app.call(["verify", "thermostat", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (
        found["ok"]
        and found["case"] == "thermostat"
        and {"event 1", "event 11"} <= {c["what"] for c in found["checks"]}
    )
    assert app.call(["verify", "--about", "rocking-block"]) == 0
    assert "hard-coded" in capsys.readouterr().out
    assert app.call(["verify", "rocking-blok"]) == 2
    assert "rocking-block" in capsys.readouterr().err


def test_a_wrong_number_fails(monkeypatch, capsys):
    wrong = json.loads(json.dumps(CASES["thermostat"]))
    wrong["expected"][0]["value"] += 1e-6
    monkeypatch.setattr(nonsmooth, "cases", lambda: [wrong])
    assert app.call(["verify"]) == 1
    assert "FAIL" in capsys.readouterr().out


@pytest.mark.slow
def test_saltus_passes_all_cases():
    assert app.call(["verify", "--quiet"]) == 0
