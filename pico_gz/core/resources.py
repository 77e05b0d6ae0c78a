"""Finds the data that ships with the kit: models, worlds, container files.

In a source checkout they lie beside the package, in an installed wheel inside it
(``pyproject.toml`` says how they get there).
"""

from __future__ import annotations

from pathlib import Path

from pico_gz.errors import MissingProgramError

_PACKAGE = Path(__file__).resolve().parents[1]


def resource_path(name: str) -> Path:
    """The place of ``models``, ``worlds``, ``docker``, or of a file in them.

    Raises:
        MissingProgramError: it is in neither place; the installation is incomplete.
    """
    for root in _roots():
        path = root / name
        if path.exists():
            return path
    raise MissingProgramError(
        f"{name!r} is missing from this installation of pico-gz.",
        hint="Install pico-gz again, from its clone or wheel.",
    )


def _roots() -> list[Path]:
    roots = [_PACKAGE / "data"]
    checkout = _PACKAGE.parent
    # Beside an installed package lie other people's packages, so look for our project file.
    if (checkout / "pyproject.toml").is_file():
        roots.insert(0, checkout)
    return roots
