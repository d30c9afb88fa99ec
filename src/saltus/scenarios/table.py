"""What every table of a scenario file has in common."""

from __future__ import annotations

import pydantic


class Model(pydantic.BaseModel):
    """A table of a scenario file: unknown keys, NaN and wrong types are errors."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
