"""Verdicts follow from what is printed and what is found."""

import math

import pytest

from saltus.papers.claim import (
    About,
    Answer,
    AtMost,
    Between,
    Claim,
    Formula,
    Number,
    Numbers,
    Order,
    Statement,
    UnstatedValue,
    format_value,
    judge,
    scientific,
    verdict,
)


@pytest.mark.parametrize(("text", "found"), [
    ("0.053", 0.0532828809926), ("6.9e-3", 0.00688951), ("0.117", 0.11749243), ("-1.5", -1.45), ("7", 7.9),
])  # fmt: skip
def test_a_number_that_gives_the_printed_one_when_rounded_or_cut_is_reproduced(text, found):
    assert verdict(Number(text), found) == "reproduced"


@pytest.mark.parametrize(("text", "found"), [("7e-3", 0.0087045), ("0.053", 0.0552), ("6.9e-3", 0.0072), ("2", -2.0),
                                               ("0.118", 0.11749243), ("7", 6.2)])  # fmt: skip
def test_a_wrong_printed_number_is_corrected(text, found):
    assert verdict(Number(text), found) == "corrected"


def test_what_is_not_a_number_agrees_with_nothing():
    assert verdict(Number("1.0"), math.nan) == "corrected"
    assert verdict(Number("1.0"), None) == "corrected"
    assert verdict(Order(1e-3), math.nan) == "corrected"
    assert verdict(Order(1e-3), 0.0) == "corrected"


def test_more_digits_than_double_precision_holds_are_compared_up_to_its_rounding():
    printed = Number("2.9315413052188980000")
    assert printed.agrees(2.931541305218898 * (1 + 4e-16))
    assert not printed.agrees(2.931541305218898 * (1 + 1e-14))


def test_all_numbers_of_a_vector_must_agree():
    printed = Numbers(("0.47", "1.96"))
    assert verdict(printed, [0.4761, 1.9605]) == "reproduced"
    assert verdict(printed, [0.4761, 1.90]) == "corrected"
    assert verdict(printed, [0.4761]) == "corrected"


def test_an_order_of_magnitude_is_met_within_a_factor_of_ten_to_both_sides():
    assert [verdict(Order(1e-9), found) for found in (1.1e-10, 9e-9, 9e-11, 2e-8)] == [
        "reproduced", "reproduced", "corrected", "corrected"]  # fmt: skip


def test_an_error_may_be_smaller_than_printed():
    assert verdict(AtMost(1e-5), 3e-15) == "reproduced"
    assert verdict(AtMost(1e-5), 2e-4) == "corrected"


def test_about_and_between():
    assert verdict(About(36.0), 37.19) == "reproduced"
    assert verdict(About(36.0), 39.0) == "corrected"
    assert verdict(Between(45, 55), 47.8) == "reproduced"
    assert verdict(Between(80, 90), 59.6) == "corrected"


def test_a_formula_is_right_if_its_error_is_rounding():
    assert verdict(Formula("E = mc²", 1e-12), 3e-15) == "reproduced"
    assert verdict(Formula("E = mc²", 1e-12), 0.01) == "corrected"


def test_a_true_statement_is_qualitative_and_a_false_one_corrected():
    assert verdict(Statement(), True) == "qualitative"
    assert verdict(Statement(), False) == "corrected"


def test_what_cannot_be_compared_for_want_of_data_is_not_reproducible():
    assert verdict(Order(1e-13), 6.8e-12, missing="the time step") == "not reproducible"
    assert verdict(UnstatedValue(), 0.72, missing="its value") == "not reproducible"
    # Where it agrees all the same, it is reproduced.
    assert verdict(Order(1e-9), 1.3e-9, missing="the time step") == "reproduced"


def test_a_claim_is_judged_by_what_its_computation_finds():
    def claim(value):
        return Claim(
            "key",
            "Eq. 1",
            "says",
            Number("0.053"),
            "how",
            lambda work: Answer(value * work, "text"),
            missing="g.",
            why="Why.",
        )

    assert judge(claim(0.0266), 2.0).verdict == "reproduced"
    lost = judge(claim(0.01), 2.0)
    assert lost.verdict == "not reproducible" and lost.why == "Missing: g. Why." and lost.found == "text"


def test_numbers_are_shown_as_people_write_them():
    assert scientific("6.9e-3") == "6.9×10⁻³"
    assert scientific("1e-09") == "10⁻⁹"
    assert scientific("-0.5") == "−0.5"
    assert format_value(1.23456789e-7, 3) == "1.23×10⁻⁷"
    assert format_value(0.0, 3) == "0"
