"""A fleet and its rovers in a test, in simulation time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from math import hypot
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.published import BridgeEvent, FleetView
from pico_gz.bridge.timeline import Marks
from pico_gz.core.autopilot import AutopilotStatus
from pico_gz.core.frames import LocalFrame, quat_from_euler, yaw_from_quat
from pico_gz.core.ground_control import MissionItem, MissionType, Mode, Result, Telemetry
from pico_gz.core.messages import SensorData, VehicleTruth
from pico_gz.core.units import us_from_seconds
from pico_gz.errors import ConfigError, UnknownVehicleError, did_you_mean
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.config.mission_check import require_items
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.run.vehicle_setup import NAV_WAYPOINT
from pico_gz.vehicle.autopilot.mission_files import read_mission_file
from pico_gz.vehicle.autopilot.parameter_table import PARAMETERS, READ_ONLY
from pico_gz.vehicle.autopilot.parameters import spec_text

if TYPE_CHECKING:
    from pico_gz.vehicle.autopilot.rover_autopilot import RoverAutopilot

_READY_S = 60.0
_DEGREES = 57.29577951308232


class SimulationTimeoutError(AssertionError):
    """Something did not happen within its simulated time; the test failed."""


class History:
    """An observer that keeps every step's truth, every change of mode and every contact.

    After a restore it is that of the restored time line; a snapshot of another process has none.

    Attributes:
        truth: vehicle id -> where it was, step by step.
        modes: vehicle id -> (time [us], mode) whenever the mode changed.
        contacts: everything that was touched.
    """

    def __init__(self, bridge: SitlBridge) -> None:
        self.truth: dict[int, list[VehicleTruth]] = {i: [] for i in bridge.list_vehicles()}
        self.modes: dict[int, list[tuple[int, str]]] = {i: [] for i in bridge.list_vehicles()}
        self.contacts: list[BridgeEvent] = []
        self._bridge = bridge
        self._marks: Marks[Callable[[], None]] = Marks()
        bridge.after_step.add(self)
        bridge.events.listen(self._note_event)
        bridge.timeline.add_past(self)

    def __call__(self, view: FleetView) -> None:
        """Keep one step."""
        for vehicle_id, truth in view.truth.items():
            self.truth.setdefault(vehicle_id, []).append(truth)
        for vehicle in self._bridge.vehicles:
            mode = vehicle.status().mode
            changes = self.modes.setdefault(vehicle.id, [])
            if not changes or changes[-1][1] != mode:
                changes.append((view.time_us, mode))

    def mark(self, moment: str) -> None:
        """Note how much there is; lists only grow, or are replaced, so lengths are enough."""
        truth = {i: (kept, len(kept)) for i, kept in self.truth.items()}
        modes = {i: (kept, len(kept)) for i, kept in self.modes.items()}
        contacts, count = self.contacts, len(self.contacts)

        def put_back() -> None:
            self.truth = {i: kept[:length] for i, (kept, length) in truth.items()}
            self.modes = {i: kept[:length] for i, (kept, length) in modes.items()}
            self.contacts = contacts[:count]

        self._marks.note(moment, put_back)

    def go_back(self, moment: str, time_us: int) -> None:
        """Forget what is not on the time line of a snapshot."""
        if moment in self._marks:
            self._marks[moment]()
            return
        self.truth = {i: [] for i in self.truth}
        self.modes = {i: [] for i in self.modes}
        self.contacts = []

    def _note_event(self, event: BridgeEvent) -> None:
        if event.kind == "contact":
            self.contacts.append(event)


Invariant = Callable[["Sitl"], None]


class Sitl:
    """A running fleet. Time stands still except in ``run`` and ``wait_until``.

    Use it in a ``with`` block, or let the fixture ``sitl`` make and close it.

    Attributes:
        session: the run behind it.
        history: what every vehicle has done so far.
    """

    def __init__(self, fleet: FleetConfig, options: RunOptions | None = None) -> None:
        self.session = FleetRun(fleet, options)
        self._invariants: list[Invariant] = []
        self._rovers: dict[int, RoverHandle] = {}

    def __enter__(self) -> Sitl:
        self.session.__enter__()
        self.history = History(self.bridge)
        self._rovers = {i: RoverHandle(self, i) for i in self.bridge.list_vehicles()}
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the run and close its files; harmless when called twice."""
        self.session.__exit__(None, None, None)

    def __getitem__(self, vehicle_id: int) -> RoverHandle:
        if vehicle_id not in self._rovers:
            raise UnknownVehicleError(vehicle_id, self._rovers)
        return self._rovers[vehicle_id]

    def __iter__(self) -> Iterator[RoverHandle]:
        return iter(self._rovers.values())

    def __len__(self) -> int:
        return len(self._rovers)

    @property
    def rovers(self) -> list[RoverHandle]:
        """All rovers, in id order."""
        return list(self._rovers.values())

    @property
    def bridge(self) -> SitlBridge:
        """Adapters, vehicles and clock."""
        return self.session.bridge

    @property
    def fleet(self) -> FleetConfig:
        """What it was made from."""
        return self.session.fleet

    @property
    def frame(self) -> LocalFrame:
        """The fleet's geodetic origin."""
        return self.session.frame

    @property
    def seed(self) -> int:
        """Start of all random numbers."""
        return self.fleet.seed

    @property
    def time_s(self) -> float:
        """Simulated time since the start [s]."""
        return self.bridge.view.time_us / 1e6

    @property
    def recording(self) -> Path | None:
        """The folder of its recording."""
        path = self.session.result().recording
        return None if path is None else Path(path)

    def run(self, sim_s: float) -> None:
        """Let simulated time pass."""
        __tracebackhide__ = True
        self._run(sim_s, None)

    def wait_until(
        self,
        condition: Callable[[Sitl], bool],
        *,
        timeout_sim_s: float = 60.0,
        every_sim_s: float = 0.0,
        what: str = "",
    ) -> float:
        """Let time pass until ``condition(sitl)``; returns how much has passed [simulated s].

        Args:
            condition: looked at now and after every step.
            timeout_sim_s: how much simulated time it may take.
            every_sim_s: look only this often.
            what: words for the failure.

        Raises:
            SimulationTimeoutError: it was not so in time.
        """
        __tracebackhide__ = True
        start_s = self.time_s
        if condition(self):
            return 0.0
        next_us = 0
        met = False

        def look(view: FleetView) -> bool:
            nonlocal next_us, met
            if view.time_us >= next_us:
                next_us = view.time_us + us_from_seconds(every_sim_s)
                met = condition(self)
            return met

        self._run(timeout_sim_s, look)
        if not met:
            raise SimulationTimeoutError(
                f"{what or 'The condition was not met'} within {timeout_sim_s:g} s of simulated"
                f" time; at {self.time_s:.2f} s:\n" + "\n".join(f"  {rover!r}" for rover in self)
            )
        return self.time_s - start_s

    def check_every_step(self, invariant: Invariant) -> None:
        """Call ``invariant(sitl)`` after every step from now on; what it raises ends the test."""
        self._invariants.append(invariant)

    def start_truth(self, vehicle_id: int) -> VehicleTruth:
        """Where a vehicle starts, by the fleet file."""
        pose = self.fleet.vehicle(vehicle_id).config.pose
        return VehicleTruth(
            timestamp_us=0,
            vehicle_id=vehicle_id,
            north_m=pose.north_m,
            east_m=pose.east_m,
            down_m=0.0,
            quat_wxyz=quat_from_euler(0.0, 0.0, math.radians(pose.yaw_deg)),
        )

    def _run(self, sim_s: float, until: Callable[[FleetView], bool] | None) -> None:
        __tracebackhide__ = True

        def look(view: FleetView) -> bool:
            for invariant in self._invariants:
                invariant(self)
            return until is not None and until(view)

        self.bridge.run(us_from_seconds(sim_s), until=look)


class RoverHandle:
    """A vehicle of a ``Sitl``. Commands wait, in simulation time, until they are accepted.

    Positions are metres north and east of the fleet's origin, as in ``truth``.
    """

    def __init__(self, sitl: Sitl, vehicle_id: int) -> None:
        self.sitl = sitl
        self.id = vehicle_id
        self.name = sitl.bridge.get_vehicle(vehicle_id).config.label

    def __repr__(self) -> str:
        truth, status = self.truth, self.status
        armed = "armed" if status.armed else "disarmed"
        said = f", said {status.last_message!r}" if status.last_message else ""
        return (
            f"{self.name} at north {truth.north_m:.2f} m, east {truth.east_m:.2f} m,"
            f" {status.mode}, {armed}{said}"
        )

    # --- looking ----------------------------------------------------------------------------

    @property
    def truth(self) -> VehicleTruth:
        """Where it really is; before the first step, where it will start."""
        known = self.sitl.bridge.view.truth.get(self.id)
        return known if known is not None else self.sitl.start_truth(self.id)

    @property
    def estimate(self) -> Telemetry:
        """What its autopilot estimates."""
        return self.pilot.telemetry()

    @property
    def sensors(self) -> SensorData | None:
        """What its sensors measured in the last step."""
        return self.sitl.bridge.view.sensors.get(self.id)

    @property
    def status(self) -> AutopilotStatus:
        """Mode, armed, waypoint, last message, done."""
        return self.sitl.bridge.get_vehicle(self.id).status()

    @property
    def mode(self) -> str:
        """Name of its mode."""
        return self.status.mode

    @property
    def armed(self) -> bool:
        """Whether it may move."""
        return self.status.armed

    @property
    def speed_mps(self) -> float:
        """True speed over ground [m/s]."""
        north_mps, east_mps, _ = self.truth.velocity_ned_mps
        return hypot(north_mps, east_mps)

    @property
    def yaw_deg(self) -> float:
        """True heading, clockwise from north, -180..180 [degrees]."""
        return yaw_from_quat(self.truth.quat_wxyz) * _DEGREES

    @property
    def path(self) -> list[tuple[float, float]]:
        """Where it has been, (north, east) [m], one point per step."""
        return [(truth.north_m, truth.east_m) for truth in self.sitl.history.truth[self.id]]

    @property
    def modes(self) -> list[str]:
        """The modes it has been in, in order."""
        return [mode for _, mode in self.sitl.history.modes[self.id]]

    def distance_to(self, north_m: float, east_m: float) -> float:
        """True distance to a point [m]."""
        return hypot(self.truth.north_m - north_m, self.truth.east_m - east_m)

    @property
    def pilot(self) -> RoverAutopilot:
        """Its built-in autopilot, for everything that has no method here.

        Raises:
            ConfigError: something else drives it.
        """
        pilot = self.sitl.bridge.get_vehicle(self.id).autopilot
        if not hasattr(pilot, "guided"):
            raise ConfigError(
                f"{self.name} has no built-in autopilot to command.",
                hint='Use autopilot = "builtin", or command it over MAVLink.',
            )
        return cast("RoverAutopilot", pilot)

    # --- commanding -------------------------------------------------------------------------

    def arm(self, *, timeout_sim_s: float = _READY_S) -> None:
        """Arm, as soon as the arming checks pass."""
        __tracebackhide__ = True
        self._insist(self.pilot.arm, "arm", timeout_sim_s)

    def disarm(self) -> None:
        """Stop the motors."""
        self.pilot.disarm()

    def set_mode(self, mode: str | int, *, timeout_sim_s: float = _READY_S) -> None:
        """Enter a mode, by its name or number.

        Raises:
            ConfigError: there is no such mode, or AUTO has no mission to drive.
        """
        __tracebackhide__ = True
        wanted = _mode(mode)
        if wanted is Mode.AUTO:
            self._require_mission()
        self._insist(lambda: self.pilot.set_mode(wanted), f"enter {wanted.name}", timeout_sim_s)

    def goto(self, north_m: float, east_m: float, *, timeout_sim_s: float = _READY_S) -> None:
        """Enter GUIDED and head for a point; returns when it is on its way.

        Raises:
            ConfigError: it is disarmed, so it would stay where it is.
        """
        __tracebackhide__ = True
        if not self.armed:
            raise ConfigError(f"{self.name} is disarmed.", hint="Call arm() before goto().")
        lat_e7, lon_e7 = self._e7(north_m, east_m)
        self._insist(
            lambda: self.pilot.guided.to_global(lat_e7, lon_e7, change_mode=True),
            f"go to north {north_m}, east {east_m}",
            timeout_sim_s,
        )

    def upload_mission(self, mission: str | Path | Sequence[tuple[float, float]]) -> None:
        """Store a mission: a file (.plan, .waypoints), or points (north, east) [m].

        Raises:
            ConfigError: there is no point in it, or the autopilot does not take it.
        """
        if not mission:
            raise ConfigError(
                "A mission has at least one point.",
                hint="rover.pilot.missions.clear(MissionType.MISSION) removes the one there is.",
            )
        refused = f"{self.name} does not take the mission"
        if isinstance(mission, str | Path):
            items: Sequence[MissionItem] = read_mission_file(Path(mission))
            refused += f" {mission}"
        else:
            start = (self.truth.north_m, self.truth.east_m)
            points = [start, *mission]  # item 0 is home
            items = [self._waypoint(seq, *point) for seq, point in enumerate(points)]
        if len(items) < 2:
            raise ConfigError(f"{refused}: it holds nothing to drive to.")
        require_items(MissionType.MISSION, items, refused)
        self.pilot.missions.replace(MissionType.MISSION, items)

    def start_mission(self, *, timeout_sim_s: float = _READY_S) -> None:
        """Enter AUTO and drive the mission from its beginning.

        Raises:
            ConfigError: there is no mission.
        """
        __tracebackhide__ = True
        self._require_mission()
        self._insist(self.pilot.start_mission, "start its mission", timeout_sim_s)

    def set_param(self, name: str, value: float) -> None:
        """Set a parameter.

        Raises:
            ConfigError: it does not exist, or cannot have this value.
        """
        info = self.pilot.params.set(name, value)
        if info is None:
            raise ConfigError(
                f"{self.name} has no parameter {name!r}.", hint=did_you_mean(name, PARAMETERS)
            )
        if abs(info.value - value) > 1e-6 * max(1.0, abs(value)):
            spec = PARAMETERS[name]
            allowed = "It is read-only." if name in READ_ONLY else spec_text(spec)
            raise ConfigError(f"{self.name} does not take {name} = {value}.", hint=allowed)

    def fail(self, unit: str, kind: str = "off") -> None:
        """Let a sensor, actuator or link fail; kind ``ok`` ends it (as ``pico-gz ctl fail``).

        Raises:
            ConfigError: there is no such unit or way of failing, or its autopilot would not see it.
        """
        self.sitl.session.fail(self.id, unit, kind)

    # --- time -------------------------------------------------------------------------------

    def run(self, sim_s: float) -> None:
        """Let simulated time pass."""
        __tracebackhide__ = True
        self.sitl.run(sim_s)

    def wait_until(
        self, condition: Callable[[RoverHandle], bool], *, timeout_sim_s: float = 60.0
    ) -> float:
        """Let time pass until ``condition(rover)``, looked at after every step.

        Returns:
            How much simulated time has passed [s].

        Raises:
            SimulationTimeoutError: it was not so within ``timeout_sim_s`` of simulated time.
        """
        __tracebackhide__ = True
        return self.sitl.wait_until(lambda sitl: condition(self), timeout_sim_s=timeout_sim_s)

    def _require_mission(self) -> None:
        """Refuse at once what would be refused for as long as anyone asks."""
        if len(self.pilot.missions.items(MissionType.MISSION)) < 2:  # item 0 is home
            raise ConfigError(f"{self.name} has no mission.", hint="upload_mission() gives it one.")

    def _insist(self, ask: Callable[[], Result], what: str, timeout_sim_s: float) -> None:
        """Ask until it is accepted; autopilots need a while after power-on."""
        __tracebackhide__ = True
        if ask() is not Result.ACCEPTED:
            self.sitl.wait_until(
                lambda sitl: ask() is Result.ACCEPTED,
                timeout_sim_s=timeout_sim_s,
                every_sim_s=0.1,
                what=f"{self.name} does not {what}",
            )

    def _e7(self, north_m: float, east_m: float) -> tuple[int, int]:
        lat_deg, lon_deg, _ = self.sitl.frame.geodetic_from_ned(north_m, east_m, 0.0)
        return round(lat_deg * 1e7), round(lon_deg * 1e7)

    def _waypoint(self, seq: int, north_m: float, east_m: float) -> MissionItem:
        lat_e7, lon_e7 = self._e7(north_m, east_m)
        return MissionItem(
            seq=seq,
            command=NAV_WAYPOINT,
            frame=0 if seq == 0 else 3,
            lat_e7=lat_e7,
            lon_e7=lon_e7,
            alt_m=self.sitl.frame.alt_m if seq == 0 else 0.0,
        )


def _mode(mode: str | int) -> Mode:
    """A mode that can be asked for, by its name or number."""
    known = {one.name: one for one in Mode if one is not Mode.INITIALISING}
    for name, one in known.items():
        if mode == one or str(mode).upper() == name:
            return one
    raise ConfigError(f"There is no mode {mode!r}.", hint=did_you_mean(str(mode).upper(), known))
