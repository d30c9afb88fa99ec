"""Programs that outlive the process: traced and compiled once, kept beside JAX's own cache of compiled code."""

from typing import TYPE_CHECKING

from saltus._late import late

if TYPE_CHECKING:
    from saltus.programs.kept import brief_program, large_program, plain_program, prepare, program

__all__ = ["brief_program", "large_program", "plain_program", "prepare", "program"]

__getattr__, __dir__ = late(
    __name__, {"kept": ("brief_program", "large_program", "plain_program", "prepare", "program")}
)
