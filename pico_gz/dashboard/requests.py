"""What a browser asks for, and the answers."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from pico_gz.errors import PicoGzError
from pico_gz.session.control_server import Command

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request; ``number`` comes back with the answer."""

    number: int
    command: str
    arguments: Mapping[str, Any]

    def done(self) -> dict[str, Any]:
        """The answer when it was carried out."""
        return {"t": "answer", "n": self.number, "ok": True}

    def refused(self, why: str, hint: str = "") -> dict[str, Any]:
        """The answer when it was not."""
        return {"t": "answer", "n": self.number, "ok": False, "message": why, "hint": hint}


def decode_request(text: str) -> Request:
    """Read ``{"n": 7, "command": "pause", ...}``; anything else becomes an unknown command."""
    try:
        decoded = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        decoded = None
    if not isinstance(decoded, dict):
        decoded = {}
    number, command = decoded.get("n"), decoded.get("command")
    return Request(
        number=number if isinstance(number, int) and not isinstance(number, bool) else 0,
        command=command if isinstance(command, str) else "",
        arguments=decoded,
    )


def carry_out(request: Request, commands: Mapping[str, Command]) -> dict[str, Any]:
    """Do it and return the answer; waits for the moment between two steps."""
    command = commands.get(request.command)
    if command is None:
        return request.refused(f"Unknown command {request.command[:40]!r}.")
    try:
        command(request.arguments)
    except PicoGzError as exc:
        return request.refused(exc.message, exc.hint)
    except Exception as exc:  # a browser's request must never end the view
        log.exception("a request of the browser view failed")
        return request.refused(f"{type(exc).__name__}: {exc}")
    return request.done()
