"""A mistake that many make: its name, how bad it is, what follows and how to avoid it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pico_gz.lint.finding import Finding, Severity
from pico_gz.lint.scene import Scene

Rule = Callable[[Scene], Iterator[Finding]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    """The fixed part of a finding."""

    name: str
    severity: Severity
    why: str
    fix: str

    def at(self, line: int, message: str, *, severity: Severity | None = None) -> Finding:
        """The trap, sprung at a line; ``severity`` when it is milder there."""
        return Finding(
            line=line,
            severity=severity or self.severity,
            rule=self.name,
            message=message,
            why=self.why,
            fix=self.fix,
        )
