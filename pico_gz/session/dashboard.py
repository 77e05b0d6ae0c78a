"""How a run gets its browser view: what the view may see and do, and how it is opened.

The session does not know the view's code; whoever starts a run hands in the function that opens
one (``pico_gz.dashboard.app.open_dashboard``), so that nothing here needs the ``web`` extra.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pico_gz.autopilot.api import GroundControlled, MissionItem
from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.events import BridgeEvent
from pico_gz.config import FleetConfig
from pico_gz.local_frame import LocalFrame
from pico_gz.recording.topics import AutopilotSample
from pico_gz.session.control_server import Command

# vehicle id -> unit -> kind of failure, those that are on.
Failures = Mapping[int, Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHandle:
    """A run as its observers see it.

    Attributes:
        fleet: with every adapter decided.
        bridge: adapters, vehicles and clock.
        frame: the fleet's geodetic origin.
        pilots: the vehicles that can be commanded; called on the simulation thread only.
        commands: what can be done to the run, by name, from any thread.
        failures: tells which failures are switched on.
        timeline_s: from when to when time can be chosen [s]; ``None``: it only goes on.
        tracks: of a recording: vehicle id -> time [ms], north [cm], east [cm], in turn.
        recorded_events: of a recording: all of them, in order of time.
        recorded_items: of a recording: vehicle id -> mission and fence that it started with.
        sample_of: of a recording: what a vehicle's autopilot believed at the time that is shown.
    """

    fleet: FleetConfig
    bridge: SitlBridge
    frame: LocalFrame
    pilots: Mapping[int, GroundControlled]
    commands: Mapping[str, Command]
    failures: Callable[[], Failures]
    timeline_s: tuple[float, float] | None = None
    tracks: Mapping[int, Sequence[int]] = field(default_factory=dict)
    recorded_events: Sequence[BridgeEvent] = ()
    recorded_items: Mapping[int, tuple[Sequence[MissionItem], Sequence[MissionItem]]] = field(
        default_factory=dict
    )
    sample_of: Callable[[int], AutopilotSample | None] = lambda vehicle_id: None


class RunView(Protocol):
    """Something that shows a run while it goes on."""

    @property
    def line(self) -> str:
        """Where people find it, one line."""

    def close(self) -> None:
        """End it; harmless when called twice."""


OpenView = Callable[[RunHandle], RunView]
