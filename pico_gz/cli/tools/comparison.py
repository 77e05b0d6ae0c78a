"""The same commands on several simulators, and their distance."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.clock import Lockstep
from pico_gz.bridge.published import FleetView
from pico_gz.core.autopilot import AutopilotStatus
from pico_gz.core.frames import yaw_from_quat
from pico_gz.core.units import US_PER_S, seconds_from_us, us_from_seconds
from pico_gz.core.vehicle_config import DriveKind
from pico_gz.errors import MissingExtraError
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.options import RunOptions
from pico_gz.run.simulators import choose_adapters, make_adapters
from pico_gz.vehicle.platform.platform import SitlPlatform
from pico_gz.vehicle.scripted import DriveOutputs


class Phase(msgspec.Struct, frozen=True):
    """Some seconds of one command, -1..1: (left, right) or (throttle, steering)."""

    name: str
    seconds: float
    first: float
    second: float


# Rest between the phases, so that each begins from standing still.
_REST_S = 1.0

SKID_PHASES = (
    Phase("stand", 1.0, 0.0, 0.0),
    Phase("straight", 4.0, 0.5, 0.5),
    Phase("rest", _REST_S, 0.0, 0.0),
    Phase("right arc", 4.0, 0.6, 0.4),
    Phase("rest", _REST_S, 0.0, 0.0),
    Phase("pivot left", 2.0, -0.3, 0.3),
    Phase("rest", _REST_S, 0.0, 0.0),
    Phase("reverse", 3.0, -0.5, -0.5),
    Phase("rest", _REST_S, 0.0, 0.0),
)
ACKERMANN_PHASES = (
    Phase("stand", 1.0, 0.0, 0.0),
    Phase("straight", 4.0, 0.5, 0.0),
    Phase("rest", _REST_S, 0.0, 0.0),
    Phase("right arc", 4.0, 0.4, 0.5),
    Phase("rest", _REST_S, 0.0, 0.0),
    Phase("left arc", 4.0, 0.4, -0.5),
    Phase("rest", _REST_S, 0.0, 0.0),
    Phase("reverse", 3.0, -0.4, 0.0),
    Phase("rest", _REST_S, 0.0, 0.0),
)
PHASES = {DriveKind.SKID: SKID_PHASES, DriveKind.ACKERMANN: ACKERMANN_PHASES}


def total_s(phases: Sequence[Phase]) -> float:
    """How long it all takes [s]."""
    return sum(phase.seconds for phase in phases)


class OpenLoopDriver:
    """An ``Autopilot`` that goes through its phases and is done."""

    period_us = 10_000

    def __init__(self, phases: Sequence[Phase]) -> None:
        self._phases = tuple(phases)
        self._helm: DriveOutputs | None = None
        self._now_us = 0

    def start(self, platform: SitlPlatform) -> None:
        """Claim the outputs."""
        self._helm = DriveOutputs(platform, owner="open loop")

    def tick(self, now_us: int) -> None:
        """Command what the time says."""
        self._now_us = now_us
        phase = self._phase()
        if self._helm is not None:
            self._helm.command(*(0.0, 0.0) if phase is None else (phase.first, phase.second))

    def status(self) -> AutopilotStatus:
        """The phase that it is in."""
        phase = self._phase()
        return AutopilotStatus(
            mode=phase.name if phase else "done", armed=phase is not None, done=phase is None
        )

    def save_state(self) -> dict[str, Any]:
        return {"now_us": self._now_us}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self._now_us = int(state["now_us"])

    def _phase(self) -> Phase | None:
        end_us = 0.0
        for phase in self._phases:
            end_us += phase.seconds * US_PER_S
            if self._now_us < end_us:
                return phase
        return None


class Place(msgspec.Struct, frozen=True):
    """Where a rover was: seconds, metres north and east, heading without jumps [rad]."""

    time_s: float
    north_m: float
    east_m: float
    yaw_rad: float


Track = tuple[Place, ...]


class TrackDifference(msgspec.Struct, frozen=True):
    """How far apart two rovers were at a time: metres and degrees (second minus first)."""

    time_s: float
    position_m: float
    heading_deg: float


class PhaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """How far a command took a rover: metres and degrees, by simulator in order."""

    name: str
    seconds: float
    distance_m: tuple[float, ...]
    turn_deg: tuple[float, ...]


def unwrapped(yaw_rad: float, before_rad: float) -> float:
    """The angle that means ``yaw_rad`` and is nearest to the one before."""
    return before_rad + math.remainder(yaw_rad - before_rad, math.tau)


def differences(first: Track, second: Track) -> list[TrackDifference]:
    """How far apart two drives are, place by place."""
    return [
        TrackDifference(
            time_s=a.time_s,
            position_m=math.hypot(b.north_m - a.north_m, b.east_m - a.east_m),
            heading_deg=math.degrees(b.yaw_rad - a.yaw_rad),
        )
        for a, b in zip(first, second, strict=False)
    ]


def farthest_apart(
    tracks: tuple[Mapping[int, Track], Mapping[int, Track]],
) -> tuple[tuple[int, TrackDifference], tuple[int, TrackDifference]]:
    """The vehicle and time of the largest difference in position, and those in heading."""
    everything = [
        (vehicle_id, difference)
        for vehicle_id, first in tracks[0].items()
        for difference in differences(first, tracks[1][vehicle_id])
    ]
    return (
        max(everything, key=lambda entry: entry[1].position_m),
        max(everything, key=lambda entry: abs(entry[1].heading_deg)),
    )


def phase_results(tracks: Sequence[Track], phases: Sequence[Phase]) -> list[PhaseResult]:
    """What each command led to, without those that do nothing.

    What a rover coasts afterwards belongs to the command before.
    """
    results = []
    start_s = 0.0
    for index, phase in enumerate(phases):
        end_s = start_s + phase.seconds
        if phase.first or phase.second:
            following = phases[index + 1] if index + 1 < len(phases) else None
            at_rest_s = end_s
            if following is not None and not (following.first or following.second):
                at_rest_s += following.seconds
            parts = [_part(track, start_s, at_rest_s) for track in tracks]
            results.append(
                PhaseResult(
                    name=phase.name,
                    seconds=phase.seconds,
                    distance_m=tuple(map(_length_m, parts)),
                    turn_deg=tuple(map(_turn_deg, parts)),
                )
            )
        start_s = end_s
    return results


def _part(track: Track, start_s: float, end_s: float) -> Track:
    slack_s = 1e-6
    return tuple(p for p in track if start_s - slack_s <= p.time_s <= end_s + slack_s)


def _length_m(track: Track) -> float:
    return sum(
        math.hypot(b.north_m - a.north_m, b.east_m - a.east_m) for a, b in itertools.pairwise(track)
    )


def _turn_deg(track: Track) -> float:
    return math.degrees(track[-1].yaw_rad - track[0].yaw_rad) if track else 0.0


SAMPLE_US = 100_000


class TrackRecorder:
    """An observer that notes every vehicle's place ten times a second, from time 0 on."""

    def __init__(self, fleet: FleetConfig) -> None:
        self._places: dict[int, list[Place]] = {plan.id: [] for plan in fleet.vehicles}
        self._next_us = 0

    def __call__(self, view: FleetView) -> None:
        """Note the places of a step, if it is time."""
        if view.time_us < self._next_us:
            return
        self._next_us = view.time_us - view.time_us % SAMPLE_US + SAMPLE_US
        for vehicle_id, truth in view.truth.items():
            places = self._places[vehicle_id]
            yaw_rad = yaw_from_quat(truth.quat_wxyz)
            if places:
                yaw_rad = unwrapped(yaw_rad, places[-1].yaw_rad)
            place = Place(seconds_from_us(view.time_us), truth.north_m, truth.east_m, yaw_rad)
            places.append(place)

    def tracks(self) -> dict[int, Track]:
        """What was noted, by vehicle id."""
        return {vehicle_id: tuple(places) for vehicle_id, places in self._places.items()}


def duration_s(fleet: FleetConfig) -> float:
    """How long the longest schedule of the fleet takes [s]."""
    return max(total_s(PHASES[plan.rover.drive]) for plan in fleet.vehicles)


def drive_open_loop(fleet: FleetConfig, adapter: str) -> Mapping[int, Track]:
    """Drive the whole schedule on one simulator.

    Args:
        fleet: the fleet; who drives it otherwise does not matter.
        adapter: name of the simulator for all its vehicles.

    Raises:
        MissingProgramError: that simulator is not here.
    """
    names = {plan.id: adapter for plan in fleet.vehicles}
    fleet, _ = choose_adapters(fleet.with_adapters(names))
    recorder = TrackRecorder(fleet)
    bridge = SitlBridge(Lockstep(fleet.time.step_us))
    with contextlib.closing(bridge):
        for simulator in make_adapters(fleet, RunOptions()):
            bridge.register_adapter(simulator)
        for plan in fleet.vehicles:
            drive = plan.rover.drive
            bridge.spawn_vehicle(plan.config, OpenLoopDriver(PHASES[drive]), drive=drive)
        bridge.after_step.add(recorder)
        bridge.run(us_from_seconds(duration_s(fleet)))
    return recorder.tracks()


_STYLES = ("-", "--", ":", "-.")


def require_plots() -> None:
    """Refuse early when nothing can be drawn.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as exc:
        raise MissingExtraError("plots", "A plot") from exc


def draw_comparison(
    path: Path, names: Sequence[str], tracks: Sequence[Mapping[int, Track]]
) -> None:
    """Draw tracks of a comparison, and the differences from the first simulator.

    Args:
        path: the picture; its ending chooses the format.
        names: of the simulators.
        tracks: of each, by vehicle id.
    """
    require_plots()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 5.5), layout="constrained")
    grid = figure.add_gridspec(2, 2)
    map_axes = figure.add_subplot(grid[:, 0])
    position_axes = figure.add_subplot(grid[0, 1])
    heading_axes = figure.add_subplot(grid[1, 1], sharex=position_axes)
    for index, vehicle_id in enumerate(tracks[0]):
        colour = f"C{index % 10}"
        for number, (name, driven) in enumerate(zip(names, tracks, strict=True)):
            track, style = driven[vehicle_id], _STYLES[number % len(_STYLES)]
            label = name if index == 0 else None
            east, north = [p.east_m for p in track], [p.north_m for p in track]
            map_axes.plot(east, north, style, color=colour, label=label)
            if number == 0:
                continue
            apart = differences(tracks[0][vehicle_id], track)
            times = [difference.time_s for difference in apart]
            label = f"rover {vehicle_id}" if len(names) == 2 else f"{name}, rover {vehicle_id}"
            position_axes.plot(
                times, [d.position_m for d in apart], style, color=colour, label=label
            )
            heading_axes.plot(times, [d.heading_deg for d in apart], style, color=colour)
    map_axes.set(xlabel="east [m]", ylabel="north [m]", title="Tracks", aspect="equal")
    position_axes.set(ylabel="position [m]", title=f"{', '.join(names[1:])} against {names[0]}")
    heading_axes.set(xlabel="time [s]", ylabel="heading [deg]")
    for axes in (map_axes, position_axes, heading_axes):
        axes.grid(alpha=0.3)
    map_axes.legend()
    if len(tracks[0]) <= 10:
        position_axes.legend()
    figure.savefig(path, dpi=120)
