"""Elements that SDF does not have.

Files of this kit are held against the table of what it writes. About other people's files only
``sdformat14`` itself can tell, in its strict mode, where it is installed.
"""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from collections.abc import Iterator

from pico_gz.gz_bindings import SDF_MODULE, find_bindings
from pico_gz.lint import strict_reader
from pico_gz.lint.document import blank_out
from pico_gz.lint.finding import Finding, Severity
from pico_gz.lint.trap import Trap
from pico_gz.worldgen.check import check_sdf
from pico_gz.worldgen.stamp import Origin, origin_of

log = logging.getLogger(__name__)

UNKNOWN_ELEMENT = Trap(
    name="unknown-element",
    severity=Severity.WARNING,
    why="Gazebo says one line about what it does not know, ignores it and runs on.",
    fix="Correct the spelling or the place, or remove it.",
)
# "Error Code 11: [/sdf/world:/path/file.sdf:L4]: Msg: what it is."
_REPORT = re.compile(r"(?::L(?P<line>\d+)\])?: Msg: (?P<message>XML (?:Element|Attribute).*?\.)")
_READER_S = 20.0
# Not in the specification, but Gazebo's sensors know it.
_READ_ALL_THE_SAME = ("gz_frame_id", "ignition_frame_id")


def check_own(text: str) -> Iterator[Finding]:
    """Hold a file of this kit against its table."""
    if origin_of(text) is Origin.FOREIGN:
        return
    for problem in check_sdf(text):
        message = problem.message[0].upper() + problem.message[1:] + "."
        yield UNKNOWN_ELEMENT.at(problem.line, message, severity=Severity.ERROR)


def check_strictly(text: str) -> Iterator[Finding]:
    """Ask sdformat14, if it is here; each kind of mistake is told once."""
    # What is included is checked where it is; looking for it would only make noise.
    told: set[str] = set()
    for report in _REPORT.finditer(strict_report(blank_out(text, "<include>", "</include>"))):
        message = report["message"]
        if message not in told and not any(name in message for name in _READ_ALL_THE_SAME):
            told.add(message)
            yield UNKNOWN_ELEMENT.at(int(report["line"] or 1), message)


def strict_report(text: str) -> str:
    """What sdformat14 says of a file; empty when it has no complaint, or is not here."""
    python = find_bindings(SDF_MODULE)
    if not python or python == sys.executable:
        return strict_reader.report(text) if python else ""
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
        return ""
    if done.returncode:
        log.warning("sdformat was not asked: %s", done.stderr.strip().rpartition("\n")[2])
    return done.stdout
