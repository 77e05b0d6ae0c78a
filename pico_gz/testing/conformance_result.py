"""What a check of a live peer gives."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import msgspec

from pico_gz.errors import DecodeError, PicoGzError


class Outcome(StrEnum):
    """How a check ended."""

    PASS = "pass"
    FAIL = "fail"
    SKIP = "skip"


class CheckResult(msgspec.Struct, frozen=True):
    """One line of the table.

    Attributes:
        number: of the statement.
        title: what it says.
        outcome: how it ended.
        detail: what was seen, or why it was skipped.
    """

    number: int
    title: str
    outcome: Outcome
    detail: str = ""


class CheckFailedError(PicoGzError):
    """The peer did not do what the statement says."""


class SilentPeerError(CheckFailedError):
    """The peer did not answer in time."""


class SkipCheckError(PicoGzError):
    """This peer cannot be put through a check."""


def require(condition: bool, text: str) -> None:
    """Fail a check with ``text`` unless the condition holds."""
    if not condition:
        raise CheckFailedError(text)


def run_check(number: int, title: str, check: Callable[[], str]) -> CheckResult:
    """Run one check; what it returns is the detail."""
    try:
        return CheckResult(number, title, Outcome.PASS, check())
    except SkipCheckError as exc:
        return CheckResult(number, title, Outcome.SKIP, exc.message)
    except (CheckFailedError, DecodeError) as exc:
        return CheckResult(number, title, Outcome.FAIL, exc.message)
