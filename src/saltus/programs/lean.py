"""Compiled code without what only its compiler needs: it is loaded five to ten times as fast.

What XLA serialises holds, beside the machine code and the order of its calls, all operations that it was compiled
from. Nine tenths of the time to load it go into building them again, most of them inside of fusions, of which nothing
but the machine code is used any more. Here each fusion becomes one opaque operation with the same arguments, results
and number, so that all memory stays where it was; names of places in the source go too.

The serialised form is a protocol buffer that is no part of a public surface. It is cut only for versions of jaxlib
with which this was tried (`KNOWN`), and only where it has the form that is expected.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import jaxlib.version

KNOWN = ((0, 10, 2),)  # versions of jaxlib with which this was tried
WORD, BYTES = 0, 2  # how a field is written: a whole number, or bytes that a length precedes
FIXED = {1: 8, 5: 4}  # bytes of numbers of fixed length

# Numbers of fields: of the result of the compiler, of its module, of a computation, and of an instruction.
RESULT, MODULE_AND_SETTINGS, MODULE = 1, 1, 1
COMPUTATION = 3
INSTRUCTION, IDENTITY, IS_FUSED = 2, 5, 7
OPERATION, METADATA, KIND, TARGET, CALLED = 2, 7, 11, 28, 38
# Of a fusion: name, shape, number, arguments, what comes before, and which results lie where arguments do.
KEPT = frozenset((1, 3, 35, 36, 37, 74))
COMPILED = (b"kLoop", b"kInput", b"kOutput")  # kinds of fusions that are machine code; others are built when loaded

Field = tuple[int, int, int | bytes]


class OtherFormError(ValueError):
    """Something serialised is not what is expected."""


@functools.cache
def possible() -> bool:
    """Whether the form of this version of jaxlib is known."""
    return tuple(jaxlib.version.__version_info__[:3]) in KNOWN


def lean(data: bytes) -> bytes:
    """A serialised executable without the insides of its fusions.

    Raises:
        OtherFormError: if it has another form than that known here.
    """
    length, start = _number(data, 0)
    head = start + length
    if head >= len(data):
        raise OtherFormError("a header without contents")
    body = _inside(data[head:], RESULT, lambda one: _inside(one, MODULE_AND_SETTINGS, _settle))
    return data[:head] + body


def _settle(data: bytes) -> bytes:
    return _inside(data, MODULE, _module)


def _module(data: bytes) -> bytes:
    """A module whose fusions are opaque, without the computations that only those called."""
    parts: list[tuple[int | None, bytes]] = []  # with the number of a computation that may not be needed any more
    needed: set[int] = set()
    for number, form, value in _fields(data):
        fused = None
        if number == COMPUTATION:
            inner = list(_fields(_message(value)))
            facts = {one: word for one, _, word in inner if one in (IDENTITY, IS_FUSED)}
            if facts.get(IS_FUSED):
                fused = int(facts[IDENTITY])
            else:
                value = b"".join(
                    _write(one, how, _instruction(_message(what), needed) if one == INSTRUCTION else what)
                    for one, how, what in inner
                )
        parts.append((fused, _write(number, form, value)))
    return b"".join(part for fused, part in parts if fused is None or fused in needed)


def _instruction(data: bytes, needed: set[int]) -> bytes:
    """An instruction without metadata, and a fusion as an opaque call; what it still calls is `needed`."""
    fields = list(_fields(data))
    if _is_compiled_fusion(fields):
        fields = [field for field in fields if field[0] in KEPT]
        fields += [(OPERATION, BYTES, b"custom-call"), (TARGET, BYTES, b"compiled")]
    needed.update(_calls(fields))
    return b"".join(_write(*field) for field in fields if field[0] != METADATA)


def _is_compiled_fusion(fields: list[Field]) -> bool:
    found = {number: value for number, _, value in fields if number in (OPERATION, KIND)}
    return found.get(OPERATION) == b"fusion" and found.get(KIND) in COMPILED


def _calls(fields: list[Field]) -> Iterator[int]:
    """The computations that an instruction calls."""
    for number, _, value in fields:
        if number != CALLED:
            continue
        if isinstance(value, int):
            yield value
            continue
        place = 0
        while place < len(value):
            called, place = _number(value, place)
            yield called


def _message(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise OtherFormError("a number in the place of a message")
    return value


def _inside(data: bytes, wanted: int, change: Callable[[bytes], bytes]) -> bytes:
    """A message with all fields of one number changed, of which there must be one."""
    parts, found = [], False
    for number, form, value in _fields(data):
        if number == wanted and isinstance(value, bytes):
            value, found = change(value), True
        parts.append(_write(number, form, value))
    if not found:
        raise OtherFormError(f"no field {wanted}")
    return b"".join(parts)


def _fields(data: bytes) -> Iterator[Field]:
    """The fields of a message: number, how it is written, value."""
    place = 0
    while place < len(data):
        key, place = _number(data, place)
        number, form = key >> 3, key & 7
        if form == WORD:
            value, place = _number(data, place)
            yield number, form, value
            continue
        length = FIXED.get(form)
        if form == BYTES:
            length, place = _number(data, place)
        if length is None or number == 0 or place + length > len(data):
            raise OtherFormError("no message")
        yield number, form, data[place : place + length]
        place += length


def _number(data: bytes, place: int) -> tuple[int, int]:
    """A whole number of seven bits per byte, the lowest first, and where it ends."""
    found = shift = 0
    try:
        while (byte := data[place]) & 128:
            found |= (byte & 127) << shift
            shift, place = shift + 7, place + 1
    except IndexError as error:
        raise OtherFormError("an end within a number") from error
    return found | byte << shift, place + 1


def _write(number: int, form: int, value: int | bytes) -> bytes:
    key = _bits(number << 3 | form)
    if isinstance(value, int):
        return key + _bits(value)
    return key + (_bits(len(value)) + value if form == BYTES else value)


def _bits(number: int) -> bytes:
    parts = bytearray()
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    parts.append(number)
    return bytes(parts)
