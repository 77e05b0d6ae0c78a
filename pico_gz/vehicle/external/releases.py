"""Finds ArduRover programs of this machine, by release.

They come from ``PICO_GZ_ARDUROVER`` (one path, or several as in PATH), then the user's cache
(``pico-gz get``), then the PATH.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from pico_gz.errors import MissingProgramError

PROGRAM = "ardurover"
PROGRAM_VARIABLE = "PICO_GZ_ARDUROVER"
# What every release says of itself at start; it is read, not run.
_BANNER = re.compile(rb"ArduRover V(\d+\.\d+\.\d+)")
_HINT = (
    f"Set {PROGRAM_VARIABLE} to a program, fetch one with 'pico-gz get ardurover', "
    "or put ardurover on the PATH."
)


class ArduRoverProgram(msgspec.Struct, frozen=True):
    """One ArduRover: where it is, and its release, such as ``4.6.3``; empty when unknown."""

    path: Path
    release: str

    def is_release(self, wanted: str) -> bool:
        """Whether it is of this release: ``4.6`` is any 4.6.x, and an empty one is any."""
        return not wanted or f"{self.release}.".startswith(f"{wanted}.")

    @property
    def numbers(self) -> tuple[int, ...]:
        """The release as numbers, for comparisons."""
        return tuple(int(part) for part in self.release.split(".") if part)


def cache_folder() -> Path:
    """Where fetched programs are kept, a folder per release."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "pico_gz" / PROGRAM


@functools.cache
def release_of(path: Path) -> str:
    """The release that a program is of, read from its file; empty when it does not say."""
    try:
        found = _BANNER.search(path.read_bytes())
    except OSError:
        return ""
    return found[1].decode() if found else ""


def installed_programs() -> list[ArduRoverProgram]:
    """Every ArduRover here, in the order in which they are tried; each release once."""
    found: dict[str, ArduRoverProgram] = {}
    for path in _places():
        program = ArduRoverProgram(path, release_of(path))
        found.setdefault(program.release or str(path), program)
    return list(found.values())


def named_programs() -> list[ArduRoverProgram]:
    """The programs that tests run on: those of the variable, else the first one found.

    A name without a folder is looked for on the PATH; what does not exist is left out.
    """
    named = list(_named())
    if named or os.environ.get(PROGRAM_VARIABLE):
        return [ArduRoverProgram(path, release_of(path)) for path in named]
    return installed_programs()[:1]


def find_ardurover(release: str = "") -> ArduRoverProgram:
    """The first program of this release.

    Raises:
        MissingProgramError: there is none; names those that are here.
    """
    programs = installed_programs()
    for program in programs:
        if program.is_release(release):
            return program
    others = ", ".join(f"{program.release or '?'} ({program.path})" for program in programs)
    what = f"There is no ArduRover {release}".rstrip() + " here"
    raise MissingProgramError(f"{what}; found: {others}." if others else f"{what}.", hint=_HINT)


def chosen_programs(releases: Sequence[str]) -> list[ArduRoverProgram]:
    """One program for each of these releases; all named ones for none.

    Raises:
        MissingProgramError: one of them is not here.
    """
    return [find_ardurover(release) for release in releases] if releases else named_programs()


def _places() -> Iterator[Path]:
    yield from _named()
    folder = cache_folder()
    kept = [path.parent.name for path in folder.glob(f"*/{PROGRAM}")]
    kept.sort(key=lambda name: [int(n) for n in re.findall(r"\d+", name)], reverse=True)
    yield from (folder / name / PROGRAM for name in kept)
    on_path = shutil.which(PROGRAM)
    if on_path:
        yield Path(on_path)


def _named() -> Iterator[Path]:
    for text in os.environ.get(PROGRAM_VARIABLE, "").split(os.pathsep):
        path = shutil.which(text) if text else None
        if path:
            yield Path(path)
