"""Remove MAVLink dialects that are not needed; most of pymavlink's size are dialects.

Usage: python3 drop_dialects.py KEPT...
"""

import sys
from importlib.util import find_spec
from pathlib import Path


def drop(folder: Path, kept: list[str]) -> int:
    """Remove all but the kept dialects of every protocol version; returns the bytes."""
    before = _size(folder)
    for file in folder.glob("v*/*"):
        if file.is_file() and file.suffix in (".py", ".xml") and not _is_kept(file, kept):
            file.unlink()
            for compiled in file.parent.glob(f"__pycache__/{file.stem}.*.pyc"):
                compiled.unlink()
    return before - _size(folder)


def _is_kept(file: Path, kept: list[str]) -> bool:
    # The definitions (.xml) are read by no program of the image.
    return file.suffix == ".py" and file.stem in ("__init__", *kept)


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


if __name__ == "__main__":
    package = find_spec("pymavlink.dialects")
    if package is None or package.origin is None:
        sys.exit("There is no pymavlink here.")
    dropped = drop(Path(package.origin).parent, sys.argv[1:])
    sys.stdout.write(f"Removed {dropped / 1e6:.0f} MB of MAVLink dialects.\n")
