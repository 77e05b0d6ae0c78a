"""Outcomes and inputs of the wire checklist."""

from __future__ import annotations

import math
import socket
from collections.abc import Callable
from enum import StrEnum

import msgspec

from pico_gz.core.ports import MAX_PORT
from pico_gz.errors import ConfigError, DecodeError, PicoGzError
from pico_gz.wire.datagrams import Address


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


# Takes one line for people.
Tell = Callable[[str], None]

_LINE_EVERY_S = 3.0


def require_timeout(timeout_s: float) -> None:
    """Refuse a time that no clock reaches.

    Raises:
        ConfigError: not a positive, finite number of seconds.
    """
    if not (math.isfinite(timeout_s) and timeout_s > 0.0):
        raise ConfigError(
            f"A timeout of {timeout_s:g} s cannot work.", hint="Say a number of seconds above 0."
        )


def require_port(port: int) -> None:
    """Refuse a port that nobody can send to.

    Raises:
        ConfigError: not 1..65535.
    """
    if not 1 <= port <= MAX_PORT:
        raise ConfigError(
            f"Port {port} cannot be used.",
            hint=f"Ports go from 1 to {MAX_PORT}; the first vehicle's wire is on 9002.",
        )


def resolve(host: str, port: int) -> Address:
    """Return the IPv4 address of a host.

    Raises:
        ConfigError: there is no such host, or it has no IPv4 address, or the port is odd.
    """
    require_port(port)
    try:
        found = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_DGRAM)
    except (OSError, ValueError) as exc:  # ValueError: text that no name server would be asked for
        raise ConfigError(
            f"There is no host {host!r} with an IPv4 address.",
            hint="The wire is UDP on IPv4: write a name that is known here, or as 127.0.0.1:9002.",
        ) from exc
    address = str(found[0][4][0])
    if address == "0.0.0.0":
        raise ConfigError(
            "0.0.0.0 is no address to send to.", hint="Write 127.0.0.1 for this machine."
        )
    return address, port


class Patience:
    """Tells every few seconds what is going on, so that a wait is not taken for a hang."""

    def __init__(self, tell: Tell | None, now_s: float) -> None:
        self._tell = tell
        self._next_s = now_s + _LINE_EVERY_S

    def note(self, now_s: float, text: str) -> None:
        """Tell ``text`` if nothing was told for a while."""
        if self._tell is not None and now_s >= self._next_s:
            self._next_s = now_s + _LINE_EVERY_S
            self._tell(text)
