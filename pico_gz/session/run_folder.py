"""The folder of one recorded run: what ran, how it ended, and the files of its recorders."""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import time
from pathlib import Path
from typing import Any

from pico_gz import __version__
from pico_gz.config import FleetConfig
from pico_gz.errors import ConfigError, MissingPermissionError, PicoGzError
from pico_gz.session.options import RunOptions
from pico_gz.session.run_inputs import config_as_dict, read_inputs

log = logging.getLogger(__name__)

RUN_FILE = "run.json"
MCAP_FILE = "run.mcap"


class RunFolder:
    """Makes a new folder below ``parent`` and keeps ``run.json`` in it up to date.

    Raises:
        MissingPermissionError: the folder may not be made.
        ConfigError: it cannot be made.
    """

    def __init__(self, parent: Path, fleet: FleetConfig, options: RunOptions | None = None) -> None:
        options = options or RunOptions()
        self.path = _new_folder(parent, fleet.name)
        self._facts: dict[str, Any] = {
            "version": __version__,
            "fleet": fleet.name,
            "fleet_file": str(fleet.source) if fleet.source else None,
            "fleet_text": fleet.source.read_text() if fleet.source else None,
            "seed": fleet.seed,
            "config": config_as_dict(fleet),
            "inputs": read_inputs(fleet, options.run_folder),
            "options": {
                "demo": options.demo,
                "rc": options.rc,
                "contacts": options.contacts,
            },
            "vehicles": {str(plan.id): plan.config.label for plan in fleet.vehicles},
            "result": None,
        }
        self._write()

    def finish(self, result: dict[str, Any], *, problem: str = "") -> None:
        """Add how the run ended, and why its recording ended before it."""
        self._facts["result"] = result
        if problem:
            self._facts["recording_problem"] = problem
        self._write()

    def _write(self) -> None:
        """Write whole or not at all; a full disk costs the recording, not the run."""
        path = self.path / RUN_FILE
        draft = path.with_suffix(".tmp")
        try:
            draft.write_text(json.dumps(self._facts, indent=1, allow_nan=False) + "\n")
            draft.replace(path)
        except OSError as exc:
            log.warning("%s cannot be written: %s", path, exc.strerror)
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)


def unwritable(path: Path, error: OSError) -> PicoGzError:
    """What to raise about a recording that cannot be written."""
    missing = isinstance(error, PermissionError) or error.errno == errno.EROFS
    return (MissingPermissionError if missing else ConfigError)(
        f"The recording {path} cannot be made: {error.strerror}.",
        hint="Give --record a folder that you may write to.",
    )


def _new_folder(parent: Path, name: str) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for number in range(1, 1000):
        path = parent / (f"{name}-{stamp}" + (f"-{number}" if number > 1 else ""))
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            if parent.exists() and not parent.is_dir():
                break
        except OSError as exc:
            raise unwritable(path, exc) from exc
        else:
            return path
    raise ConfigError(f"{parent} is no folder for recordings.")
