"""A claim of a paper, how it is computed here, and the verdict, which follows from the two."""

from __future__ import annotations

import dataclasses
import decimal
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

Verdict = Literal["reproduced", "corrected", "qualitative", "not reproducible"]

ROUNDING = 8 * 2.2e-16  # relative; a few operations in double precision

VERDICTS: dict[Verdict, str] = {
    "reproduced": "what is found gives the printed value when rounded, or cut, to its digits",
    "corrected": "what is printed is wrong; ours stands beside it, with the reason",
    "qualitative": "a statement without a number, and it holds",
    "not reproducible": "the paper leaves out what would be needed",
}


@dataclasses.dataclass(frozen=True)
class Number:
    """A printed decimal number: what is found agrees if it gives this number when rounded, or cut, to its digits.

    Args:
        text: The number as printed, as in "0.053" or "6.9e-3"; its digits are its accuracy.
        unit: Its unit, for the reader.
    """

    text: str
    unit: str = ""

    @property
    def value(self) -> float:
        """The number."""
        return float(self.text)

    @property
    def last_digit(self) -> float:
        """One unit of the last digit printed."""
        exponent = decimal.Decimal(self.text).as_tuple().exponent
        return 10.0 ** int(exponent)

    def agrees(self, found: float) -> bool:
        """Whether a number is this one, to the digits printed."""
        beyond = (float(found) - self.value) * (-1.0 if self.value < 0 else 1.0)  # > 0: larger in size than printed
        # Where more digits are printed than double precision holds, its rounding is allowed. A ten-millionth of a
        # digit more, for numbers that stand exactly on the border.
        slack = max(1e-7 * self.last_digit, ROUNDING * abs(self.value))
        return -0.5 * self.last_digit - slack <= beyond <= self.last_digit + slack

    def __str__(self) -> str:
        return f"{scientific(self.text)} {self.unit}".strip()


@dataclasses.dataclass(frozen=True)
class Numbers:
    """Printed numbers that belong together, such as the components of a vector."""

    texts: tuple[str, ...]
    shown: str = ""

    def agrees(self, found: Sequence[float]) -> bool:
        """Whether every number is the printed one, to its digits."""
        found = list(found)
        return len(found) == len(self.texts) and all(
            Number(text).agrees(value) for text, value in zip(self.texts, found, strict=True)
        )

    def __str__(self) -> str:
        return self.shown or ", ".join(scientific(text) for text in self.texts)


@dataclasses.dataclass(frozen=True)
class About:
    """A number said to be approximate ("about 36 s").

    Args:
        value: The number.
        share: How far off "about" may be, relative.
        unit: Its unit.
    """

    value: float
    share: float = 0.05
    unit: str = ""

    def agrees(self, found: float) -> bool:
        """Whether a number is about this one."""
        return abs(float(found) - self.value) <= self.share * abs(self.value)

    def __str__(self) -> str:
        return f"about {self.value:g} {self.unit}".strip()


@dataclasses.dataclass(frozen=True)
class Order:
    """An order of magnitude ("of the order of 1e-9"): agreement is within a factor of ten."""

    value: float

    def agrees(self, found: float) -> bool:
        """Whether a number has this order of magnitude."""
        found = abs(float(found))
        return found > 0.0 and abs(math.log10(found / self.value)) <= 1.0

    def __str__(self) -> str:
        return f"order {scientific(f'{self.value:.0e}')}"


@dataclasses.dataclass(frozen=True)
class AtMost:
    """A printed size of an error; ours may be smaller, or larger within the order of magnitude."""

    value: float

    def agrees(self, found: float) -> bool:
        """Whether an error is not larger than this order of magnitude."""
        return abs(float(found)) <= 10.0 * self.value

    def __str__(self) -> str:
        return f"within {scientific(f'{self.value:.0e}')}"


@dataclasses.dataclass(frozen=True)
class Between:
    """A printed range in which a number lies."""

    low: float
    high: float
    unit: str = ""

    def agrees(self, found: float) -> bool:
        """Whether a number lies in the range."""
        return self.low <= float(found) <= self.high

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g} {self.unit}".strip()


@dataclasses.dataclass(frozen=True)
class Formula:
    """A printed formula; what is found is its largest error against the library, relative to its size.

    Args:
        text: The formula, or where it stands.
        tolerance: Error that rounding and the accuracy of the runs explain.
    """

    text: str
    tolerance: float = 1e-9

    def agrees(self, found: float) -> bool:
        """Whether the formula as printed has no error."""
        return float(found) <= self.tolerance

    def __str__(self) -> str:
        return self.text


@dataclasses.dataclass(frozen=True)
class Statement:
    """Something said in words; what is found is whether it is so."""

    text: str = "stated in words"

    def agrees(self, found: bool) -> bool:
        """Whether it is so."""
        return bool(found)

    def __str__(self) -> str:
        return self.text


@dataclasses.dataclass(frozen=True)
class UnstatedValue:
    """A quantity that the paper names without a value: nothing can agree with it."""

    text: str = "named, without a value"

    def agrees(self, found: Any) -> bool:
        """Never: there is nothing to compare with."""
        return False

    def __str__(self) -> str:
        return self.text


Printed = Number | Numbers | About | Order | AtMost | Between | Formula | Statement | UnstatedValue


@dataclasses.dataclass(frozen=True)
class Answer:
    """What came out of a computation.

    Args:
        value: What is compared with the printed value.
        text: How it is shown.
    """

    value: Any
    text: str


@dataclasses.dataclass(frozen=True)
class Claim:
    """One thing that a paper says.

    Args:
        key: Short name, unique in its paper.
        where: Section, equation or figure.
        says: What is claimed, in our words.
        printed: The value, formula or statement.
        how: How it is computed here.
        find: Computes it; takes the workbench of the paper.
        why: What explains a difference, or what is worth knowing.
        missing: What the paper leaves out, if it leaves out something needed to compare.
        slow: Whether `--quick` leaves it out.
    """

    key: str
    where: str
    says: str
    printed: Printed
    how: str
    find: Callable[[Any], Answer]
    why: str = ""
    missing: str = ""
    slow: bool = False


@dataclasses.dataclass(frozen=True)
class Finding:
    """A claim with what was found: plain data that travels between processes."""

    key: str
    where: str
    says: str
    printed: str
    found: str
    how: str
    why: str
    verdict: Verdict
    source: str = ""  # function of this package that computes it


def verdict(printed: Printed, found: Any, missing: str = "") -> Verdict:
    """The verdict that follows from what is printed, what was found, and what the paper leaves out.

    A statement in words that holds is qualitative. A number or formula that agrees is reproduced. What does not
    agree is corrected, unless the paper does not tell enough to compare: then it is not reproducible.
    """
    if _is_agreeing(printed, found):
        return "qualitative" if isinstance(printed, Statement) else "reproduced"
    return "not reproducible" if missing else "corrected"


def _is_agreeing(printed: Printed, found: Any) -> bool:
    """Whether they agree; what is not a number agrees with nothing."""
    try:
        return bool(printed.agrees(found))
    except (TypeError, ValueError):
        return False


def judge(claim: Claim, work: Any) -> Finding:
    """Compute a claim and reach its verdict."""
    found = claim.find(work)
    reached = verdict(claim.printed, found.value, claim.missing)
    remark = claim.why
    if reached == "not reproducible":
        remark = f"Missing: {claim.missing} {claim.why}".strip()
    source = f"{claim.find.__module__}.{claim.find.__qualname__}"
    return Finding(
        claim.key, claim.where, claim.says, str(claim.printed), found.text, claim.how, remark, reached, source
    )


def scientific(text: str) -> str:
    """A number as people write it: "6.9e-3" is 6.9×10⁻³."""
    mantissa, letter, exponent = text.lower().partition("e")
    if not letter:
        return text.replace("-", "−")
    power = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    if float(mantissa) == 1.0 and "." not in mantissa:
        return f"10{power}"
    return f"{mantissa.replace('-', '−')}×10{power}"


def format_value(value: float, digits: int) -> str:
    """A computed number with so many significant digits, for the table."""
    if value == 0.0:
        return "0"
    return scientific(f"{value:.{digits}g}" if 1e-3 <= abs(value) < 1e7 else f"{value:.{digits - 1}e}")
