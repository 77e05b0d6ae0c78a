"""The folder that images are built from: a checkout, or one made out of an installation."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import pico_gz
from pico_gz.resources import resource_path

DISTRIBUTION = "pico-gz"
COMPOSE_FILE = "compose.yaml"
_EXTRAS = ("web", "mcap")


def build_context() -> Path:
    """A folder with ``compose.yaml`` and everything that its images need.

    An installed wheel holds the package, the data and its own metadata, which is enough to make
    the same images: they are put together once per version in the user's cache.
    """
    compose_file = resource_path(COMPOSE_FILE)
    if (compose_file.parent / "pyproject.toml").is_file():
        return compose_file.parent
    package = Path(pico_gz.__file__).resolve().parent
    folder = _cache() / f"context-{pico_gz.__version__}-{_short(str(package))}"
    draft = Path(tempfile.mkdtemp(prefix="context-", dir=_cache()))
    assemble(draft, package, metadata.requires(DISTRIBUTION) or ())
    # The installation may have changed under the same version, so the newest always wins.
    shutil.rmtree(folder, ignore_errors=True)
    draft.rename(folder)
    return folder


def assemble(folder: Path, package: Path, requirements: Sequence[str]) -> None:
    """Make a small project around an installed package.

    Args:
        folder: where to make it.
        package: the installed package, with its data.
        requirements: of the distribution, as its metadata has them.
    """
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package, folder / "pico_gz", ignore=ignored)
    for name in ("docker", "worlds"):
        shutil.copytree(package / "data" / name, folder / name, ignore=ignored)
    shutil.copy(package / "data" / COMPOSE_FILE, folder / COMPOSE_FILE)
    (folder / "pyproject.toml").write_text(_project_file(requirements), encoding="utf-8")


def _project_file(requirements: Sequence[str]) -> str:
    """A project file that builds the copied package with the same requirements."""
    always = [line for line in requirements if ";" not in line]
    extras = {extra: _of_extra(requirements, extra) for extra in _EXTRAS}
    return "\n".join(
        [
            "[build-system]",
            'requires = ["hatchling>=1.25"]',
            'build-backend = "hatchling.build"',
            "[project]",
            f'name = "{DISTRIBUTION}"',
            f'version = "{pico_gz.__version__}"',
            f"dependencies = {_toml(always)}",
            "[project.scripts]",
            'pico-gz = "pico_gz.cli.app:main"',
            "[project.optional-dependencies]",
            *(f"{extra} = {_toml(lines)}" for extra, lines in extras.items()),
            "[tool.hatch.build.targets.wheel]",
            'packages = ["pico_gz"]',
            "",
        ]
    )


def _of_extra(requirements: Sequence[str], extra: str) -> list[str]:
    found = []
    for line in requirements:
        requirement, _, marker = line.partition(";")
        if marker.replace('"', "'").replace(" ", "") == f"extra=='{extra}'":
            found.append(requirement.strip())
    return found


def _toml(lines: Sequence[str]) -> str:
    return "[" + ", ".join(f"'{line}'" for line in lines) + "]"


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(base) if base else Path.home() / ".cache") / "pico_gz"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
