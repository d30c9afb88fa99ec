"""Why a run ended."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Why a run ended: a name from `OUTCOMES` and a sentence with the figures."""

    name: str
    message: str

    def __post_init__(self):
        if self.name not in OUTCOMES:
            raise ValueError(f"Unknown outcome {self.name!r}. Known: {', '.join(OUTCOMES)}.")

    @property
    def ok(self) -> bool:
        """Whether the run went as far as it was asked to."""
        return OUTCOMES[self.name]


# Name of each outcome, and whether the run went as far as it was asked to.
OUTCOMES = {
    "finished": True,  # reached `until`, or the event that ends the system's story
    "at_rest": True,  # no end was asked for, and nothing moves any more
    "lies_flat": True,  # a disc has come down onto its face
    "too_many_events": False,
    "accumulation": False,  # events pile up and the system has no mode for what follows
    "stalled": False,  # the step size fell to rounding level
    "too_many_steps": False,
    "left_domain": False,  # a body left the region where its surface is defined
    "ill_posed": False,  # the accelerations are not unique or do not exist (Painlevé)
    "several_contacts": False,  # a body would touch its ground in more than one place
    "jammed": False,
    "paradox": False,
    "overlap": False,  # two bodies were found in each other, or one in its ground
    "not_finite": False,
    "inaccurate": False,  # it got there, but its energy balance is worse than its tolerances promise
}
