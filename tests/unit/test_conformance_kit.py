"""`hybrid.check` tells in sentences what is wrong with a system."""

import re

import jax.numpy as jnp
import pytest
from tests import own

import saltus as sl
from saltus.hybrid import Guard, check

START = {"x": 1.0, "v": 0.0}


def fall(t, y):
    return {"x": y["v"], "v": -10.0}


def floor(jump, **more):
    return [Guard("floor", lambda t, y: y["x"], jump=jump, **more)]


def bounce(t, y):
    return {"x": y["x"], "v": -0.5 * y["v"]}


def test_a_sound_system_has_no_problem():
    ball = own.ball()
    found = check(ball, ball.start(), until=1.5)
    assert found.ok and not found.remarks and str(found) == "No problem was found."


BROKEN = {
    "rate not finite": (lambda: sl.hybrid.system(lambda t, y: {"x": y["v"], "v": 1.0 / y["v"]}, START),
                        "The rate is not finite at the start"),
    "not compilable": (lambda: sl.hybrid.system(lambda t, y: {"x": y["v"], "v": -1.0 if y["x"] > 0 else 1.0}, START),
                       "cannot be compiled"),
    "other shape": (lambda: sl.hybrid.system(lambda t, y: {"x": y["v"], "v": jnp.zeros(2)}, START),
                    r"must have shape \(\) in 'v'"),
    "falls through": (lambda: sl.hybrid.system(fall, START, floor(lambda t, y: {"x": y["x"], "v": 0.5 * y["v"]})),
                      "would fire again at once, or be passed through"),
    "not finite after": (lambda: sl.hybrid.system(fall, START, floor(lambda t, y: {"x": y["x"], "v": y["v"] / 0.0})),
                         "the state after 'floor' is not defined"),
    "energy grows": (lambda: sl.hybrid.system(fall, START, floor(lambda t, y: {"x": y["x"], "v": -1.1 * y["v"]}),
                                              energy=lambda t, y: 10.0 * y["x"] + 0.5 * y["v"] ** 2),
                     "The energy grows by 2.1 J at the event 'floor'"),
    "energy of the flow grows": (lambda: sl.hybrid.system(fall, START, energy=lambda t, y: 9.0 * y["x"]
                                                          + 0.5 * y["v"] ** 2),
                                 "between the events"),
    "piles up": (lambda: sl.hybrid.system(fall, START, floor(lambda t, y: {"x": y["x"], "v": -0.1 * y["v"]})),
                 "pile up"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_is_told(name):
    make, sentence = BROKEN[name]
    made = make()
    found = check(made, made.start(), until=0.7)
    assert not found.ok
    assert any(re.search(sentence, one) for one in found.problems), str(found)


def test_guards_that_did_nothing_are_remarked():
    made = sl.hybrid.system(fall, START, [Guard("wrong_sign", lambda t, y: -y["x"], jump=bounce), *floor(bounce)])
    found = check(made, made.start(), until=0.2)
    assert found.ok
    assert "Is its sign right?" in found.remarks[0] and "its jump was not tried" in found.remarks[1]


def test_a_start_that_is_no_state_is_told():
    ball = own.ball()
    assert "must be a hybrid.State" in check(ball, {"height": 1.0}).problems[0]
