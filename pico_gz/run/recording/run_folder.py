"""The folder of a recorded run and its inputs."""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import shutil
import time
from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec

from pico_gz import __version__
from pico_gz.core import compiled_modules
from pico_gz.errors import ConfigError, MissingPermissionError, PicoGzError
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.config.settings import TerrainKind
from pico_gz.simulator.native_build import describe
from pico_gz.simulator.terrain import HeightmapTerrain

RUN_FILE = "run.json"
MCAP_FILE = "run.mcap"
HEIGHTMAP = "fleet/heightmap"  # keys of inputs that belong to no vehicle
RC_SCRIPT = "fleet/rc"
_FLOAT = "float:"
_MAX_INPUT_BYTES = 5_000_000

log = logging.getLogger(__name__)


def config_as_dict(fleet: FleetConfig) -> dict[str, Any]:
    """A fleet as plain values, for JSON."""
    plain: dict[str, Any] = _each_value(msgspec.to_builtins(fleet, enc_hook=str), _without_infinity)
    return plain


def config_from_dict(plain: Mapping[str, Any]) -> FleetConfig:
    """The fleet that ``config_as_dict`` was given.

    Raises:
        ConfigError: it is of another version.
    """
    known: dict[str, Any] = _each_value(plain, _with_infinity)
    figures = known.get("sensor_noise")
    if isinstance(figures, dict):
        known = _with_figures(known, figures)
    try:
        return msgspec.convert(known, FleetConfig, dec_hook=_path, str_keys=True)
    except msgspec.ValidationError as exc:
        raise ConfigError(f"The recorded fleet is of another version: {exc}.") from exc


def _with_figures(plain: dict[str, Any], figures: dict[str, Any]) -> dict[str, Any]:
    """Move sensor figures, which 0.1 kept for the fleet as a whole, to every rover."""

    def described(owner: Any) -> Any:
        rover = owner.get("rover") if isinstance(owner, dict) else None
        return {**owner, "rover": {**rover, **figures}} if isinstance(rover, dict) else owner

    vehicles = plain.get("vehicles")
    if isinstance(vehicles, list):
        plain = {**plain, "vehicles": [described(vehicle) for vehicle in vehicles]}
    fleet: dict[str, Any] = described(plain)
    return fleet


def kept_params(fleet: FleetConfig, run_folder: Path) -> dict[int, Path]:
    """The files that keep parameters set from the ground, by vehicle; none if none are kept."""
    if not fleet.keep_params:
        return {}
    return {
        plan.id: run_folder / fleet.name / f"{plan.config.label}.parm"
        for plan in fleet.vehicles
        if plan.config.autopilot == "builtin"
    }


def read_inputs(fleet: FleetConfig, run_folder: Path, rc: str = "none") -> dict[str, str]:
    """The texts of the files that a run starts with, by ``VEHICLE ID/KIND``.

    Kinds are ``mission``, ``params`` and ``kept`` (parameters set from the ground in an earlier
    run, if the fleet keeps them); ``fleet/heightmap`` and ``fleet/rc`` belong to all vehicles.
    A file that cannot be read is left out; the run itself says so. So is a large heightmap.
    """
    found = {}
    if fleet.terrain.kind is TerrainKind.HEIGHTMAP and fleet.terrain.file is not None:
        heights = _heights_as_csv(Path(fleet.terrain.file))
        if heights is not None:
            found[HEIGHTMAP] = heights
    if rc.startswith("script:"):
        with contextlib.suppress(OSError):
            found[RC_SCRIPT] = Path(rc.removeprefix("script:")).read_text(errors="replace")
    kept = kept_params(fleet, run_folder)
    for plan in fleet.vehicles:
        files = {"mission": plan.mission, "params": plan.params, "kept": kept.get(plan.id)}
        for kind, path in files.items():
            if path is not None and path.is_file():
                found[f"{plan.id}/{kind}"] = path.read_text(errors="replace")
    return found


def write_input(path: Path, text: str) -> Path:
    """Write a recorded file, so that a run can start with it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="replace")
    return path


def _heights_as_csv(file: Path) -> str | None:
    """Every height with all of its bits; ``None``: too many of them, or none."""
    try:
        heights = HeightmapTerrain.read(file).tolist()
        text = "\n".join(",".join(map(repr, row)) for row in heights) + "\n"
    except (ConfigError, TypeError):
        return None
    return text if len(text) <= _MAX_INPUT_BYTES else None


def _each_value(tree: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(tree, Mapping):
        return {key: _each_value(value, change) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [_each_value(value, change) for value in tree]
    return change(tree)


def _without_infinity(value: Any) -> Any:
    """JSON has no infinity, and some rovers have no limit."""
    return f"{_FLOAT}{value}" if isinstance(value, float) and not isfinite(value) else value


def _with_infinity(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_FLOAT):
        return float(value.removeprefix(_FLOAT))
    return value


def _path(kind: type, value: Any) -> Any:
    if kind is Path:
        return Path(value)
    raise NotImplementedError(kind)


def unwritable(path: Path, error: OSError) -> PicoGzError:
    """What to raise about a recording that cannot be written."""
    missing = isinstance(error, PermissionError) or error.errno == errno.EROFS
    return (MissingPermissionError if missing else ConfigError)(
        f"The recording {path} cannot be made: {error.strerror}.",
        hint="Give --record a folder that you may write to.",
    )


class RunFolder:
    """Makes a new folder below ``parent`` and keeps ``run.json`` in it up to date.

    Raises:
        MissingPermissionError: the folder may not be made.
        ConfigError: it cannot be made.
    """

    def __init__(
        self,
        parent: Path,
        fleet: FleetConfig,
        *,
        input_folder: Path = Path("runs"),
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Make the folder.

        Args:
            parent: where it goes.
            fleet: what runs.
            input_folder: where parameters of earlier runs are kept.
            options: what else a repetition of the run has to know.
        """
        self.path = _new_folder(parent, fleet.name)
        self._facts: dict[str, Any] = {
            "version": __version__,
            "simulator_core": describe(),
            "modules": compiled_modules.describe(),
            "fleet": fleet.name,
            "fleet_file": str(fleet.source) if fleet.source else None,
            "fleet_text": fleet.source.read_text() if fleet.source else None,
            "seed": fleet.seed,
            "config": config_as_dict(fleet),
            "inputs": read_inputs(fleet, input_folder, str((options or {}).get("rc", "none"))),
            "kept_params": {str(i): str(p) for i, p in kept_params(fleet, input_folder).items()},
            "options": dict(options or {}),
            "vehicles": {str(plan.id): plan.config.label for plan in fleet.vehicles},
            "result": None,
        }
        self._write()

    def finish(self, result: dict[str, Any], *, problem: str | None = None) -> None:
        """Add how the run ended, and why its recording ended before it."""
        self._facts["result"] = result
        if problem:
            self._facts["recording_problem"] = problem
        self._write()

    def discard(self) -> None:
        """Remove the folder of a run that never began."""
        shutil.rmtree(self.path, ignore_errors=True)

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
