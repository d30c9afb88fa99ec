import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import saltus as sl
from saltus.numerics import formula, jets

Expression = sl.surfaces.Expression


VALUES = [
    ("x + 2*y", 0.3 + 2 * 0.7),
    ("-x**2", -(0.3**2)),
    ("x**-2", 0.3**-2),
    ("2**x", 2**0.3),
    ("x**y", 0.3**0.7),
    ("x**0.5", 0.3**0.5),
    ("(x - y)/(x + y)", (0.3 - 0.7) / (0.3 + 0.7)),
    ("sin(x) + cos(y)*tan(x)", np.sin(0.3) + np.cos(0.7) * np.tan(0.3)),
    ("asin(x) + acos(y)", np.arcsin(0.3) + np.arccos(0.7)),
    ("atan(x) + atan2(x, y)", np.arctan(0.3) + np.arctan2(0.3, 0.7)),
    ("sinh(x)*cosh(y)*tanh(x)", np.sinh(0.3) * np.cosh(0.7) * np.tanh(0.3)),
    ("exp(-x)*log(y)*sqrt(x)", np.exp(-0.3) * np.log(0.7) * np.sqrt(0.3)),
    ("abs(-x) + hypot(x, y)", 0.3 + np.hypot(0.3, 0.7)),
    ("min(x, y, 0.5) + max(x, 0.1)", 0.6),
    ("pi*x + e*y", np.pi * 0.3 + np.e * 0.7),
    ("1.5e-1 + 2", 2.15),
    (" +x ", 0.3),
]  # fmt: skip
TEXTS = [text for text, _ in VALUES]


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_formulas_have_the_value_of_arithmetic(text, value):
    assert float(Expression(text).height(0.3, 0.7)) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize("text", TEXTS)
def test_jets_of_numpy_have_the_derivatives_of_jax(text):
    places = np.array([0.3, -0.7, 0.9, 0.2]), np.array([0.7, 0.4, 0.15, 0.25])
    first, second = jets.variables(*places)
    with np.errstate(all="ignore"):  # a logarithm or root of a negative number is none for both
        found = 0.0 * first + formula.evaluate(text, {"x": first, "y": second}, jets)
    wanted = Expression(text).local(*places)
    for part, want in zip(found.parts, (wanted.height, *wanted.gradient, *wanted.curvature), strict=True):
        np.testing.assert_allclose(part, want, rtol=1e-13, atol=1e-13)  # of values of order one


def test_a_hypotenuse_is_curved_on_the_diagonals_too():
    # jax.numpy.hypot has no second derivative where both sides are equal.
    found = [float(part) for part in Expression("hypot(x, y)").curvature(0.2, -0.2)]
    assert found == pytest.approx([0.5 / 0.08**0.5, 0.5 / 0.08**0.5, 0.5 / 0.08**0.5], rel=1e-14)


def test_integer_powers_have_the_right_derivatives_at_zero():
    surface = Expression("x**2 + y**(1+2) + x**2.0")
    assert [float(part) for part in surface.gradient(0.0, 0.0)] == [0.0, 0.0]
    assert [float(part) for part in surface.curvature(0.0, 0.0)] == [4.0, 0.0, 0.0]


def test_a_constant_formula_is_a_level_plane():
    surface = Expression("2*pi")
    assert surface.height(jnp.zeros(3), 1.0).shape == (3,)
    assert float(surface.gradient(0.0, 0.0)[0]) == 0.0


def test_parameters_are_differentiable():
    slope = jax.grad(lambda a: Expression("a*x**2", {"a": a}).height(3.0, 0.0))(0.1)
    assert float(slope) == 9.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("__import__('os').system('true')", "Unknown function"),
        ("x.real", "'x.real'"),
        ("x[0]", "'x[0]'"),
        ("(lambda: x)()", "Unknown function"),
        ("lambda: 1", "'lambda: 1'"),
        ("[x for x in (1, 2)]", "'[x for x in (1, 2)]'"),
        ("x if y else 1", "'x if y else 1'"),
        ("x == y", "'x == y'"),
        ("x and y", "'x and y'"),
        ("x // y", "'x // y'"),
        ("x % 2", "'x % 2'"),
        ("x @ y", "'x @ y'"),
        ("~x", "'~x'"),
        ("'x'", "\"'x'\""),
        ("True", "'True'"),
        ("1j", "'1j'"),
        ("None", "'None'"),
        ("f'{x}'", "is not arithmetic"),
        ("(y := x)", "'y := x'"),
        ("eval(x)", "Unknown function 'eval'"),
        ("sin", "needs its argument in parentheses"),
        ("sin()", "takes one argument"),
        ("sin(x, y)", "takes one argument"),
        ("hypot(x)", "takes two arguments"),
        ("max(x)", "takes two or more arguments"),
        ("max(*x)", "takes two or more arguments"),
        ("sin(x=1)", "takes one argument"),
        ("sinn(x)", "Did you mean 'sin'?"),
        ("z + 1", "Unknown name 'z'"),
        ("x +", "cannot be read as arithmetic"),
        ("x = 1", "cannot be read as arithmetic"),
        ("x; y", "cannot be read as arithmetic"),
        ("", "cannot be read as arithmetic"),
        ("x\0", "cannot be read as arithmetic"),
        ("x + 1/0", "'1/0' in the formula"),
        ("x/(1 - 1)", "divides by zero"),
        ("9**9**9", "is not a finite number"),
        ("(-1)**0.5", "is not a finite number"),
        ("sqrt(-1)", "is not a finite number"),
        ("1e400", "is not a finite number"),
        ("-" * 150 + "x", "nested deeper"),
        ("-" * 1900 + "x", ""),
        ("x" + "+x" * 1500, "characters"),
    ],
)
def test_anything_but_arithmetic_is_refused_in_one_sentence(text, words):
    with pytest.raises(ValueError, match="^[^\n]+$") as caught:
        Expression(text)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("name", ["x", "y", "pi", "sin", "a b", "lambda", "1a", ""])
def test_parameters_cannot_take_names_that_mean_something_else(name):
    with pytest.raises(ValueError, match="name"):
        Expression("x", {name: 1.0})


def test_a_parameter_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match=r"`parameters.a` must be finite, got inf"):
        Expression("a*x", {"a": float("inf")})


@given(st.text(alphabet="xy0123456789.+-*/()[]{}:=_ \n\"'\\,sincoe", max_size=30))
def test_any_text_is_either_a_surface_or_one_sentence(text):
    try:
        surface = Expression(text)
    except ValueError as error:
        assert "\n" not in str(error)
    else:
        assert surface.height(0.0, 0.0).dtype == jnp.float64


def test_a_formula_is_undefined_where_it_has_no_value():
    root = Expression("sqrt(x)")
    assert float(root.margin(1.0, 0.0)) > 0 > float(root.margin(-1.0, 0.0))
