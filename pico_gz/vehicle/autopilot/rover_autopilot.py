"""RoverAutopilot: the main loop over the parts of this package."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pico_gz.core.autopilot import AutopilotStatus
from pico_gz.core.ground_control import Mode, ParamInfo, Result, StatusText, Telemetry
from pico_gz.core.vehicle_config import DriveKind
from pico_gz.errors import ConfigError
from pico_gz.vehicle.autopilot.context import RoverContext
from pico_gz.vehicle.autopilot.failsafe import BatteryMonitor, Failsafe
from pico_gz.vehicle.autopilot.gcs_commands import GcsCommands, arming_problems
from pico_gz.vehicle.autopilot.mission import MissionState
from pico_gz.vehicle.autopilot.mode_switch import ModeSwitch
from pico_gz.vehicle.autopilot.parameters import read_parameter_file, write_parameter_file
from pico_gz.vehicle.autopilot.rc_input import PilotSwitches
from pico_gz.vehicle.autopilot.telemetry import build_telemetry

if TYPE_CHECKING:
    from pico_gz.vehicle.platform.platform import SitlPlatform


logger = logging.getLogger(__name__)

_PERIOD_US = 20_000
_SLOW_EVERY = 5
_SAVE_EVERY = 50
_STALL_US = 200_000
_READY_SAMPLES = 40

# Parts of the context that a snapshot holds, under these names.
_PARTS = (
    "estimator", "fence", "home", "navigator", "outputs", "params", "rc", "runner", "smart_rtl",
    "speed", "store", "turn", "modes",
)  # fmt: skip


class RoverAutopilot(GcsCommands):
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

    def __init__(
        self,
        params: Mapping[str, float] | None = None,
        *,
        drive: DriveKind = DriveKind.SKID,
        param_file: Path | None = None,
    ) -> None:
        self.period_us = _PERIOD_US
        self._rover = RoverContext(params, drive)
        self._rover.modes = ModeSwitch(self._rover)
        self._battery = BatteryMonitor(self._rover.values)
        self._failsafe = Failsafe()
        self._switches = PilotSwitches()
        self._platform: SitlPlatform | None = None
        self._param_file = param_file
        self._save_failed = False
        self._loops = 0
        if param_file is not None and param_file.exists():
            self._load_params(param_file)

    # --- the vehicle's side ---------------------------------------------------------------

    def start(self, platform: SitlPlatform) -> None:
        """Claim the servo outputs; they stay neutral until the rover is armed."""
        self._platform = platform
        rover = self._rover
        rover.params.note("SYSID_THISMAV", platform.vehicle_id)
        rover.now_us = platform.timer.now_us()
        rover.outputs.claim(platform)
        rover.outputs.neutral()
        rover.say(6, "ArduRover V4.6.0 (pico_gz)")

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

    def _run_slow(self, platform: SitlPlatform, now_us: int) -> None:
        """What ten times a second is enough for."""
        rover = self._rover
        if rover.modes.current.number is Mode.INITIALISING:
            self._leave_initialising()
        if rover.estimator.frame is not None and not rover.home.valid:
            self._take_home()
        rover.estimator.watch_imu(rover.outputs.steering)
        self._battery.update(platform, now_us)
        self._switches.check(rover, self)
        self._failsafe.check(rover, self._battery)
        if rover.armed and rover.modes.current.number is not Mode.SMART_RTL:
            self._drop_crumb()
        if self._loops % _SAVE_EVERY == 0:
            self.flush_params()

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
        """Tell about itself; called from any thread, never blocks."""
        rover = self._rover
        runner = rover.runner
        return AutopilotStatus(
            mode=rover.modes.current.number.name,
            armed=rover.armed,
            waypoint=runner.current if runner.current > 0 else -1,
            last_message=rover.last_text,
            done=runner.state is MissionState.COMPLETE,
        )

    def telemetry(self) -> Telemetry:
        """What it believes now; built on request."""
        platform = self._platform
        servo_us = platform.servo_outputs_us() if platform is not None else ()
        ready = not arming_problems(self._rover, self._battery, self._failsafe)
        return build_telemetry(self._rover, self._battery, servo_us, ready)

    def reboot(self) -> Result:
        """Begin again as after power-on; parameters and lists are kept. Refused while armed."""
        if self._rover.armed:
            return Result.DENIED
        old = self._rover
        self._rover = fresh = RoverContext(None, old.drive_kind)
        fresh.modes = ModeSwitch(fresh)
        fresh.params.load_state(old.params.save_state())
        fresh.store.load_state(old.store.save_state())
        fresh.runner.reset()
        fresh.outputs.take_over(old.outputs)
        fresh.now_us, fresh.on_text = old.now_us, old.on_text
        self._battery = BatteryMonitor(fresh.values)
        self._failsafe = Failsafe()
        self._switches = PilotSwitches()
        fresh.say(6, "ArduRover V4.6.0 (pico_gz)")
        return Result.ACCEPTED

    # --- parameters in a file -------------------------------------------------------------

    def flush_params(self) -> Result:
        """Write changed parameters to the file now, if there is one and anything changed."""
        params = self._rover.params
        if self._param_file is None or not params.take_dirty():
            return Result.ACCEPTED
        try:
            write_parameter_file(self._param_file, params.changed_from_base())
        except OSError as error:
            params.keep_dirty()
            if not self._save_failed:
                logger.warning("Parameters cannot be saved to %s: %s", self._param_file, error)
                self._rover.say(3, "Parameters could not be saved")
            self._save_failed = True
            return Result.FAILED
        self._save_failed = False
        return Result.ACCEPTED

    def drain_param_changes(self) -> list[ParamInfo]:
        """Take the parameters set since the last call; what is told is in the file."""
        self.flush_params()
        return super().drain_param_changes()

    def _load_params(self, path: Path) -> None:
        for name, value in read_parameter_file(path, strict=False).items():
            self._rover.params.set(name, value)
        self._rover.params.take_dirty()
        self._rover.params.drain_changes()

    # --- snapshots ------------------------------------------------------------------------

    def save_state(self) -> dict[str, Any]:
        """Everything needed to go on from here, as plain values."""
        rover = self._rover
        return {
            "loops": self._loops,
            "armed": rover.armed,
            "disarmed_us": rover.disarmed_us,
            "now_us": rover.now_us,
            "dt_s": rover.dt_s,
            "speed_mps": rover.speed_mps,
            "last_text": rover.last_text,
            "texts": [[text.severity, text.text] for text in rover.texts],
            "reached": list(rover.reached),
            "battery": self._battery.save_state(),
            "failsafe": self._failsafe.save_state(),
            "switches": self._switches.save_state(),
            "parts": {name: getattr(rover, name).save_state() for name in _PARTS},
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave, bit for bit."""
        rover = self._rover
        self._loops = state["loops"]
        rover.armed, rover.disarmed_us = state["armed"], state["disarmed_us"]
        rover.now_us, rover.dt_s = state["now_us"], state["dt_s"]
        rover.speed_mps = state["speed_mps"]
        rover.last_text = state["last_text"]
        rover.texts.clear()
        rover.texts.extend(StatusText(severity, text) for severity, text in state["texts"])
        rover.reached.clear()
        rover.reached.extend(state["reached"])
        self._battery.load_state(state["battery"])
        self._failsafe.load_state(state["failsafe"])
        self._switches.load_state(state["switches"])
        for name in _PARTS:
            getattr(rover, name).load_state(state["parts"][name])
        rover.refresh_fence()
