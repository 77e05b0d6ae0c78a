"""The health check of services that only run a program.

Usage: python3 -m pico_gz.cli.tools.containers.inside.check_process PROGRAM [COUNT]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pico_gz.cli.tools.containers.inside.watch import watch

_PROCESSES = Path("/proc")
_DEAD = ("Z", "X")


def main(arguments: Sequence[str]) -> int:
    """Return 0 if as many processes of the program run as there should be."""
    program, wanted = arguments[0], int(arguments[1]) if len(arguments) > 1 else 1
    return watch(lambda: examine(program, wanted))


def examine(program: str, wanted: int, processes: Path = _PROCESSES) -> tuple[bool, str]:
    """Whether enough of them run, and one line about it."""
    found = running(program, processes)
    return found >= wanted, f"{found} running: {program}"


def running(program: str, processes: Path) -> int:
    """How many processes run whose program has this name."""
    return sum(
        _is_running(folder, program) for folder in processes.iterdir() if folder.name.isdigit()
    )


def _is_running(folder: Path, program: str) -> bool:
    try:
        words = (folder / "cmdline").read_bytes().split(b"\0")
        state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):  # it ended meanwhile
        return False
    # "gz" is a script, so its interpreter comes first; one may also rename itself with spaces.
    names = [Path(word.decode(errors="replace").partition(" ")[0]).name for word in words[:2]]
    return program in names and state not in _DEAD


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
