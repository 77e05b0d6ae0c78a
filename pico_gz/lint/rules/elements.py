"""Elements that SDF does not have, and files that Gazebo refuses.

Files of this kit are held against the table of what it writes. About other people's files, and
those of this kit that people edited, only ``sdformat14`` itself can tell, where it is installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pico_gz.lint.document import Node
from pico_gz.lint.finding import Finding, Severity
from pico_gz.lint.sdformat import Complaint, complaints
from pico_gz.lint.trap import Trap
from pico_gz.worldgen.check import check_sdf
from pico_gz.worldgen.stamp import Origin, origin_of

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
    """Ask sdformat14, if it is here; each kind of mistake is told once, and once per line."""
    told: set[str | int] = set()
    for complaint in complaints(text):
        trap, message = _kind(complaint)
        if any(name in message for name in _READ_ALL_THE_SAME):
            continue
        line = complaint.line or _line_of(root, message)
        if told.isdisjoint((message, line) if complaint.refused else (message,)):
            told |= {message, line}
            yield trap.at(line, message)


def _kind(complaint: Complaint) -> tuple[Trap, str]:
    if complaint.refused:
        return SDFORMAT_REFUSES, complaint.message
    unknown = _UNKNOWN.match(complaint.message)
    if unknown:
        return UNKNOWN_ELEMENT, unknown.group().rstrip(".") + "."
    return SDFORMAT_WARNS, complaint.message


def _line_of(root: Node, message: str) -> int:
    """The first element that the message names; sdformat mostly tells names, not lines."""
    named = [(kind.lower(), name.rpartition("::")[2]) for kind, name in _NAMED.findall(message)]
    for kind, name in named:
        for node in root.walk():
            if node.tag == kind and node.name == name:
                return node.line
    return root.line
