"""Print what a project and some of its extras need, one requirement per line.

Usage: python3 requirements.py pyproject.toml [EXTRA...]
       python3 requirements.py pyproject.toml build-system     # only what builds it
"""

import sys
import tomllib
from pathlib import Path

BUILD_SYSTEM = "build-system"


def requirements(text: str, extras: list[str]) -> list[str]:
    """Read the dependencies out of the text of a ``pyproject.toml``."""
    content = tomllib.loads(text)
    if extras == [BUILD_SYSTEM]:
        return list(content[BUILD_SYSTEM]["requires"])
    project = content["project"]
    optional = project.get("optional-dependencies", {})
    return [*project["dependencies"], *(line for extra in extras for line in optional[extra])]


if __name__ == "__main__":
    path, *wanted = sys.argv[1:]
    sys.stdout.write("\n".join(requirements(Path(path).read_text(), wanted)) + "\n")
