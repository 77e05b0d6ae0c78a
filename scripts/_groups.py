"""Print the requirements of dependency groups, for a pip that does not know ``--group``.

Usage: _groups.py PYPROJECT GROUP...
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any


def expand(groups: dict[str, list[Any]], name: str) -> list[str]:
    """The requirements of one group, with the groups that it includes."""
    found: list[str] = []
    for entry in groups[name]:
        if isinstance(entry, str):
            found.append(entry)
        else:
            found.extend(expand(groups, entry["include-group"]))
    return found


def main(arguments: list[str]) -> int:
    """Print every requirement once, in the order of the file."""
    groups = tomllib.loads(Path(arguments[0]).read_text(encoding="utf-8"))["dependency-groups"]
    unknown = [name for name in arguments[1:] if name not in groups]
    if unknown:
        sys.stderr.write(f"No dependency group {', '.join(unknown)}; known: {', '.join(groups)}\n")
        return 2
    wanted = dict.fromkeys(line for name in arguments[1:] for line in expand(groups, name))
    sys.stdout.write("".join(f"{line}\n" for line in wanted))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
