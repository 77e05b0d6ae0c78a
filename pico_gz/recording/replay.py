"""Plays a recording as if it were a run: the same bridge, the same clock, and any time at will.

Whatever can watch a run can watch a replay: it has a bridge with a view, pause, single
steps and speed, and a command more, ``seek``. What was told in the run is not told again by the
bridge, which has nothing to warn about now: a view gets it from the handle, up to the time shown.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.clock import Scaled
from pico_gz.bridge.view import FleetView
from pico_gz.config import FleetConfig
from pico_gz.errors import ConfigError
from pico_gz.local_frame import LocalFrame
from pico_gz.messages import ActuatorCommands, SensorData, VehicleTruth
from pico_gz.recording.recorded_run import RecordedRun
from pico_gz.recording.replay_adapter import ReplayAdapter
from pico_gz.recording.replay_plans import recorded_items
from pico_gz.recording.topics import AutopilotSample
from pico_gz.recording.tracks import read_tracks
from pico_gz.session.control_commands import control_commands
from pico_gz.session.control_server import Command
from pico_gz.session.dashboard import RunHandle
from pico_gz.session.run_inputs import config_from_dict
from pico_gz.session.world import local_frame
from pico_gz.vehicle.autopilot import AutopilotStatus

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
        self.bridge.add_pilots(_RecordedCommands(self._adapter, tuple(self.bridge.list_vehicles())))
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
        """The replay as the browser view sees a run; nobody can be commanded."""
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
        step_us = self.fleet.time.step_us
        state = msgspec.msgpack.decode(self.bridge.snapshot())
        state["time_us"] = time_us - time_us % step_us
        state["adapters"][self._adapter.name] = {
            "offset_us": 0,
            "state": {"time_us": state["time_us"]},
        }
        self.bridge.restore(msgspec.msgpack.encode(state))

    def _seek_asked(self, request: Mapping[str, Any]) -> dict[str, float]:
        wanted = request.get("time_s")
        if isinstance(wanted, bool) or not isinstance(wanted, int | float) or wanted != wanted:
            raise ConfigError(f"time_s is a number of seconds, not {wanted!r}.")
        self.seek(int(max(-1.0, min(1e9, wanted)) * 1e6))
        span_s = {"start_s": self.start_us / 1e6, "end_s": self.end_us / 1e6}
        return {"time_s": self.bridge.sim_time_us() / 1e6, **span_s}

    def _hold_at_end(self, view: FleetView) -> None:
        if view.time_us >= self.end_us:
            self.bridge.pause()


class _RecordedAutopilot:
    """Tells what an autopilot told at the time that is shown."""

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


class _RecordedCommands:
    """Gives the commands that led to the next recorded step."""

    needs_truth = False

    def __init__(self, adapter: ReplayAdapter, vehicle_ids: tuple[int, ...]) -> None:
        self._adapter = adapter
        self._ids = vehicle_ids

    def vehicle_ids(self) -> tuple[int, ...]:
        return self._ids

    def hand_over(
        self, records: Mapping[int, SensorData], truth: Mapping[int, VehicleTruth], now_us: int
    ) -> None:
        return

    def unanswered(self) -> tuple[int, ...]:
        return ()

    def collect(
        self, timeout_s: float, waiting_for: Collection[int] | None = None
    ) -> Mapping[int, ActuatorCommands]:
        return self._adapter.view.commands

    def service(self) -> None:
        return

    def close(self) -> None:
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
