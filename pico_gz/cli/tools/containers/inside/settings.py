"""The environment of a service, and how it starts."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TextIO

from pico_gz.errors import ConfigError, PicoGzError

# Where the Compose files mount things.
FLEET_FILE = Path("/fleet/fleet.toml")
FLEET_FOLDER = Path("/fleet_dir")
RUNS_FOLDER = Path("/runs")
# Holds the token of the browser view, for pico-gz status; gone with the container's start.
VIEW_FILE = Path("/tmp/pico_gz_view.json")

# The fleet file of a stack without FLEET.
DEFAULT_FLEET = "worlds/default.toml"

# Instead of an adapter: every vehicle has the one that the fleet file says.
AS_WRITTEN = "as_written"

_ON = ("1", "true", "yes", "on")
_OFF = ("0", "false", "no", "off")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """What the user of a stack chose; empty text in the environment is "not chosen".

    Attributes:
        fleet_file: inside the container.
        rovers: number of rovers instead of the file's.
        autopilot: of every vehicle, instead of the file's.
        seed: instead of the file's.
        speed: instead of the file's.
        gcs: ``shared`` or ``per_vehicle``.
        record: keep a recording of the run.
        dashboard: show the run to browsers.
    """

    fleet_file: Path = FLEET_FILE
    rovers: int | None = None
    autopilot: str | None = None
    seed: int | None = None
    speed: str | None = None
    gcs: str = "shared"
    record: bool = False
    dashboard: bool = True

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> ServiceSettings:
        """Read ``FLEET, FLEET_DIR, ROVERS, AUTOPILOT, SEED, SPEED, GCS, RECORD, DASHBOARD``.

        Raises:
            ConfigError: a number is none, or a switch neither on nor off.
        """
        return cls(
            fleet_file=_fleet_file(environ),
            rovers=_number(environ, "ROVERS"),
            autopilot=environ.get("AUTOPILOT") or None,
            seed=_number(environ, "SEED"),
            speed=environ.get("SPEED") or None,
            gcs=environ.get("GCS") or "shared",
            record=_switch(environ, "RECORD", default=False),
            dashboard=_switch(environ, "DASHBOARD", default=True),
        )

    def run_arguments(self, adapter: str) -> list[str]:
        """The arguments of ``pico-gz run``; ``as_written`` leaves the file's adapters alone."""
        words = [str(self.fleet_file), "--duration", "0", "--gcs", self.gcs]
        options = {
            "--adapter": None if adapter == AS_WRITTEN else adapter,
            "--rovers": self.rovers,
            "--autopilot": self.autopilot,
            "--seed": self.seed,
            "--speed": self.speed,
            "--record": RUNS_FOLDER if self.record else None,
        }
        for option, value in options.items():
            if value is not None:
                words += [option, str(value)]
        return [*words, "--dashboard"] if self.dashboard else words


def _fleet_file(environ: Mapping[str, str]) -> Path:
    """The single file, or with ``FLEET_DIR`` the file in its folder, so that it sees others."""
    if not environ.get("FLEET_DIR"):
        return FLEET_FILE
    return FLEET_FOLDER / PurePosixPath(environ.get("FLEET") or FLEET_FILE).name


def _number(environ: Mapping[str, str], name: str) -> int | None:
    text = environ.get(name, "")
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise ConfigError(f"{name}={text} is no whole number.") from None


def _switch(environ: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = environ.get(name, "").lower()
    if not text:
        return default
    if text not in (*_ON, *_OFF):
        raise ConfigError(f"{name}={text} is neither on nor off.")
    return text in _ON


def require_fleet(settings: ServiceSettings) -> None:
    """Find out that the fleet file cannot be read, with the remedy that its owner has.

    Raises:
        ConfigError: it is closed to the user of this container.
    """
    if not os.access(settings.fleet_file, os.R_OK):
        raise ConfigError(
            f"The fleet file {settings.fleet_file} is closed to user {os.getuid()}, "
            "who runs in this container.",
            hint="chmod o+r the file and o+rx its folder, or PICO_GZ_USER=$(id -u):$(id -g)",
        )


def require_runs(folder: Path = RUNS_FOLDER) -> None:
    """Find out that nothing can be written before anything else starts.

    Raises:
        ConfigError: the folder is not here, or belongs to another user.
    """
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(
            f"User {os.getuid()} of this container may not write to {folder}.",
            hint="RUNS must name a folder of PICO_GZ_USER, made before the start: "
            "mkdir runs, then RUNS=./runs PICO_GZ_USER=$(id -u):$(id -g)",
        )


BAD_SETTINGS = 2


def run_service(main: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> int:
    """Run a service and return its exit code; its errors have the names outside."""
    with contextlib.redirect_stderr(OutsideNames(sys.stderr, outside_names(os.environ))):
        try:
            return main(arguments)
        except PicoGzError as error:
            hint = f"\n{error.hint}" if error.hint else ""
            sys.stderr.write(f"Error: {error.message}{hint}\n")
            return BAD_SETTINGS


def outside_names(environ: Mapping[str, str]) -> dict[str, str]:
    """What this container calls things -> what the user of Compose calls them."""
    folder = environ.get("FLEET_DIR", "")
    # A written Compose file names the folder as it is inside; its files need none.
    folder = "" if folder == str(FLEET_FOLDER) else f"{folder.rstrip('/')}/"
    return {
        str(_fleet_file(environ)): environ.get("FLEET") or DEFAULT_FLEET,
        f"{FLEET_FOLDER}/": folder,
        "[net] gcs_host": "GCS_HOST",
        "PICO_GZ_GCS_HOST": "GCS_HOST",
        "PICO_GZ_GCS_PORT": "GCS_PORT",
        "PICO_GZ_DASHBOARD_TOKEN": "DASHBOARD_TOKEN",
        "PICO_GZ_DASHBOARD": "DASHBOARD_PORT",
        **{f"--{name.lower()}": name for name in ("AUTOPILOT", "GCS", "ROVERS", "SEED", "SPEED")},
    }


class OutsideNames(io.TextIOBase):
    """A stream that writes some words as other ones."""

    def __init__(self, stream: TextIO, names: Mapping[str, str]) -> None:
        self._stream = stream
        self._names = names

    def write(self, text: str) -> int:
        for inside, outside in self._names.items():
            text = text.replace(inside, outside)
        return self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()
