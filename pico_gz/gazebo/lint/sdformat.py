"""Rules about elements: the kit's own table, and sdformat14.

Generated files are held against the table of what the kit writes. Other files, and generated
ones that were edited, are left to ``sdformat14``, Gazebo's own SDF library, where it is installed.
"""

from __future__ import annotations

import json
import logging
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pico_gz.gazebo import gz_worker
from pico_gz.gazebo.install import SDF_MODULE, find_bindings
from pico_gz.gazebo.lint.document import Finding, Severity, Trap
from pico_gz.gazebo.sdf import COMMENT, Node, blank_out, check_sdf
from pico_gz.gazebo.worlds.render import Origin, origin_of

log = logging.getLogger(__name__)

APT_PACKAGE = "python3-sdformat14"
_READER_S = 20.0
# What is included is checked where it is; looking for it would only make noise. An empty one,
# <include/>, has no end of its own.
_INCLUDE = re.compile(r"<include(?:\s[^<>]*)?(?<!/)>"), "</include>"
# Of sdformat's error codes: those that stay true with any include (names, attributes,
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
            [python, "-P", gz_worker.__file__, "sdformat"],
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


UNKNOWN_ELEMENT = Trap(
    name="unknown-element",
    severity=Severity.WARNING,
    why="Gazebo says one line about what it does not know, ignores it and runs on.",
    fix="Correct the spelling or the place, or remove it.",
)
SDFORMAT_REFUSES = Trap(
    name="sdformat-refuses",
    severity=Severity.ERROR,
    why="These are the words of sdformat, which Gazebo reads files with: it does not load this"
    " file.",
    fix="Correct it; gz sdf -k FILE says the same.",
)
SDFORMAT_WARNS = Trap(
    name="sdformat-warns",
    severity=Severity.WARNING,
    why="These are the words of sdformat: Gazebo loads the file, but not quite as it is written.",
    fix="Correct it; gz sdf -k FILE says the same.",
)

_UNKNOWN = re.compile(r"XML (?:Element|Attribute)\[.*?not defined in SDF\.?")
# Not in the specification, but Gazebo's sensors know it.
_READ_ALL_THE_SAME = ("gz_frame_id", "ignition_frame_id")
# "A link named l has ...", "joint with name[j] ...", "vertex with name [m::j]".
_NAMED = re.compile(r"(\w+) (?:named |with name ?)\[?([^\s\]]+)")


def check_own(text: str) -> Iterator[Finding]:
    """Hold a file of this kit, as it was generated, against its table."""
    if origin_of(text) is not Origin.GENERATED:
        return
    for problem in check_sdf(text):
        message = problem.message[0].upper() + problem.message[1:] + "."
        yield UNKNOWN_ELEMENT.at(problem.line, message, severity=Severity.ERROR)


def check_strictly(text: str, root: Node) -> Iterator[Finding]:
    """Ask sdformat14, if it is here; each kind of mistake is reported once, and once per line."""
    reported: set[str | int] = set()
    for complaint in complaints(text):
        trap, message = _kind(complaint)
        if any(name in message for name in _READ_ALL_THE_SAME):
            continue
        line = complaint.line or _line_of(root, message)
        if reported.isdisjoint((message, line) if complaint.refused else (message,)):
            reported |= {message, line}
            yield trap.at(line, message)


def _kind(complaint: Complaint) -> tuple[Trap, str]:
    if complaint.refused:
        return SDFORMAT_REFUSES, complaint.message
    unknown = _UNKNOWN.match(complaint.message)
    if unknown:
        return UNKNOWN_ELEMENT, unknown.group().rstrip(".") + "."
    return SDFORMAT_WARNS, complaint.message


def _line_of(root: Node, message: str) -> int:
    """The first element that the message names; sdformat mostly gives names, not lines."""
    named = [(kind.lower(), name.rpartition("::")[2]) for kind, name in _NAMED.findall(message)]
    for kind, name in named:
        for node in root.walk():
            if node.tag == kind and node.name == name:
                return node.line
    return root.line
