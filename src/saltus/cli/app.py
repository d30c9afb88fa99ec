"""The command `saltus`: its verbs, its exit codes, and how errors are told.

Importing this takes a few hundredths of a second: verbs import JAX and matplotlib when they run.
"""

from __future__ import annotations

import atexit
import errno
import gc
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Annotated

import typer

from saltus import configure
from saltus.cli import cache as cache_verb
from saltus.cli import calibrate as calibrate_verb
from saltus.cli import check as check_verb
from saltus.cli import cite as cite_verb
from saltus.cli import doctor as doctor_verb
from saltus.cli import ensemble as ensemble_verb
from saltus.cli import hazard as hazard_verb
from saltus.cli import interrupt
from saltus.cli import list as list_verb
from saltus.cli import map as map_verb
from saltus.cli import new as new_verb
from saltus.cli import reproduce as reproduce_verb
from saltus.cli import run as run_verb
from saltus.cli import show as show_verb
from saltus.cli import studio as studio_verb
from saltus.cli import summarize as summarize_verb
from saltus.cli import validate as validate_verb
from saltus.cli import verify as verify_verb
from saltus.cli.console import error, note
from saltus.errors import MissingExtraError, ScenarioError

DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130
RARELY = (500_000, 10, 10)  # objects between two looks for garbage: more than a short run with its figure makes
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # no room on the disk

# Typer carries its own copy of click since 0.20; the class is the same by name.
_ClickException: type[Exception] = next(one for one in typer.BadParameter.__mro__ if one.__name__ == "ClickException")

app = typer.Typer(
    name="saltus",
    help="Mechanics that jumps: bodies that slide, stick, roll, tug at each other and collide.",
    epilog="Exit codes: 0 done, 1 the run or check failed, 2 wrong input, 130 interrupted.",
    add_completion=True,
    no_args_is_help=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

VERBS = {
    "list": list_verb,
    "new": new_verb,
    "check": check_verb,
    "run": run_verb,
    "show": show_verb,
    "studio": studio_verb,
    "ensemble": ensemble_verb,
    "summarize": summarize_verb,
    "hazard": hazard_verb,
    "map": map_verb,
    "calibrate": calibrate_verb,
    "reproduce": reproduce_verb,
    "validate": validate_verb,
    "verify": verify_verb,
    "cite": cite_verb,
    "cache": cache_verb,
    "doctor": doctor_verb,
}
for _name, _verb in VERBS.items():
    app.command(_name)(_verb.command)


def _print_version(wanted: bool) -> None:
    if wanted:
        from saltus import __version__

        print(f"saltus {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    interrupt.install()
    gc.set_threshold(*RARELY)
    # Threads of OpenBLAS spin while they wait for work, and matrices are small here.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    sys.exit(call(arguments))


def main_and_leave() -> None:
    """Run the command line and end the process without taking Python apart object by object, which takes half a second.

    Not under a debugger or a profiler, which have something to do at the end.
    """
    try:
        main()
    except SystemExit as exit:
        if sys.gettrace() is not None or sys.getprofile() is not None:
            raise
        atexit._run_exitfuncs()
        os._exit(_flush(int(exit.code or DONE)))


def _flush(code: int) -> int:
    """Write what has been printed; the exit code, which tells if that cannot be done."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except OSError:
        return code or FAILED
    return code


def call(arguments: Sequence[str]) -> int:
    """Run the command line; every error and warning becomes one line on stderr, and an error an exit code."""
    with warnings.catch_warnings():
        warnings.showwarning = _warn
        for ours in (DeprecationWarning, PendingDeprecationWarning):  # of libraries among themselves
            warnings.filterwarnings("ignore", category=ours, module=r"(?!saltus)")
        return _call(arguments)


def _call(arguments: Sequence[str]) -> int:
    debug = "--debug" in arguments
    if _computes(arguments):
        configure()
    try:
        return app(args=list(arguments), prog_name="saltus", standalone_mode=False) or DONE
    except typer.Exit as exit:
        return exit.exit_code
    except (ScenarioError, MissingExtraError) as problem:
        return _tell(str(problem), WRONG_INPUT, debug)
    except _ClickException as problem:
        return _tell(_usage(problem), WRONG_INPUT, debug)
    except (KeyboardInterrupt, typer.Abort):
        return _tell(f"Interrupted. {interrupt.NOTHING_LOST}", INTERRUPTED, debug)
    except BrokenPipeError:
        # The reader of our output has gone; keep Python from telling so when it closes stdout.
        sys.stdout = None
        return FAILED
    except Exception as problem:
        if isinstance(problem, OSError) and problem.errno in FULL:
            return _tell(f"Cannot write: {problem.strerror}. What was there before is untouched.", FAILED, debug)
        advice = "" if debug else " (--debug shows where)"
        return _tell(f"{type(problem).__name__}: {problem}{advice}", FAILED, debug)


def _computes(arguments: Sequence[str]) -> bool:
    """Whether JAX may be needed, and so its settings."""
    return (
        bool(arguments) and arguments[0] in VERBS and arguments[0] not in ("list", "new") and "--help" not in arguments
    )


def _warn(message: Warning | str, *where: object, **more: object) -> None:
    """A warning as one line on stderr, without the place in the code."""
    note(f"saltus: {' '.join(str(message).split())}")


def _usage(problem: Exception) -> str:
    message = problem.format_message()  # type: ignore[attr-defined]
    if "unexpected extra argument" in message and "--set" in sys.argv:
        message = f"{message.rstrip('.')}. An override is one word, as in --set friction.mu=0.1"
    stop = "" if message.endswith((".", "?")) else "."
    return f"{message}{stop} `saltus --help` shows the verbs, `saltus VERB --help` their options."


def _tell(message: str, code: int, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    error(message)
    return code
