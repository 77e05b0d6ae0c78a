"""The parts of one rover, and the mode in charge."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from math import floor
from pathlib import Path
from typing import Any, ClassVar, Final

from pico_gz.core.frames import LocalFrame
from pico_gz.core.ground_control import MissionType, Mode, Result, StatusText
from pico_gz.core.snapshot import Snapshot
from pico_gz.core.vehicle_config import DriveKind
from pico_gz.vehicle.autopilot.actions import BoardOutputs
from pico_gz.vehicle.autopilot.control import (
    ServoOutputs,
    SpeedController,
    TurnController,
    clamp,
)
from pico_gz.vehicle.autopilot.estimator import Estimator
from pico_gz.vehicle.autopilot.mission import Fence, ItemStore, MissionRunner
from pico_gz.vehicle.autopilot.modes_auto import AutoMode
from pico_gz.vehicle.autopilot.modes_commanded import (
    AcroMode,
    GuidedMode,
    HoldMode,
    InitialisingMode,
    ManualMode,
    RoverMode,
    SteeringMode,
)
from pico_gz.vehicle.autopilot.modes_places import CircleMode, LoiterMode, RtlMode, SmartRtlMode
from pico_gz.vehicle.autopilot.navigation import Navigator, Point, distance_m
from pico_gz.vehicle.autopilot.parameters import ParamStore
from pico_gz.vehicle.autopilot.rc_input import RcInput
from pico_gz.vehicle.autopilot.smart_rtl import SmartRtlPath


class Home(Snapshot):
    """Home as a place on the globe and in the local frame.

    Attributes:
        valid: it is known.
        locked: a ground station put it there, so it does not follow the rover.
    """

    _state_fields = ("alt_m", "east_m", "lat_e7", "locked", "lon_e7", "north_m", "valid")
    __slots__ = _state_fields

    def __init__(self) -> None:
        self.valid = self.locked = False
        self.lat_e7 = self.lon_e7 = 0
        self.alt_m = self.north_m = self.east_m = 0.0


_MAX_TEXTS: Final = 100
_MAX_FIXED: Final = 16
_STILL_RADPS: Final = 0.1
_HOME_MOVED_M: Final = 0.5


class RoverContext(Snapshot):
    """The parts of one rover, and the few verbs that modes drive it with.

    Attributes:
        now_us: simulation time of this main loop, ``dt_s`` the time since the last one.
        speed_mps: speed to hold on missions, changed by DO_CHANGE_SPEED; 0 = WP_SPEED.
        reached: mission items reached and not yet reported.
        on_text: gets each status text at once, beside the ground, which takes ``texts``.
    """

    _state_fields = (
        "armed", "disarmed_us", "dt_s", "estimator", "fence", "home", "last_text", "modes",
        "navigator", "now_us", "outputs", "params", "rc", "reached", "runner", "smart_rtl",
        "speed", "speed_mps", "store", "texts", "turn",
    )  # fmt: skip
    __slots__ = (
        *_state_fields, "_fixed_e7", "_fixed_frame", "_top_mps", "_waypoint_mps", "board",
        "drive_kind", "on_text", "values",
    )  # fmt: skip
    _state_types: ClassVar[Mapping[str, Any]] = {"texts": list[StatusText]}

    def __init__(
        self, overrides: Mapping[str, float] | None, drive: DriveKind, param_file: Path | None
    ) -> None:
        self.drive_kind = drive
        self.board = BoardOutputs()
        self.texts: deque[StatusText] = deque(maxlen=_MAX_TEXTS)
        self.on_text: Callable[[StatusText], None] | None = None
        self.params = ParamStore(overrides, file=param_file, report=self.say)
        self.values = self.params.values
        self.outputs = ServoOutputs(self.params, drive)
        self.store = ItemStore()
        self.now_us = 0
        self.power_on()
        self._take_params()
        self.params.on_change = self._take_params

    def _take_params(self) -> None:
        """Let all that is asked for in every main loop use the parameters that hold now."""
        values = self.values
        self._top_mps = values["SPEED_MAX"]
        self._waypoint_mps = values["WP_SPEED"] or values["CRUISE_SPEED"]
        self.outputs.take_params(values)
        self.estimator.take_params(values)
        self.speed.take_params(values)
        self.turn.take_params(values)
        self.navigator.take_params(values)

    def power_on(self) -> None:
        """Begin as after a reboot: only parameters, lists, outputs and the clock stay."""
        values = self.values
        self.estimator = Estimator(values)
        self.speed = SpeedController(values)
        self.turn = TurnController(values, self.drive_kind)
        self.navigator = Navigator(values, self.drive_kind)
        self.rc = RcInput(values)
        self.runner = MissionRunner(self.store)
        self.fence = Fence()
        self.smart_rtl = SmartRtlPath(values)
        self.home = Home()
        self.modes = ModeSwitch(self)
        self.texts.clear()
        self.last_text = ""
        self.reached: deque[int] = deque(maxlen=_MAX_TEXTS)
        self.armed = False
        self.disarmed_us = -1  # when it was disarmed last
        self.dt_s = 0.02
        self.speed_mps = 0.0
        self._fixed_e7: dict[Point, tuple[int, int]] = {}
        self._fixed_frame: LocalFrame | None = None

    def load_state(self, state: Mapping[str, Any]) -> None:
        super().load_state(state)
        self.fence.build((), self.local_from_e7)
        self.refresh_fence()

    # --- status texts --------------------------------------------------------------------------

    def say(self, severity: int, text: str) -> None:
        """Emit a status text; severity as in syslog (3 error, 4 warning, 6 information)."""
        said = StatusText(severity, text)
        self.texts.append(said)
        self.last_text = text
        if self.on_text is not None:
            self.on_text(said)

    # --- arming ---------------------------------------------------------------------------

    def arm(self) -> None:
        """Let the motors run."""
        self.armed = True
        self.speed.reset(self.estimator.position.speed_mps)
        self.turn.reset()
        self.smart_rtl.begin(self.here() if self.position_valid() else None)
        self.say(6, "Throttle armed")

    def disarm(self, reason: str) -> None:
        """Stop the motors."""
        self.outputs.neutral()
        if self.armed:
            self.armed = False
            self.disarmed_us = self.now_us
            self.say(6, f"Throttle disarmed ({reason})")

    # --- driving --------------------------------------------------------------------------

    def drive(self, speed_mps: float, turn_rate_radps: float) -> None:
        """Hold a speed and a turn rate."""
        estimator = self.estimator
        if self._top_mps > 0.0:
            speed_mps = clamp(speed_mps, self._top_mps)
        speed = estimator.position.speed_mps
        throttle = self.speed.update(speed_mps, speed, self.dt_s)
        # Near standstill a car steers for the way it is about to go.
        steer_speed = speed if abs(speed) > 0.2 else self.speed.target_mps
        rate = estimator.turn_rate_radps
        steering = self.turn.update(turn_rate_radps, rate, steer_speed, self.dt_s)
        self.outputs.drive(throttle, steering, self.dt_s)
        self.speed.saturated = self.outputs.limited

    def drive_throttle(self, throttle: float, turn_rate_radps: float) -> None:
        """Drive with a throttle, -1..1, and a turn rate."""
        estimator = self.estimator
        speed = estimator.position.speed_mps
        steer_speed = speed if abs(speed) > 0.2 else throttle
        rate = estimator.turn_rate_radps
        steering = self.turn.update(turn_rate_radps, rate, steer_speed, self.dt_s)
        self.speed.reset(speed)
        self.outputs.drive(throttle, steering, self.dt_s)

    def stop(self) -> None:
        """Slow down and stand still."""
        estimator = self.estimator
        still = (
            abs(estimator.position.speed_mps) < self.speed.stop_mps
            and abs(estimator.turn_rate_radps) < _STILL_RADPS
            and abs(self.speed.target_mps) < 1e-6
        )
        if still:
            self.release()
        else:
            self.drive(0.0, 0.0)

    def release(self) -> None:
        """Bring the motors to zero without a look at the estimate: it may be what failed."""
        self.turn.reset()
        self.speed.reset()
        self.outputs.drive(0.0, 0.0, self.dt_s)

    def follow(self, cruise_mps: float) -> bool:
        """Drive along the navigator's leg; true once its end is reached."""
        navigator = self.navigator
        navigator.update(self.estimator, self.now_us, cruise_mps)
        self.drive(navigator.speed_mps, navigator.turn_rate_radps)
        return navigator.reached

    def waypoint_speed_mps(self) -> float:
        """The speed of missions."""
        return self.speed_mps or self._waypoint_mps

    # --- places ---------------------------------------------------------------------------

    def position_valid(self) -> bool:
        """Whether the rover knows where it is."""
        return self.estimator.position_valid(self.now_us)

    def here(self) -> Point:
        """The position in the local frame."""
        position = self.estimator.position
        return position.north_m, position.east_m

    def local_from_e7(self, lat_e7: int, lon_e7: int) -> Point:
        """Turn a place into metres from the EKF origin; needs a position."""
        frame = self.estimator.frame
        if frame is None:
            return 0.0, 0.0
        north, east, _ = frame.ned_from_geodetic(lat_e7 * 1e-7, lon_e7 * 1e-7, frame.alt_m)
        return float(north), float(east)

    def e7_from_local(self, north_m: float, east_m: float) -> tuple[int, int]:
        """Turn metres from the EKF origin into 1e-7 degrees."""
        frame = self.estimator.frame
        if frame is None:
            return 0, 0
        lat, lon, _ = frame.geodetic_from_ned(north_m, east_m, 0.0)
        return floor(lat * 1e7 + 0.5), floor(lon * 1e7 + 0.5)

    def e7_of_fixed(self, place: Point) -> tuple[int, int]:
        """The same for a place that stays for a while; worked out once, as it takes 15 us."""
        if self._fixed_frame is not self.estimator.frame or len(self._fixed_e7) >= _MAX_FIXED:
            self._fixed_frame = self.estimator.frame
            self._fixed_e7.clear()
        known = self._fixed_e7.get(place)
        if known is None:
            known = self._fixed_e7[place] = self.e7_from_local(*place)
        return known

    def set_home(self, lat_e7: int, lon_e7: int, alt_m: float) -> None:
        """Make a place home; the mission shows it as item 0."""
        home = self.home
        home.lat_e7, home.lon_e7, home.alt_m = lat_e7, lon_e7, alt_m
        home.north_m, home.east_m = self.local_from_e7(lat_e7, lon_e7)
        home.valid = True
        self.store.set_home_item(lat_e7, lon_e7, alt_m)
        self.refresh_fence()

    def set_home_here(self) -> None:
        """Make the present place home."""
        self.set_home(*self.e7_from_local(*self.here()), self.estimator.altitude.alt_m)

    def follow_home(self) -> None:
        """Let home follow a disarmed rover, unless a ground station put it somewhere."""
        home = self.home
        if not home.valid or home.locked or not self.position_valid():
            return
        if distance_m(self.here(), (home.north_m, home.east_m)) >= _HOME_MOVED_M:
            self.set_home_here()

    def fence_excess_m(self) -> float:
        """How far it is on the wrong side of a fence now; below 0 inside, or without a fence."""
        values, home = self.values, self.home
        if not values["FENCE_ENABLE"] or not home.valid or not self.position_valid():
            return -1.0
        return self.fence.excess_m(
            self.here(),
            (home.north_m, home.east_m),
            int(values["FENCE_TYPE"]),
            values["FENCE_RADIUS"],
        )

    def refresh_fence(self) -> None:
        """Rebuild the fence from its items and home."""
        if self.estimator.frame is not None:
            self.fence.build(self.store.items(MissionType.FENCE), self.local_from_e7)


_SELECTABLE = {int(mode): mode.name for mode in Mode if mode is not Mode.INITIALISING}
# Ground stations offer them for every rover.
_NOT_HERE = {6: "FOLLOW", 7: "SIMPLE", 8: "DOCK"}


class ModeSwitch(Snapshot):
    """All modes of one rover, one of them in charge.

    Attributes:
        auto: the mode that drives missions; ``guided`` the one that takes targets.
        current: the mode in charge.
        paused: an autonomous mode stands still until it may continue.
    """

    __slots__ = ("_modes", "_rover", "auto", "current", "guided", "paused")
    _state_fields = ("_modes", "current_number", "paused")

    def __init__(self, rover: RoverContext) -> None:
        self._rover = rover
        self.auto, self.guided = AutoMode(), GuidedMode()
        made: tuple[RoverMode, ...] = (
            InitialisingMode(), ManualMode(), AcroMode(), SteeringMode(), HoldMode(), LoiterMode(),
            CircleMode(), self.auto, RtlMode(), SmartRtlMode(), self.guided,
        )  # fmt: skip
        self._modes = {mode.number.name: mode for mode in made}
        self.current = made[0]
        self.paused = False

    @property
    def current_number(self) -> Mode:
        """ArduRover's number of the mode in charge."""
        return self.current.number

    @current_number.setter
    def current_number(self, number: Mode) -> None:
        self.current = self._modes[number.name]

    def change(self, number: int, reason: str) -> Result:
        """Put a mode in charge, or report why it cannot be."""
        rover = self._rover
        mode = self._modes.get(_SELECTABLE.get(number, ""))
        if mode is None:
            name = _NOT_HERE.get(number)
            rover.say(4, f"{name} is not built in" if name else f"No such mode {number}")
            return Result.DENIED
        if mode is self.current:
            return Result.ACCEPTED
        had_leg, rover.navigator.has_leg = rover.navigator.has_leg, False
        why_not = self._obstacle(mode)
        if why_not:
            rover.navigator.has_leg = had_leg
            rover.say(4, f"Mode change to {mode.number.name} failed: {why_not}")
            return Result.FAILED
        before = self.current
        before.leave(rover)
        self.current = mode
        self.paused = False
        rover.speed_mps = 0.0
        rover.turn.reset()
        rover.speed.reset(rover.estimator.position.speed_mps)
        rover.say(6, f"Mode {mode.number.name} ({reason})")
        return Result.ACCEPTED

    def _obstacle(self, mode: RoverMode) -> str | None:
        rover = self._rover
        if self.current.number is Mode.INITIALISING and not rover.estimator.tilt.samples:
            return "initialising"
        if mode.needs_position and not rover.position_valid():
            return "requires position"
        return mode.enter(rover)

    def run(self) -> None:
        """Let the mode in charge drive for one main loop."""
        rover = self._rover
        mode = self.current
        if mode.needs_position and not rover.estimator.position_valid(rover.now_us):
            rover.release()
        elif self.paused and mode.autonomous:
            rover.stop()
        else:
            mode.run(rover)
