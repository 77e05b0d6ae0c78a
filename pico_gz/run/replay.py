"""Plays a recording through the bridge as if it were a run.

Whatever can watch a run can watch a replay: it has a bridge with a view, pause, single
steps and speed, and a command more, ``seek``. The events of the run are not reported again by
the bridge: a view gets them from the handle, up to the time shown.
"""

from __future__ import annotations

import dataclasses
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from pico_gz.adapters.contract import SimulatorAdapter
from pico_gz.bridge import fleet_snapshot
from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.clock import Scaled
from pico_gz.bridge.published import FleetView
from pico_gz.core.autopilot import AutopilotStatus
from pico_gz.core.frames import LocalFrame
from pico_gz.core.ground_control import MissionItem
from pico_gz.core.messages import (
    ActuatorCommands,
    SensorCapabilities,
    SensorData,
    SimulatorCapabilities,
    VehicleTruth,
)
from pico_gz.core.vehicle_config import VehicleConfig
from pico_gz.errors import ConfigError
from pico_gz.run.commands import control_commands
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.control_socket import Command
from pico_gz.run.recording.recorded_run import RecordedAutopilots, RecordedRun, read_tracks
from pico_gz.run.recording.run_folder import config_from_dict, restore_inputs
from pico_gz.run.recording.topics import AutopilotSample
from pico_gz.run.simulators import local_frame
from pico_gz.run.vehicle_setup import BUILT_IN, demo_square
from pico_gz.run.view_access import RunHandle
from pico_gz.vehicle.autopilot.mission_files import read_item_lists


class ReplayAdapter(SimulatorAdapter):
    """Moves through a recording with the fleet's clock; its state is the time it stands at.

    Attributes:
        view: the recorded step that is shown.
    """

    adapter_type: ClassVar[str] = "replay"
    bounded_step: ClassVar[bool] = True

    def __init__(self, run: RecordedRun, name: str | None = None) -> None:
        super().__init__(name)
        self._run = run
        self._time_us = 0
        self.view = FleetView()

    def sim_time_us(self) -> int:
        return self._time_us

    def capabilities(self) -> SimulatorCapabilities:
        """What was recorded may be anything."""
        sensors = SensorCapabilities(imu=True, gps=True, compass=True, barometer=True)
        return SimulatorCapabilities(sensors=sensors, multi_vehicle=True, terrain=True, wind=True)

    def receive_truth(self) -> dict[int, VehicleTruth]:
        return {i: truth for i, truth in self.view.truth.items() if i in self._vehicles}

    def save_state(self) -> dict[str, Any]:
        return {"time_us": self._time_us}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Show another time."""
        self._time_us = int(state["time_us"])
        self._mailbox.clear()
        self._show()

    def _connect(self) -> None:
        self._show()

    def _disconnect(self) -> None:
        return

    def _add_vehicle(self, config: VehicleConfig) -> None:
        return

    def _remove_vehicle(self, vehicle_id: int) -> None:
        return

    def _send_actuators(self, commands: Mapping[int, ActuatorCommands]) -> None:
        return

    def _step(self, dt_us: int) -> Mapping[int, SensorData]:
        self._time_us += dt_us
        self._show()
        return {i: record for i, record in self.view.sensors.items() if i in self._vehicles}

    def _show(self) -> None:
        self.view = self._run.at(self._time_us)


# (mission, fence)
Items = tuple[Sequence[MissionItem], Sequence[MissionItem]]


def recorded_items(fleet: FleetConfig, facts: Mapping[str, Any]) -> dict[int, Items]:
    """Vehicle id -> its mission and fence, by what ``run.json`` keeps of the run's inputs.

    What a ground station sent later is not in there. A file that is not understood any more is
    left out: the rest of the recording can still be shown.
    """
    inputs = facts.get("inputs") or {}
    demo = bool((facts.get("options") or {}).get("demo"))
    frame = local_frame(fleet)
    found: dict[int, Items] = {}
    with tempfile.TemporaryDirectory() as folder:
        for plan in restore_inputs(fleet, inputs, Path(folder)).vehicles:
            if plan.config.autopilot != BUILT_IN:
                continue
            if plan.mission is None:
                if demo:
                    found[plan.id] = demo_square(plan.config.pose, frame), ()
            elif f"{plan.id}/mission" in inputs:
                try:
                    lists = read_item_lists(plan.mission)
                except ConfigError:
                    continue
                found[plan.id] = lists.mission, lists.fence
    return found


# What can be done to a replay; the rest of ``control_commands`` would change the past.
_ALLOWED = ("pause", "resume", "toggle", "step", "speed", "status")


class Replay:
    """A recording that plays. Use it in a ``with`` block and call ``play``.

    Attributes:
        run: the recording.
        bridge: what shows it.
        fleet: what ran.
        start_us: and ``end_us``: the recorded span of simulation time [us].
    """

    def __init__(self, folder: str | Path, *, speed: float = 1.0) -> None:
        self.run = RecordedRun(folder)
        self.fleet = _on_usual_ports(config_from_dict(self.run.facts.get("config") or {}))
        # Its events may begin before the first step.
        self.start_us, self.end_us = self.run.at(0).time_us, self.run.end_us
        self.bridge = SitlBridge(Scaled(speed, self.fleet.time.step_us))
        self._adapter = ReplayAdapter(self.run)
        self.bridge.register_adapter(self._adapter)
        self._tracks = read_tracks(self.run)
        self._pilots: dict[int, _RecordedAutopilot] = {}
        samples = _by_vehicle(self.run.samples())
        for plan in self.fleet.vehicles:
            config = msgspec.structs.replace(plan.config, adapter=self._adapter.name)
            pilot = _RecordedAutopilot(samples.get(plan.id, []), self._adapter.sim_time_us)
            self._pilots[plan.id] = pilot
            self.bridge.spawn_vehicle(config, pilot, drive=plan.rover.drive)
        ids = tuple(self.bridge.list_vehicles())
        self.bridge.add_autopilots(RecordedAutopilots(ids, lambda: self._adapter.view))
        self._events = sorted(self.run.events(), key=lambda event: event.time_us)
        self.bridge.after_step.add(self._hold_at_end)

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it; harmless when called twice."""
        self.bridge.close()
        self.run.close()

    @property
    def frame(self) -> LocalFrame:
        """The fleet's geodetic origin."""
        return local_frame(self.fleet)

    @property
    def commands(self) -> dict[str, Command]:
        """What a view may ask for: play, pause, steps, speed, and ``seek`` with ``time_s``."""
        known = control_commands(self.bridge, _refuse)
        return {**{name: known[name] for name in _ALLOWED}, "seek": self._seek_asked}

    def handle(self) -> RunHandle:
        """The replay as the browser view sees a run; no vehicle can be commanded."""
        return RunHandle(
            fleet=self.fleet,
            bridge=self.bridge,
            frame=self.frame,
            pilots={},
            commands=self.commands,
            failures=dict,
            timeline_s=(self.start_us / 1e6, self.end_us / 1e6),
            tracks=self._tracks,
            recorded_events=self._events,
            recorded_items=recorded_items(self.fleet, self.run.facts),
            sample_of=lambda vehicle_id: self._pilots[vehicle_id].sample(),
        )

    def play(self, until: Callable[[FleetView], bool] | None = None) -> None:
        """Play until stopped; at the end of the recording time is held."""
        self.bridge.run(until=until)

    def seek(self, time_us: int) -> None:
        """Show another time, within the recorded span; any thread."""
        time_us = max(self.start_us, min(self.end_us, time_us))
        time_us -= time_us % self.fleet.time.step_us
        state = {self._adapter.name: {"time_us": time_us}}
        self.bridge.restore(fleet_snapshot.of_adapters(time_us, state))

    def _seek_asked(self, request: Mapping[str, Any]) -> dict[str, float]:
        wanted = request.get("time_s")
        if isinstance(wanted, bool) or not isinstance(wanted, int | float) or wanted != wanted:
            raise ConfigError(f"time_s is a number of seconds, not {wanted!r}.")
        self.seek(int(max(-1.0, min(1e9, wanted)) * 1e6))
        span_s = {"start_s": self.start_us / 1e6, "end_s": self.end_us / 1e6}
        return {"time_s": self.bridge.view.time_us / 1e6, **span_s}

    def _hold_at_end(self, view: FleetView) -> None:
        if view.time_us >= self.end_us:
            self.bridge.pause()


class _RecordedAutopilot:
    """Reports what an autopilot reported at the time that is shown."""

    period_us = 1_000_000

    def __init__(self, samples: list[AutopilotSample], now_us: Callable[[], int]) -> None:
        self._samples = samples
        self._times_us = [sample.timestamp_us for sample in samples]
        self._now_us = now_us

    def start(self, platform: object) -> None:
        return

    def tick(self, now_us: int) -> None:
        return

    def sample(self) -> AutopilotSample | None:
        """The newest one at the time that is shown."""
        place = bisect_right(self._times_us, self._now_us()) - 1
        return None if place < 0 else self._samples[place]

    def status(self) -> AutopilotStatus:
        sample = self.sample()
        if sample is None:
            return AutopilotStatus(mode="replay")
        return AutopilotStatus(
            mode=sample.mode,
            armed=sample.armed,
            waypoint=sample.waypoint,
            last_message=sample.message,
        )

    def save_state(self) -> dict[str, Any]:
        return {}

    def load_state(self, state: Mapping[str, Any]) -> None:
        return


def _on_usual_ports(fleet: FleetConfig) -> FleetConfig:
    """Nothing of the run listens any more, so the view need not make room for it."""
    return dataclasses.replace(fleet, rules=msgspec.structs.replace(fleet.rules, offset=0))


def _by_vehicle(samples: list[AutopilotSample]) -> dict[int, list[AutopilotSample]]:
    found: dict[int, list[AutopilotSample]] = {}
    for sample in samples:
        found.setdefault(sample.vehicle_id, []).append(sample)
    return found


def _refuse(vehicle_id: int, unit: str, kind: str) -> None:
    raise ConfigError("Nothing can fail any more in a recording.")
