"""One thing that was looked for."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class State(StrEnum):
    """How it is."""

    FOUND = "found"
    MISSING = "missing"
    TROUBLE = "trouble"  # it is there, but something should be known about it


class Need(StrEnum):
    """What it is needed for."""

    LIGHTWEIGHT = "lightweight"
    GAZEBO = "gazebo"
    DOCKER = "docker"
    OPTIONAL = "optional"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the doctor's report.

    Attributes:
        name: what was looked for.
        state: how it is.
        need: what it is needed for.
        version: of what was found; part of bug reports, so never a path or a name of somebody.
        detail: where it is or what is wrong, for people at this machine.
        remedy: how to get it, or what to do about it.
    """

    name: str
    state: State
    need: Need = Need.OPTIONAL
    version: str = ""
    detail: str = ""
    remedy: str = ""
