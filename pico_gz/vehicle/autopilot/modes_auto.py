"""AUTO drives the stored mission item by item."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final

from pico_gz.core.frames import wrap_pi
from pico_gz.core.ground_control import MissionItem, Mode, Result
from pico_gz.core.portable_math import RAD_PER_DEG
from pico_gz.vehicle.autopilot.actions import do_action
from pico_gz.vehicle.autopilot.mission import (
    ACTIONS,
    PLACED_COMMANDS,
    SKIPPED_COMMANDS,
    MissionCommand,
    MissionState,
)
from pico_gz.vehicle.autopilot.modes_commanded import RoverMode
from pico_gz.vehicle.autopilot.modes_places import (
    CircleFollower,
    StationKeeper,
    return_point,
    return_speed_mps,
)
from pico_gz.vehicle.autopilot.navigation import Point, distance_m

if TYPE_CHECKING:
    from pico_gz.vehicle.autopilot.context import RoverContext


_DONE_LOITER, _DONE_ACRO, _DONE_MANUAL = 1, 2, 3
_HEADING_REACHED_RAD: Final = 5.0 * RAD_PER_DEG


class AutoPhase(IntEnum):
    """What the current item asks for."""

    STOP = 0
    DRIVE = 1
    WAIT = 2
    LOITER = 3
    TURNS = 4
    HOME = 5
    DONE = 6
    HEADING = 7
    GUIDED = 8


# Asked for in every main loop; Python 3.11 takes 0.15 us to look up a member of an enumeration.
_DRIVE, _HOME, _DONE = AutoPhase.DRIVE, AutoPhase.HOME, AutoPhase.DONE


class AutoMode(RoverMode):
    """Takes one item after the other from the mission runner and drives it."""

    _state_fields = (
        "circle", "guided_from", "guided_us", "heading_rad", "limit_m", "limit_s", "phase",
        "station", "wait_until_us",
    )  # fmt: skip
    __slots__ = _state_fields
    number = Mode.AUTO
    autonomous = True
    needs_position = True

    def __init__(self) -> None:
        self.phase = AutoPhase.STOP
        self.wait_until_us = -1
        self.station = StationKeeper()
        self.circle = CircleFollower()
        self.heading_rad = 0.0
        # DO_GUIDED_LIMITS, for the guided part of a mission that comes after it; 0 = none.
        self.limit_s = self.limit_m = 0.0
        self.guided_us = 0
        self.guided_from: Point = (0.0, 0.0)

    @property
    def takes_targets(self) -> bool:
        """Whether the current item hands over to a companion computer (NAV_GUIDED_ENABLE)."""
        return self.phase is AutoPhase.GUIDED

    def enter(self, rover: RoverContext) -> str | None:
        """Continue where the mission was left, or begin it."""
        runner = rover.runner
        if len(runner.items()) < 2:
            return "there is no mission"
        rover.navigator.reversed = False
        # MIS_RESTART is about a mission that was left; one not begun starts where it was set to.
        left = runner.state is MissionState.PAUSED
        if runner.state is MissionState.COMPLETE or (left and rover.values["MIS_RESTART"] == 1):
            runner.reset()
        self.start_from(rover, runner.current or 1)
        return None

    def start_from(self, rover: RoverContext, seq: int) -> None:
        """Drive item ``seq``, or the first one after it that can be driven."""
        if rover.runner.start_at(seq):
            self._start_item(rover, rover.here())
        else:
            # Only a running mode can hand over to another.
            self.phase = AutoPhase.DONE

    def run(self, rover: RoverContext) -> None:
        """Drive the current item; advance when it is done."""
        if self.phase is _DONE:
            self._finish(rover)
            return
        if rover.runner.pending:
            self._do_pending(rover)
        phase = self.phase
        if phase is _DRIVE or phase is _HOME:
            self._drive(rover)
        elif phase is AutoPhase.WAIT:
            rover.stop()
            if rover.now_us >= self.wait_until_us:
                self._item_done(rover)
        elif phase is AutoPhase.LOITER:
            self._loiter(rover)
        elif phase is AutoPhase.TURNS:
            self._turns(rover)
        elif phase is AutoPhase.HEADING:
            self._turn_to_heading(rover)
        elif phase is AutoPhase.GUIDED:
            self._guided(rover)
        else:
            rover.stop()

    def leave(self, rover: RoverContext) -> None:
        """Another mode takes over; the mission waits."""
        rover.navigator.reversed = False
        if rover.runner.state is MissionState.ACTIVE:
            rover.runner.state = MissionState.PAUSED

    # --- items ----------------------------------------------------------------------------

    def _start_item(self, rover: RoverContext, start: Point) -> None:
        item = rover.runner.item()
        if item is None:
            self._finish(rover)
            return
        rover.say(6, f"Mission: {item.seq} {_label(item)}")
        self.wait_until_us = -1
        place = self._place(rover, item)
        if item.command == MissionCommand.NAV_RETURN_TO_LAUNCH:
            self.phase = AutoPhase.HOME
            rover.navigator.set_leg(rover.here(), return_point(rover))
        elif item.command == MissionCommand.NAV_LOITER_TURNS:
            self.phase = AutoPhase.TURNS
            radius = abs(item.param3) or rover.values["CIRC_RADIUS"]
            if not rover.navigator.skid:
                radius = max(radius, 1.1 * rover.values["TURN_RADIUS"])
            self.circle.begin(place, radius, item.param3 >= 0.0)
        elif item.command == MissionCommand.NAV_WAYPOINT:
            self.phase = AutoPhase.DRIVE
            rover.navigator.set_leg(start, place, self._following(rover, item))
        elif item.command == MissionCommand.NAV_DELAY:
            # A time of day (seconds below 0) would need a clock.
            self._wait(rover, max(0.0, item.param1))
        elif item.command == MissionCommand.NAV_SET_YAW_SPEED:
            self.phase = AutoPhase.HEADING
            yaw = rover.estimator.heading.yaw_rad if item.param3 > 0.0 else 0.0
            self.heading_rad = wrap_pi(yaw + item.param1 * RAD_PER_DEG)
        elif item.command == MissionCommand.NAV_GUIDED_ENABLE:
            self._start_guided(rover, item, place)
        else:
            self.phase = AutoPhase.LOITER
            self.station.begin(place)
            rover.navigator.reached = True

    def _start_guided(self, rover: RoverContext, item: MissionItem, place: Point) -> None:
        self.phase = AutoPhase.GUIDED
        self.guided_us, self.guided_from = rover.now_us, rover.here()
        rover.modes.guided.enter(rover)
        if item.lat_e7 or item.lon_e7:
            rover.modes.guided.go_to(rover, place)

    def _guided(self, rover: RoverContext) -> None:
        """Drive to targets from outside until a limit ends it; the item may also end it at once."""
        item = rover.runner.item()
        seconds = (rover.now_us - self.guided_us) * 1e-6
        over = 0.0 < self.limit_s <= seconds or (
            0.0 < self.limit_m <= distance_m(rover.here(), self.guided_from)
        )
        if over or item is None or item.param1 == 0.0:
            self.limit_s = self.limit_m = 0.0
            self._item_done(rover)
        else:
            rover.modes.guided.run(rover)

    def _turn_to_heading(self, rover: RoverContext) -> None:
        item = rover.runner.item()
        error = wrap_pi(self.heading_rad - rover.estimator.heading.yaw_rad)
        if item is None or abs(error) < _HEADING_REACHED_RAD:
            self._item_done(rover)
            return
        speed = min(max(item.param2, -rover.waypoint_speed_mps()), rover.waypoint_speed_mps())
        rover.drive(speed, rover.values["ATC_STR_ANG_P"] * error)

    def _following(self, rover: RoverContext, item: MissionItem) -> Point | None:
        """The place after this one, when it can be driven through without a stop."""
        following = rover.runner.next_place()
        if item.param1 > 0.0 or following is None:
            return None
        return rover.local_from_e7(following.lat_e7, following.lon_e7)

    def _place(self, rover: RoverContext, item: MissionItem) -> Point:
        placed = item.command in PLACED_COMMANDS and (item.lat_e7 or item.lon_e7)
        return rover.local_from_e7(item.lat_e7, item.lon_e7) if placed else rover.here()

    def _drive(self, rover: RoverContext) -> None:
        home = self.phase is _HOME
        if not rover.follow(return_speed_mps(rover) if home else rover.waypoint_speed_mps()):
            return
        item = rover.runner.item()
        if item is not None and item.command == MissionCommand.NAV_WAYPOINT and item.param1 > 0.0:
            self._wait(rover, item.param1)
        else:
            self._item_done(rover)

    def _loiter(self, rover: RoverContext) -> None:
        self.station.run(rover)
        item = rover.runner.item()
        timed = item is not None and item.command == MissionCommand.NAV_LOITER_TIME
        if item is None or not timed or rover.runner.state is not MissionState.ACTIVE:
            return
        if self.wait_until_us < 0:
            if self.station.settled:
                self.wait_until_us = rover.now_us + int(item.param1 * 1e6)
        elif rover.now_us >= self.wait_until_us:
            self._item_done(rover)

    def _turns(self, rover: RoverContext) -> None:
        self.circle.run(rover, rover.waypoint_speed_mps())
        item = rover.runner.item()
        if item is not None and self.circle.turns >= max(item.param1, 0.01):
            self._item_done(rover)

    def _wait(self, rover: RoverContext, seconds: float) -> None:
        self.phase = AutoPhase.WAIT
        self.wait_until_us = rover.now_us + int(seconds * 1e6)
        rover.stop()

    def _item_done(self, rover: RoverContext) -> None:
        runner, navigator = rover.runner, rover.navigator
        driven = self.phase in (AutoPhase.DRIVE, AutoPhase.WAIT)
        rover.reached.append(runner.current)
        rover.say(6, f"Reached waypoint #{runner.current}")
        start = navigator.destination if driven and navigator.has_leg else rover.here()
        if runner.advance():
            self._start_item(rover, start)
        else:
            self._finish(rover)

    def _do_pending(self, rover: RoverContext) -> None:
        left_m = distance_m(rover.here(), rover.navigator.destination)
        for item in rover.runner.due(rover.now_us, left_m):
            self._do(rover, item)

    def _do(self, rover: RoverContext, item: MissionItem) -> None:
        if item.command in SKIPPED_COMMANDS:
            rover.say(5, f"Mission: {item.seq} {SKIPPED_COMMANDS[item.command]} skipped")
        elif item.command in ACTIONS:
            if do_action(rover, item.command, (item.param1, item.param2)) is not Result.ACCEPTED:
                rover.say(4, f"Mission: {item.seq} {_label(item)} failed")
        elif item.command == MissionCommand.DO_GUIDED_LIMITS:
            self.limit_s, self.limit_m = item.param1, max(0.0, item.param4)
        elif item.command == MissionCommand.DO_CHANGE_SPEED and item.param2 > 0.0:
            rover.speed_mps = item.param2
            rover.say(6, f"Mission: speed {item.param2:.2f} m/s")
        elif item.command == MissionCommand.DO_SET_REVERSE:
            rover.navigator.reversed = item.param1 == 1.0
        elif item.command == MissionCommand.DO_SET_HOME:
            if item.param1 == 1.0 or not (item.lat_e7 or item.lon_e7):
                rover.set_home_here()
            else:
                rover.set_home(item.lat_e7, item.lon_e7, item.alt_m)

    def _finish(self, rover: RoverContext) -> None:
        """The mission is over: what MIS_DONE_BEHAVE says."""
        self._do_pending(rover)
        rover.say(5, "Mission Complete")
        self.phase = AutoPhase.STOP
        behaviour = rover.values["MIS_DONE_BEHAVE"]
        if behaviour == _DONE_LOITER:
            self.phase = AutoPhase.LOITER
            self.station.begin(rover.here())
            self.station.settled = True
        elif behaviour == _DONE_ACRO:
            rover.modes.change(Mode.ACRO, "mission end")
        elif behaviour == _DONE_MANUAL:
            rover.modes.change(Mode.MANUAL, "mission end")


def _label(item: MissionItem) -> str:
    return MissionCommand(item.command).name.removeprefix("NAV_").replace("_", " ").title()
