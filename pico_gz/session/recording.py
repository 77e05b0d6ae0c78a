"""The recording of a run: its folder, its MCAP file and what autopilots believe."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pico_gz.autopilot.api import GroundControlled
from pico_gz.bridge.bridge import SitlBridge
from pico_gz.local_frame import LocalFrame
from pico_gz.recording.recorder import RunRecorder
from pico_gz.recording.topics import AutopilotSample
from pico_gz.session.result import RunResult
from pico_gz.session.run_folder import MCAP_FILE, RunFolder, unwritable
from pico_gz.simulator.ops import SCALAR


class SessionRecording:
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
        commanded: Mapping[int, GroundControlled],
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

    def _beliefs(self, pilot: GroundControlled) -> dict[str, float]:
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
