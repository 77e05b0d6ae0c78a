"""RoverAutopilot: the main loop over the parts of this package."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from pico_gz.core.autopilot import AutopilotStatus
from pico_gz.core.ground_control import GcsVehicle, Mode, Result, StatusText, Telemetry
from pico_gz.core.snapshot import Snapshot
from pico_gz.core.subclassable import mypyc_attr
from pico_gz.core.vehicle_config import DriveKind
from pico_gz.errors import ConfigError
from pico_gz.vehicle.autopilot.actions import ARM_FUNCTIONS, MotorTest, do_action
from pico_gz.vehicle.autopilot.context import RoverContext
from pico_gz.vehicle.autopilot.failsafe import BatteryMonitor, Failsafe
from pico_gz.vehicle.autopilot.gcs_commands import (
    GuidedCommands,
    MissionCommands,
    arming_problems,
)
from pico_gz.vehicle.autopilot.mission import (
    MAX_ALT_M,
    MAX_LAT_E7,
    MAX_LON_E7,
    MAX_SPEED_MPS,
    MissionCommand,
    MissionState,
)
from pico_gz.vehicle.autopilot.parameters import ParamStore
from pico_gz.vehicle.autopilot.rc_input import PilotSwitches
from pico_gz.vehicle.autopilot.telemetry import build_telemetry

if TYPE_CHECKING:
    from pico_gz.vehicle.platform.platform import SitlPlatform


_PERIOD_US: Final = 20_000
_SLOW_EVERY: Final = 5
_SAVE_EVERY: Final = 50
_HOME_EVERY: Final = 50
_STALL_US: Final = 200_000
_READY_SAMPLES: Final = 40
_DO_MOTOR_TEST: Final = 209
# Of the parameters of PREFLIGHT_CALIBRATION: gyro, pressure, accelerometer.
_CALIBRATES = (0, 2, 4)
_BANNER = "ArduRover V4.6.0 (pico_gz)"
# Asked for in every step; Python 3.11 takes 0.15 us to look up a member or its name.
_MODE_NAMES = {mode: mode.name for mode in Mode}
_INITIALISING, _COMPLETE = Mode.INITIALISING, MissionState.COMPLETE


@mypyc_attr(allow_interpreted_subclasses=True)
class RoverAutopilot(Snapshot, GcsVehicle):
    """A rover autopilot with ArduRover's modes and parameters, on a ``SitlPlatform``.

    It sees the platform only. Home and the origin of its coordinates come from the first good
    GPS fixes. All time is simulation time; equal inputs give equal outputs, bit for bit.

    Args:
        params: changes to the default parameters (preset, fleet file).
        drive: how the rover is driven.
        param_file: where changed parameters are kept; ``None`` keeps them nowhere.

    Raises:
        ConfigError: ``params`` names what does not exist or cannot have that value.
    """

    _state_fields: ClassVar[tuple[str, ...]] = (
        "_loops",
        "_rover",
        "_battery",
        "_failsafe",
        "_switches",
    )

    def __init__(
        self,
        params: Mapping[str, float] | None = None,
        *,
        drive: DriveKind = DriveKind.SKID,
        param_file: Path | None = None,
    ) -> None:
        self.period_us = _PERIOD_US
        self._rover = rover = RoverContext(params, drive, param_file)
        self._missions = MissionCommands(rover)
        self._guided = GuidedCommands(rover)
        self._platform: SitlPlatform | None = None
        self._loops = 0
        self._watch()

    def _watch(self) -> None:
        """Start what watches beside the modes."""
        self._battery = BatteryMonitor(self._rover.values)
        self._failsafe = Failsafe()
        self._switches = PilotSwitches()
        self._motor_test = MotorTest()

    @property
    def params(self) -> ParamStore:
        return self._rover.params

    @property
    def missions(self) -> MissionCommands:
        return self._missions

    @property
    def guided(self) -> GuidedCommands:
        return self._guided

    # --- the vehicle's side ---------------------------------------------------------------

    def start(self, platform: SitlPlatform) -> None:
        """Claim the servo outputs; they stay neutral until the rover is armed."""
        self._platform = platform
        rover = self._rover
        rover.params.note("SYSID_THISMAV", platform.vehicle_id)
        rover.now_us = platform.timer.now_us()
        rover.outputs.claim(platform)
        rover.board.platform = platform
        rover.outputs.neutral()
        rover.say(6, _BANNER)

    def tick(self, now_us: int) -> None:
        """Run one main loop: sense, watch, drive."""
        platform = self._platform
        if platform is None:
            raise ConfigError("The autopilot was not started.", hint="Call start(platform) first.")
        rover = self._rover
        elapsed_us = now_us - rover.now_us
        rover.now_us = now_us
        rover.dt_s = elapsed_us * 1e-6 if 0 < elapsed_us <= _STALL_US else _PERIOD_US * 1e-6
        if elapsed_us > _STALL_US and rover.armed:
            rover.say(2, f"Main loop stalled for {elapsed_us / 1e6:.1f} s")
            rover.disarm("stalled")
        outputs = rover.outputs
        rover.estimator.update(platform, now_us, outputs.throttle, outputs.steering)
        rover.rc.update(platform, now_us)
        self._loops += 1
        if self._loops % _SLOW_EVERY == 0:
            self._run_slow(platform, now_us)
        if rover.armed:
            rover.modes.run()
        else:
            outputs.neutral()
            if self._motor_test.until_us > now_us:
                outputs.test(self._motor_test.first, self._motor_test.second)

    def _run_slow(self, platform: SitlPlatform, now_us: int) -> None:
        """What ten times a second is enough for."""
        rover = self._rover
        if rover.modes.current.number is _INITIALISING:
            self._leave_initialising()
        if rover.estimator.frame is not None and not rover.home.valid:
            self._take_home()
        elif not rover.armed and self._loops % _HOME_EVERY == 0:
            rover.follow_home()
        rover.estimator.watch_imu(rover.outputs.steering)
        self._battery.update(platform, now_us)
        self._switches.check(rover, self)
        self._failsafe.check(rover, self._battery)
        if rover.armed and rover.modes.current.number is not Mode.SMART_RTL:
            self._drop_crumb()
        if self._loops % _SAVE_EVERY == 0:
            rover.params.flush()

    def _leave_initialising(self) -> None:
        rover = self._rover
        if rover.estimator.tilt.samples < _READY_SAMPLES:
            return
        wanted = int(rover.values["INITIAL_MODE"])
        if rover.modes.change(wanted, "initialised") is not Result.ACCEPTED:
            rover.modes.change(Mode.HOLD, "initialised")
        if rover.values["ARMING_REQUIRE"] == 0:
            rover.arm()

    def _take_home(self) -> None:
        rover = self._rover
        lat_e7, lon_e7 = rover.e7_from_local(0.0, 0.0)
        rover.set_home(lat_e7, lon_e7, rover.estimator.altitude.alt_m)
        rover.say(6, "EKF origin and home set")

    def _drop_crumb(self) -> None:
        rover = self._rover
        if rover.position_valid() and not rover.smart_rtl.add(rover.here()):
            rover.say(4, "SmartRTL deactivated: path too long")

    def status(self) -> AutopilotStatus:
        """Summary for status lines; called from any thread, never blocks."""
        rover = self._rover
        runner = rover.runner
        return AutopilotStatus(
            mode=_MODE_NAMES[rover.modes.current.number],
            armed=rover.armed,
            waypoint=runner.current if runner.current > 0 else -1,
            last_message=rover.last_text,
            done=runner.state is _COMPLETE,
        )

    def alarms(self) -> list[tuple[str, str]]:
        """What is wrong now, as (kind, reason); called on the thread that runs it."""
        return self._failsafe.alarms(self._rover, self._battery)

    # --- the ground station's side: reading ----------------------------------------------

    def telemetry(self) -> Telemetry:
        platform = self._platform
        servo_us = platform.servo_outputs_us() if platform is not None else ()
        ready = not arming_problems(self._rover, self._battery, self._failsafe)
        return build_telemetry(
            self._rover,
            self._battery,
            servo_us,
            ready=ready,
            critical=self._failsafe.in_force(self._rover),
        )

    def drain_texts(self) -> list[StatusText]:
        if not self._rover.texts:
            return []
        texts = list(self._rover.texts)
        self._rover.texts.clear()
        return texts

    def listen(self, listener: Callable[[StatusText], None]) -> None:
        """Deliver each status text as it is emitted, and now those not drained yet.

        Nothing is taken away from ``drain_texts``. There is one listener, called on the thread
        that runs the autopilot.
        """
        for text in tuple(self._rover.texts):
            listener(text)
        self._rover.on_text = listener

    def drain_reached(self) -> list[int]:
        if not self._rover.reached:
            return []
        reached = list(self._rover.reached)
        self._rover.reached.clear()
        return reached

    # --- commands -------------------------------------------------------------------------

    def arm(self, *, force: bool = False) -> Result:
        rover = self._rover
        if rover.armed:
            return Result.ACCEPTED
        problems = [] if force else arming_problems(rover, self._battery, self._failsafe)
        for problem in problems:
            rover.say(2, f"Arm: {problem}")
        if problems or not rover.modes.current.arms:
            return Result.FAILED
        rover.arm()
        return Result.ACCEPTED

    def disarm(self, *, force: bool = False) -> Result:
        self._rover.disarm("forced" if force else "GCS")
        return Result.ACCEPTED

    def set_mode(self, mode: int, reason: str = "GCS") -> Result:
        return self._rover.modes.change(mode, reason)

    def start_mission(self, first_seq: int = 0) -> Result:
        if first_seq and self.missions.set_current(first_seq) is not Result.ACCEPTED:
            return Result.DENIED
        rover = self._rover
        finished = rover.runner.state is _COMPLETE
        if rover.modes.current.number is Mode.AUTO and finished:
            return self.missions.set_current(1)
        return self.set_mode(Mode.AUTO)

    def set_home(self, lat_e7: int, lon_e7: int, alt_m: float) -> Result:
        placed = abs(lat_e7) <= MAX_LAT_E7 and abs(lon_e7) <= MAX_LON_E7
        if not placed or (lat_e7 == 0 and lon_e7 == 0) or not abs(alt_m) <= MAX_ALT_M:
            return Result.DENIED
        if self._rover.estimator.frame is None:
            return Result.TEMPORARILY_REJECTED
        self._rover.set_home(lat_e7, lon_e7, alt_m)
        self._rover.home.locked = True
        return Result.ACCEPTED

    def set_home_here(self) -> Result:
        rover = self._rover
        if not rover.position_valid():
            return Result.FAILED
        rover.set_home_here()
        rover.home.locked = True
        return Result.ACCEPTED

    def change_speed(self, speed_mps: float) -> Result:
        if not 0.0 < speed_mps <= MAX_SPEED_MPS:
            return Result.DENIED
        self._rover.speed_mps = speed_mps
        self._rover.modes.guided.point_speed_mps = speed_mps
        return Result.ACCEPTED

    def set_reverse(self, reverse: bool) -> Result:
        self._rover.navigator.reversed = bool(reverse)
        return Result.ACCEPTED

    def set_paused(self, paused: bool) -> Result:
        modes = self._rover.modes
        if not modes.current.autonomous:
            return Result.DENIED
        modes.paused = paused
        return Result.ACCEPTED

    def prearm_checks(self) -> Result:
        problems = arming_problems(self._rover, self._battery, self._failsafe)
        for problem in problems:
            self._rover.say(4, f"PreArm: {problem}")
        if not problems:
            self._rover.say(6, "PreArm: ready")
        return Result.FAILED if problems else Result.ACCEPTED

    def calibrate(self, params: Sequence[float]) -> Result:
        # Gyro and barometer calibrate themselves while the rover stands. The accelerometer has no
        # error that stays, so its calibration ends at once. Others are refused.
        if self._rover.armed:
            return Result.DENIED
        wanted = [isfinite(value) and value != 0.0 for value in params]
        if any(want and index not in _CALIBRATES for index, want in enumerate(wanted)):
            return Result.UNSUPPORTED
        # Mission Planner waits for these words.
        self._rover.say(6, "Calibration successful")
        return Result.ACCEPTED

    def do_command(self, command: int, params: Sequence[float]) -> Result:
        if not all(isfinite(value) for value in params):
            return Result.DENIED
        if command == _DO_MOTOR_TEST:
            if self._platform is not None:
                self._platform.hold_while_disarmed(self._may_move)
            return self._motor_test.start(self._rover, params)
        if command == MissionCommand.DO_AUX_FUNCTION and int(params[0]) in ARM_FUNCTIONS:
            return self.arm() if params[1] == 2.0 else self.disarm()
        return do_action(self._rover, command, params)

    def _may_move(self) -> bool:
        return self._rover.armed or self._motor_test.until_us > self._rover.now_us

    def reboot(self) -> Result:
        rover = self._rover
        if rover.armed:
            return Result.DENIED
        rover.power_on()
        rover.runner.reset()
        rover.outputs.neutral()
        self._watch()
        rover.say(6, _BANNER)
        return Result.ACCEPTED

    # --- manual input ---------------------------------------------------------------------

    def rc_override(self, channels_us: Mapping[int, int]) -> None:
        self._rover.rc.override(channels_us, self._rover.now_us)

    def release_rc_override(self, channels: Sequence[int]) -> None:
        self._rover.rc.release(channels)

    def manual_control(self, x: float, y: float, z: float, r: float, buttons: int) -> None:
        values = self._rover.values
        sticks = ((int(values["RCMAP_ROLL"]), y), (int(values["RCMAP_THROTTLE"]), z))
        self.rc_override(
            {
                channel: round(1500.0 + 500.0 * min(1.0, max(-1.0, value)))
                for channel, value in sticks
                if isfinite(value)
            }
        )

    def gcs_heartbeat(self, system_id: int) -> None:
        if system_id == int(self._rover.values["SYSID_MYGCS"]):
            self._failsafe.gcs_us = self._rover.now_us
