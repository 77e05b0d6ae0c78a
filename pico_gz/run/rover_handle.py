"""A vehicle of a Fleet: look at it, command it, wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import hypot
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pico_gz.core.autopilot import AutopilotStatus
from pico_gz.core.ground_control import (
    GcsVehicle,
    MissionItem,
    MissionType,
    Mode,
    Result,
    Telemetry,
)
from pico_gz.core.messages import SensorData, VehicleTruth
from pico_gz.errors import ConfigError, did_you_mean
from pico_gz.run.config.mission_check import require_items
from pico_gz.run.vehicle_setup import NAV_WAYPOINT
from pico_gz.vehicle.autopilot.mission_files import read_mission_file
from pico_gz.vehicle.autopilot.parameter_table import PARAMETERS, READ_ONLY
from pico_gz.vehicle.autopilot.parameters import spec_text

if TYPE_CHECKING:
    from pico_gz.run.fleet_api import Fleet

_READY_S = 60.0

T = TypeVar("T")


class RoverHandle:
    """A vehicle of a ``Fleet``. Commands wait, in simulation time, until they are accepted.

    Positions are metres north and east of the fleet's origin, as in ``truth``.
    """

    def __init__(self, fleet: Fleet, vehicle_id: int) -> None:
        self.fleet = fleet
        self.id = vehicle_id
        self.name = fleet.bridge.get_vehicle(vehicle_id).config.label

    @property
    def sitl(self) -> Fleet:
        """The fleet, by the name that the fixture has."""
        return self.fleet

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
        known = self.fleet.bridge.view.truth.get(self.id)
        return known if known is not None else self.fleet.start_truth(self.id)

    @property
    def estimate(self) -> Telemetry:
        """What its autopilot estimates."""
        return self.pilot.telemetry()

    @property
    def sensors(self) -> SensorData | None:
        """What its sensors measured in the last step."""
        return self.fleet.bridge.view.sensors.get(self.id)

    @property
    def status(self) -> AutopilotStatus:
        """Mode, armed, waypoint, last message, done."""
        return self.fleet.bridge.get_vehicle(self.id).status()

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
        return self.truth.yaw_deg

    @property
    def path(self) -> list[tuple[float, float]]:
        """Where it has been, (north, east) [m], one point per step."""
        return [(truth.north_m, truth.east_m) for truth in self.fleet.history.truth[self.id]]

    @property
    def modes(self) -> list[str]:
        """The modes it has been in, in order."""
        return [mode for _, mode in self.fleet.history.modes[self.id]]

    def distance_to(self, north_m: float, east_m: float) -> float:
        """True distance to a point [m]."""
        return hypot(self.truth.north_m - north_m, self.truth.east_m - east_m)

    @property
    def pilot(self) -> GcsVehicle:
        """Its autopilot as a ground station sees it, for everything that has no method here.

        Raises:
            ConfigError: it cannot be commanded.
        """
        pilot = self.fleet.session.pilots.commanded.get(self.id)
        if pilot is None:
            raise ConfigError(
                f"The autopilot of {self.name} takes no commands.",
                hint='autopilot = "builtin" does, and one of your own as a GroundLink.',
            )
        return pilot

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
        params = self.pilot.params
        info = params.set(name, value)
        if info is None:
            every = (params.by_index(index) for index in range(params.count()))
            known = [one.name for one in every if one is not None]
            raise ConfigError(
                f"{self.name} has no parameter {name!r}.", hint=did_you_mean(name, known)
            )
        if abs(info.value - value) > 1e-6 * max(1.0, abs(value)):
            spec = PARAMETERS.get(name)
            allowed = "It is read-only." if name in READ_ONLY else spec_text(spec) if spec else ""
            raise ConfigError(f"{self.name} does not take {name} = {value}.", hint=allowed)

    def fail(self, unit: str, kind: str = "off") -> None:
        """Let a sensor, actuator or link fail; kind ``ok`` ends it (as ``pico-gz ctl fail``).

        Raises:
            ConfigError: there is no such unit or way of failing, or its autopilot would not see it.
        """
        self.fleet.session.fail(self.id, unit, kind)

    def set_pose(
        self, north_m: float, east_m: float, yaw_deg: float | None = None, speed_mps: float = 0.0
    ) -> None:
        """Put it somewhere else, looking the same way by default; standing, or going on.

        Raises:
            ConfigError: the place is too far away, or a number is not finite.
        """
        yaw_deg = self.yaw_deg if yaw_deg is None else yaw_deg
        self.fleet.bridge.set_pose(self.id, north_m, east_m, yaw_deg, speed_mps)

    def remove(self) -> None:
        """Take it out of the fleet; its id can be used again."""
        self.fleet.despawn(self.id)

    # --- time -------------------------------------------------------------------------------

    def run(self, sim_s: float) -> None:
        """Let simulated time pass."""
        __tracebackhide__ = True
        self.fleet.run(sim_s)

    def wait_until(
        self, condition: Callable[[RoverHandle], T], *, timeout_sim_s: float = 60.0
    ) -> T:
        """Let time pass until ``condition(rover)`` is true, looked at after every step.

        Returns:
            What the condition returned.

        Raises:
            SimulationTimeoutError: it was not so within ``timeout_sim_s`` of simulated time.
        """
        __tracebackhide__ = True
        return self.fleet.wait_until(lambda fleet: condition(self), timeout_sim_s=timeout_sim_s)

    def _require_mission(self) -> None:
        """Refuse at once what would be refused for as long as anyone asks."""
        if len(self.pilot.missions.items(MissionType.MISSION)) < 2:  # item 0 is home
            raise ConfigError(f"{self.name} has no mission.", hint="upload_mission() gives it one.")

    def _insist(self, ask: Callable[[], Result], what: str, timeout_sim_s: float) -> None:
        """Ask until it is accepted; autopilots need a while after power-on."""
        __tracebackhide__ = True
        if ask() is not Result.ACCEPTED:
            self.fleet.wait_until(
                lambda fleet: ask() is Result.ACCEPTED,
                timeout_sim_s=timeout_sim_s,
                every_sim_s=0.1,
                what=f"{self.name} does not {what}",
            )

    def _e7(self, north_m: float, east_m: float) -> tuple[int, int]:
        lat_deg, lon_deg, _ = self.fleet.frame.geodetic_from_ned(north_m, east_m, 0.0)
        return round(lat_deg * 1e7), round(lon_deg * 1e7)

    def _waypoint(self, seq: int, north_m: float, east_m: float) -> MissionItem:
        lat_e7, lon_e7 = self._e7(north_m, east_m)
        return MissionItem(
            seq=seq,
            command=NAV_WAYPOINT,
            frame=0 if seq == 0 else 3,
            lat_e7=lat_e7,
            lon_e7=lon_e7,
            alt_m=self.fleet.frame.alt_m if seq == 0 else 0.0,
        )


def _mode(mode: str | int) -> Mode:
    """A mode that can be asked for, by its name or number."""
    known = {one.name: one for one in Mode if one is not Mode.INITIALISING}
    for name, one in known.items():
        if mode == one or str(mode).upper() == name:
            return one
    raise ConfigError(f"There is no mode {mode!r}.", hint=did_you_mean(str(mode).upper(), known))
