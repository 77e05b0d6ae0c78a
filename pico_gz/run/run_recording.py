"""The recording of a run: folder, MCAP file, autopilot estimates."""

from __future__ import annotations

import contextlib
import json
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pico_gz import __version__
from pico_gz.bridge.bridge import SitlBridge
from pico_gz.core.frames import LocalFrame
from pico_gz.core.ground_control import GcsVehicle
from pico_gz.errors import ConfigError
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.options import RunOptions
from pico_gz.run.recording.recorder import RunRecorder
from pico_gz.run.recording.run_folder import (
    MCAP_FILE,
    RUN_FILE,
    config_as_dict,
    read_inputs,
    unwritable,
)
from pico_gz.run.recording.topics import AutopilotSample
from pico_gz.run.result import RunResult
from pico_gz.simulator.ops import SCALAR

log = logging.getLogger(__name__)


class RunRecording:
    """Records everything that a bridge does from now on.

    Raises:
        MissingPermissionError: the file may not be created.
        ConfigError: it cannot be created.
    """

    def __init__(
        self,
        folder: RunFolder,
        bridge: SitlBridge,
        frame: LocalFrame,
        commanded: Mapping[int, GcsVehicle],
        result: Callable[[], RunResult],
    ) -> None:
        self._folder = folder
        self._bridge = bridge
        self._frame = frame
        self._commanded = commanded
        self._result = result
        # A vehicle that is taken out of the run keeps its name in the recording.
        self._names: dict[int, str] = {}
        try:
            self._recorder = RunRecorder(
                folder.path / MCAP_FILE,
                name_of=self._name_of,
                sample=self._sample,
                report=bridge.report,
                latency=bridge.stats.latency,
            )
        except OSError as exc:
            raise unwritable(folder.path, exc) from exc
        bridge.events.listen(self._recorder.note_event)
        bridge.after_step.add(self._recorder)

    def close(self) -> None:
        """Finish the file and write how the run ended."""
        self._bridge.after_step.remove(self._recorder)
        self._recorder.close()
        self._folder.finish(self._result().as_dict(), problem=self._recorder.problem)

    def _name_of(self, vehicle_id: int) -> str:
        if vehicle_id not in self._names:
            known = vehicle_id in self._bridge.list_vehicles()
            name = self._bridge.get_vehicle(vehicle_id).config.label if known else ""
            self._names[vehicle_id] = name or f"vehicle_{vehicle_id}"
        return self._names[vehicle_id]

    def _sample(self, vehicle_id: int, time_us: int) -> AutopilotSample | None:
        if vehicle_id not in self._bridge.list_vehicles():
            return None
        status = self._bridge.get_vehicle(vehicle_id).status()
        pilot = self._commanded.get(vehicle_id)
        return AutopilotSample(
            timestamp_us=time_us,
            vehicle_id=vehicle_id,
            mode=status.mode,
            armed=status.armed,
            waypoint=status.waypoint,
            message=status.last_message,
            **({} if pilot is None else self._beliefs(pilot)),
        )

    def _beliefs(self, pilot: GcsVehicle) -> dict[str, float]:
        told = pilot.telemetry()
        if not told.position_valid:
            return {"yaw_rad": told.yaw_rad}
        north_m, east_m, _ = self._frame.ned_from_geodetic(
            SCALAR, told.lat_e7 / 1e7, told.lon_e7 / 1e7, told.alt_m
        )
        return {
            "north_m": north_m,
            "east_m": east_m,
            "yaw_rad": told.yaw_rad,
            "speed_mps": told.ground_speed_mps,
            "cross_track_m": told.cross_track_m,
            "waypoint_distance_m": told.waypoint_distance_m,
        }


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
