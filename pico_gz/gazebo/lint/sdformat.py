"""Asks sdformat14, Gazebo's own SDF library, where it is installed."""

from __future__ import annotations

import json
import logging
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pico_gz.gazebo.install import SDF_MODULE, find_bindings
from pico_gz.gazebo.lint import strict_reader
from pico_gz.gazebo.sdf import COMMENT, blank_out

log = logging.getLogger(__name__)

APT_PACKAGE = "python3-sdformat14"
_READER_S = 20.0
# What is included is checked where it is; looking for it would only make noise. An empty one,
# <include/>, has no end of its own.
_INCLUDE = re.compile(r"<include(?:\s[^<>]*)?(?<!/)>"), "</include>"
# Of sdformat's error codes: those that stay true whatever the includes bring (names, attributes,
# numbers, inertias, versions), in contrast to those about links, joints and frames ...
_CERTAIN_CODES = frozenset({2, 3, 4, 5, 7, 8, 19, 34, 39, 40})
# ... and those that only repeat in other words what another one says already.
_UNREADABLE = 30
_ECHO_CODES = frozenset({25, 28, _UNREADABLE})
_ECHO = "Failed to load a world"
_Report = dict[str, Any]  # code, line and message
_READING = "Error reading element"


@dataclass(frozen=True, slots=True)
class Complaint:
    """Something that sdformat says.

    Attributes:
        line: in the file; 0 when it gives none.
        message: one sentence.
        refused: Gazebo does not load the file because of it.
    """

    line: int
    message: str
    refused: bool


def can_ask() -> bool:
    """Whether some Python here has the library."""
    return bool(find_bindings(SDF_MODULE))


def complaints(text: str) -> list[Complaint]:
    """What sdformat says of a file; nothing when it is content, or not here."""
    plain = blank_out(text, *COMMENT)
    alone = blank_out(plain, *_INCLUDE)
    answer = _ask(alone)
    refused = answer.get("refused", [])
    if alone != plain:
        refused = [report for report in refused if _is_certain(report)]
    causes = [report for report in refused if not _is_echo(report)] or refused[:1]
    found = [_complaint(report, refused=True) for report in _innermost(causes)]
    return found + [_complaint(report, refused=False) for report in answer.get("mentioned", ())]


def _is_certain(report: _Report) -> bool:
    return report["code"] in _CERTAIN_CODES or report["message"].startswith(_READING)


def _is_echo(report: _Report) -> bool:
    return report["code"] in _ECHO_CODES or report["message"].startswith(_ECHO)


def _innermost(causes: list[_Report]) -> Iterator[_Report]:
    """Of an element that cannot be read all those around it cannot be read either."""
    before = ""
    for cause in causes:
        if not (cause["message"].startswith(_READING) and before.startswith(_READING)):
            yield cause
        before = cause["message"]


def _complaint(report: _Report, *, refused: bool) -> Complaint:
    """One sentence; one of sdformat's messages repeats the whole file."""
    whole = report["message"].strip()
    end = ":" if report["code"] == _UNREADABLE else "\n"
    sentence = whole.partition(end)[0].rstrip(". ")
    return Complaint(int(report["line"] or 0), f"{sentence}.", refused)


def _ask(text: str) -> dict[str, list[_Report]]:
    python = find_bindings(SDF_MODULE)
    if not python:
        return {}
    try:
        done = subprocess.run(
            [python, strict_reader.__file__],
            input=text,
            capture_output=True,
            text=True,
            timeout=_READER_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        log.warning("sdformat was not asked: %s", exc)
        return {}
    if done.returncode:
        why = done.stderr.strip().rpartition("\n")[2] or f"it ended with {done.returncode}"
        log.warning("sdformat was not asked: %s", why)
        return {}
    answer: dict[str, list[_Report]] = json.loads(done.stdout)
    return answer
