"""Command output: errors as exit codes and JSON, plain tables."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import sys
import traceback
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

import typer

from pico_gz.errors import (
    ConfigError,
    MissingExtraError,
    MissingProgramError,
    PicoGzError,
    PortClashError,
)

# typer carries its own copy of click; these two classes are all that is needed of it.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]
ClickException: type[Exception] = typer.BadParameter.__mro__[2]

DEBUG_VARIABLE = "PICO_GZ_DEBUG"

EXIT_CODES = """\
Exit codes:
  0        done
  1        the run failed, or there are findings
  2        bad usage or fleet file
  3        port in use
  4        something needed is missing
  130/143  stopped by a signal"""


class ExitCode(IntEnum):
    """Exit codes of the command."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    PORT_IN_USE = 3
    MISSING = 4
    INTERRUPTED = 130
    TERMINATED = 143


# Most specific first.
_CODES: tuple[tuple[type[BaseException], ExitCode], ...] = (
    (PortClashError, ExitCode.PORT_IN_USE),
    (ConfigError, ExitCode.USAGE),
    (MissingExtraError, ExitCode.MISSING),
    (MissingProgramError, ExitCode.MISSING),
    (UsageError, ExitCode.USAGE),
    (typer.Abort, ExitCode.INTERRUPTED),
    (KeyboardInterrupt, ExitCode.INTERRUPTED),
    (PermissionError, ExitCode.MISSING),
    (FileNotFoundError, ExitCode.USAGE),
    (NotADirectoryError, ExitCode.USAGE),
    (IsADirectoryError, ExitCode.USAGE),
)


# A process that has no more than this left has run out of memory, or is about to.
_SPARE_BYTES = 16_000_000


def exit_code_of(error: BaseException) -> ExitCode:
    """The exit code that an error stands for."""
    if _lacks_memory(error):
        return ExitCode.MISSING
    if isinstance(error, OSError) and error.errno == errno.EROFS:
        return ExitCode.MISSING
    return next((code for kind, code in _CODES if isinstance(error, kind)), ExitCode.FAILED)


def _lacks_memory(error: BaseException) -> bool:
    """Whether memory was refused, in whichever of its words."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return True
    words = str(error)
    if "can't start new thread" in words or "failed to map segment" in words:
        return True
    # A module that found no memory can also be "unknown" or "not found".
    return isinstance(error, LookupError | ImportError) and not _has_memory(_SPARE_BYTES)


def _has_memory(count: int) -> bool:
    try:
        bytearray(count)
    except MemoryError:
        return False
    return True


def report(error: BaseException, *, as_json: bool, code: ExitCode | None = None) -> ExitCode:
    """Print an error once, without a traceback, and return the exit code.

    For programs it is one JSON object on stdout, for people one or two lines on stderr.
    """
    code = exit_code_of(error) if code is None else code
    message, hint = _words(error)
    if not (as_json and _print_json_error(code, message, hint)):
        stopped = code is ExitCode.INTERRUPTED
        text = "Stopped." if stopped else f"Error: {message}" + (f"\n{hint}" if hint else "")
        with contextlib.suppress(OSError):  # stderr is closed; the exit code remains
            print_progress(text)
    if os.environ.get(DEBUG_VARIABLE):
        traceback.print_exception(error)
    return code


def _print_json_error(code: ExitCode, message: str, hint: str) -> bool:
    """Write the error to stdout; False when that cannot be written, which may be the error."""
    try:
        print_json({"error": {"code": int(code), "message": message, "hint": hint}})
        sys.stdout.flush()
    except OSError:
        return False
    return True


def print_json(value: Any) -> None:
    """Print the one JSON object of a command; NaN and infinity would break its reader."""
    print(json.dumps(value, allow_nan=False))


def _words(error: BaseException) -> tuple[str, str]:
    if _lacks_memory(error):
        known = f": {error}" if isinstance(error, MemoryError) and str(error) else "."
        return (
            f"There is not enough memory{known}",
            "Fewer rovers need less; 'ulimit -v' shows a limit.",
        )
    if isinstance(error, PicoGzError):
        return error.message, error.hint
    if isinstance(error, ClickException):
        message = _in_plain_words(str(error.format_message()))  # type: ignore[attr-defined]
        context = getattr(error, "ctx", None)
        return message, f"Try '{context.command_path} --help'." if context else ""
    if isinstance(error, typer.Abort | KeyboardInterrupt):
        return "Stopped.", ""
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}.", ""
    hint = f"This is a defect of pico-gz; {DEBUG_VARIABLE}=1 shows where."
    return f"{type(error).__name__}: {error}", hint


# What the checker of types writes -> what a person would.
_PLAIN_WORDS = {
    "Input should be a valid integer, unable to parse string as an integer": (
        "expected a whole number."
    ),
    "Input should be a valid number, unable to parse string as a number": "expected a number.",
}
_CHOICE = re.compile(r"Value error, (?P<word>.*) is not one of (?P<known>.*)\.")


def _in_plain_words(message: str) -> str:
    for words, plain in _PLAIN_WORDS.items():
        message = message.replace(words, plain)
    return _CHOICE.sub(_choice, message)


def _choice(found: re.Match[str]) -> str:
    *others, last = found["known"].replace("'", "").split(", ")
    return f"{found['word']}: expected {', '.join(others)} or {last}."


def print_progress(line: str) -> None:
    """Print a line for people at once, on stderr."""
    print(line, file=sys.stderr, flush=True)


def write_file(path: Path, text: str, *, force: bool) -> None:
    """Write a new file; one that exists is overwritten only with ``--force``."""
    try:
        with path.open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise ConfigError(
            f"{path} exists already.", hint="--force overwrites it; -o FILE writes another one."
        ) from None


def plural(count: int, noun: str) -> str:
    """A number with its noun: ``1 rover``, ``3 rovers``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def figure(value: float | None, digits: int) -> str:
    """A number with so many digits after the point; never "-0", and "-" for none."""
    return "-" if value is None else f"{round(value, digits) + 0.0:.{digits}f}"


_FIGURE = re.compile(r"-?\d[\d.,]*( ?%)?|-|")


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print columns, each as wide as its widest cell; numbers to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    numeric = [
        any(any(map(str.isdigit, row[index])) for row in cells)
        and all(_FIGURE.fullmatch(row[index]) for row in cells)
        for index in range(len(header))
    ]
    for line in [list(header), ["-" * width for width in widths], *cells]:
        padded = (
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, numeric, strict=True)
        )
        print("  ".join(padded).rstrip())
