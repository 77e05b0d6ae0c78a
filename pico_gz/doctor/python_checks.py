"""Python, the kit and its dependencies."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata

from pico_gz import __version__
from pico_gz.doctor.finding import Finding, Need, State

MIN_PYTHON = (3, 11)
EXTRAS = {"web": "the browser view", "plots": "plots", "mcap": "compressed recordings"}
# A checkout is not installed, so that its own list of dependencies cannot be asked.
CORE = ("numpy", "pymavlink", "jinja2", "docker", "msgspec", "pydantic", "typer", "rich")
EXTRA_PACKAGES = {
    "web": ("starlette", "uvicorn", "websockets"),
    "plots": ("matplotlib",),
    "mcap": ("mcap",),
}


def check_python() -> list[Finding]:
    """The interpreter and the machine."""
    version = platform.python_version()
    good = sys.version_info >= MIN_PYTHON
    wanted = ".".join(map(str, MIN_PYTHON))
    system = f"{platform.system()} {platform.release()}, {platform.machine()}"
    return [
        Finding(
            name="Python",
            state=State.FOUND if good else State.MISSING,
            need=Need.LIGHTWEIGHT,
            version=version,
            detail=sys.executable,
            remedy="" if good else f"Python {wanted} or newer is needed.",
        ),
        Finding(name="pico-gz", state=State.FOUND, need=Need.LIGHTWEIGHT, version=__version__),
        Finding(
            name="system", state=State.FOUND, version=system, detail=f"{os.cpu_count()} processors"
        ),
    ]


def check_packages() -> list[Finding]:
    """The packages that the kit needs, and its extras."""
    core = _found_versions(CORE)
    missing = [name for name in CORE if name not in core]
    findings = [
        Finding(
            name="dependencies",
            state=State.MISSING if missing else State.FOUND,
            need=Need.LIGHTWEIGHT,
            version=_listed(core),
            detail=f"missing: {', '.join(missing)}" if missing else "",
            remedy="pip install --force-reinstall pico-gz" if missing else "",
        )
    ]
    return findings + [_check_extra(extra, purpose) for extra, purpose in EXTRAS.items()]


def _check_extra(extra: str, purpose: str) -> Finding:
    packages = EXTRA_PACKAGES[extra]
    found = _found_versions(packages)
    complete = len(found) == len(packages)
    return Finding(
        name=f"extra {extra}",
        state=State.FOUND if complete else State.MISSING,
        version=_listed(found),
        detail=f"for {purpose}",
        remedy="" if complete else f"pip install 'pico-gz[{extra}]'",
    )


def _found_versions(names: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _listed(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())
