"""What every table of a scenario file has in common."""

from __future__ import annotations

from typing import ClassVar

import pydantic


class Model(pydantic.BaseModel):
    """A table of a scenario file: unknown keys, NaN and wrong types are errors.

    Attributes:
        advice: What to do, by key, where it is missing or has too few or too many entries.
        not_given: Why a key that one may look for is not there.
    """

    advice: ClassVar[dict[str, str]] = {}
    not_given: ClassVar[dict[str, str]] = {}

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
