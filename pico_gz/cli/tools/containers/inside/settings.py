"""The environment of a service, and how it starts."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pico_gz.errors import ConfigError, PicoGzError

# Where the Compose files mount things.
FLEET_FILE = Path("/fleet/fleet.toml")
FLEET_FOLDER = Path("/fleet_dir")
RUNS_FOLDER = Path("/runs")

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
    """Run a service and return its exit code."""
    try:
        return main(arguments)
    except PicoGzError as error:
        hint = f"\n{error.hint}" if error.hint else ""
        sys.stderr.write(f"Error: {error.message}{hint}\n")
        return BAD_SETTINGS
