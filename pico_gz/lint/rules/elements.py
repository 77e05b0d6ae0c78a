"""Elements that SDF does not have.

Files of this kit are held against the table of what it writes. About other people's files only
``sdformat14`` itself can tell, in its strict mode, where it is installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pico_gz.lint.document import blank_out
from pico_gz.lint.finding import Finding, Severity
from pico_gz.lint.trap import Trap
from pico_gz.worldgen.check import check_sdf
from pico_gz.worldgen.stamp import Origin, origin_of

UNKNOWN_ELEMENT = Trap(
    name="unknown-element",
    severity=Severity.WARNING,
    why="Gazebo says one line about what it does not know, ignores it and runs on.",
    fix="Correct the spelling or the place, or remove it.",
)
# "Error Code 11: [/sdf/world:/path/file.sdf:L4]: Msg: what it is."
_REPORT = re.compile(r"(?::L(?P<line>\d+)\])?: Msg: (?P<message>XML (?:Element|Attribute).*?\.)")
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
    sdformat = _sdformat()
    if sdformat is None:
        return
    config = sdformat.ParserConfig()
    config.set_unrecognized_elements_policy(sdformat.EnforcementPolicy.ERR)
    config.set_warnings_policy(sdformat.EnforcementPolicy.ERR)
    try:
        # What is included is checked where it is; looking for it would only make noise.
        sdformat.Root().load_sdf_string(blank_out(text, "<include>", "</include>"), config)
    except sdformat.SDFErrorsException as error:
        told: set[str] = set()
        for report in _REPORT.finditer(str(error)):
            message = report["message"]
            if message not in told and not any(name in message for name in _READ_ALL_THE_SAME):
                told.add(message)
                yield UNKNOWN_ELEMENT.at(int(report["line"] or 1), message)


def _sdformat() -> Any:
    try:
        import sdformat14
    except ImportError:
        return None
    return sdformat14
