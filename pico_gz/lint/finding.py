"""What lint has to say about a place in a file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad it is."""

    ERROR = "error"  # it does not work, or something else happens than is written
    WARNING = "warning"  # it works by luck, or not as well as it could
    NOTE = "note"  # good to know


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding.

    Attributes:
        line: in the file, from 1.
        severity: how bad it is.
        rule: short name of the rule, to look it up.
        message: what is there.
        why: what follows from it.
        fix: what to write instead.
    """

    line: int
    severity: Severity
    rule: str
    message: str
    why: str
    fix: str
