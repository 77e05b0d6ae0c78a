"""Starts an ArduRover: a line to paste, or a child process.

ArduRover ignores SIGTERM and SIGINT while its simulator is silent, so it is ended before the
server that it talks to, and killed after a second. It also ends when this process is killed,
with everything that it started.
"""

from __future__ import annotations

import math
import os
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path

import msgspec

from pico_gz.core.frames import LocalFrame
from pico_gz.core.guarded_process import GuardedProcess
from pico_gz.core.ports import FDM_BASE, FDM_STRIDE
from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.vehicle_config import AircraftChannels, ChannelMap, DriveKind, VehicleConfig
from pico_gz.errors import LaunchError, MissingProgramError
from pico_gz.vehicle.external.external_vehicle import FdmWire

PARAMETER_FILE = "rover.parm"

# SERVOn_FUNCTION: which output does what.
_THROTTLE_LEFT, _THROTTLE_RIGHT = 73, 74
_STEERING, _THROTTLE = 26, 70
_AILERON, _ELEVATOR, _RUDDER = 4, 19, 21


class ArduRoverStart(msgspec.Struct, frozen=True, kw_only=True):
    """Everything in the start-up line of one ArduRover.

    Attributes:
        vehicle_id: also the MAVLink system id; the instance is one less.
        fdm_port: where the kit serves the vehicle.
        home: the fleet's origin, the same for all.
        gcs_port: UDP port of the ground station.
        gcs_host: and its host.
        fdm_host: numeric address of the kit.
        speedup: how many times faster than real time it may run.
        program: name or path of the binary.
        run_dir: folder of its own, for its parameters and logs.
        base_port: first of the three TCP ports that it opens; 0: by its instance.
        rc_port: UDP port that it opens for radio control; 0: by its instance.
        wire: the language of its wire.
        wipe: forget parameters and missions of earlier runs.
    """

    vehicle_id: int
    fdm_port: int
    home: LocalFrame
    gcs_port: int
    gcs_host: str = "127.0.0.1"
    fdm_host: str = "127.0.0.1"
    speedup: float = 1.0
    program: str = "ardurover"
    run_dir: str = ""
    base_port: int = 0
    rc_port: int = 0
    wire: FdmWire = FdmWire.JSON
    wipe: bool = False

    def command(self) -> list[str]:
        """The program and its arguments, to be started in the run folder."""
        instance = self.vehicle_id - 1
        home = self.home
        words = [
            self.program,
            "--model",
            f"JSON:{self.fdm_host}",
            "-I",
            str(instance),
            "--sysid",
            str(self.vehicle_id),
            "--home",
            f"{home.lat_deg:.7f},{home.lon_deg:.7f},{home.alt_m:g},0",
            "--speedup",
            f"{self.speedup:g}",
            f"--serial0=udpclient:{self.gcs_host}:{self.gcs_port}",
            "--defaults",
            PARAMETER_FILE,
        ]
        if self.fdm_port != FDM_BASE + FDM_STRIDE * instance:
            words[5:5] = ["--sim-port-out", str(self.fdm_port)]
        if self.base_port:  # before the instance, which else sets them
            words[1:1] = ["--base-port", str(self.base_port), "--rc-in-port", str(self.rc_port)]
        if self.wire is FdmWire.WEBOTS:  # which binds a port of its own
            words[words.index("--model") + 1] = "webots-python"
            words += ["--sim-address", self.fdm_host, "--sim-port-in", str(self.fdm_port + 1)]
        return [*words, "--wipe"] if self.wipe else words

    def line(self) -> str:
        """The line to paste into a terminal."""
        folder = shlex.quote(self.run_dir or f"rover_{self.vehicle_id}")
        return f"mkdir -p {folder} && cd {folder} && {shlex.join(self.command())}"


# A calibrated IMU, as the JSON model has it by itself; without these it does not arm.
_CALIBRATED: dict[str, float] = {
    "INS_GYR_CAL": 0,
    **{f"INS_ACC{n}OFFS_{axis}": 0.001 for n in ("", "2") for axis in "XYZ"},
    **{f"INS_ACC{n}SCAL_{axis}": 1.001 for n in ("", "2") for axis in "XYZ"},
}


def rover_parameters(spec: RoverSpec, vehicle: VehicleConfig | None = None) -> dict[str, float]:
    """Return the ArduRover parameters that fit a rover description."""
    channels = vehicle.channels if vehicle is not None else spec.channels
    return {
        "FRAME_CLASS": 1,
        **_outputs(spec.drive, channels),
        **_speeds(spec),
        "ARMING_CHECK": 1,
        "AHRS_EKF_TYPE": 3,
        "EK2_ENABLE": 0,
        "EK3_ENABLE": 1,
        "FS_CRASH_CHECK": 0,
        "FS_THR_ENABLE": 0,
        "FS_GCS_ENABLE": 0,
        "RC1_MIN": 1000,
        "RC1_MAX": 2000,
        "RC1_TRIM": 1500,
        "RC3_MIN": 1000,
        "RC3_MAX": 2000,
        "RC3_TRIM": 1500,
        "MODE1": 10,
        "MODE2": 11,
        "MODE3": 12,
        "MODE4": 1,
        "MODE5": 4,
        "MODE6": 0,
    }


def plane_parameters(channels: AircraftChannels) -> dict[str, float]:
    """Return the ArduPlane parameters that fit the wire; tuning is up to the aircraft."""
    functions = {
        channels.aileron: _AILERON,
        channels.elevator: _ELEVATOR,
        channels.throttle: _THROTTLE,
        channels.rudder: _RUDDER,
    }
    return {
        **_servos(functions, {1, 2, 3, 4}),
        f"SERVO{channels.throttle}_TRIM": 1000,
        # The airspeed of the records, instead of a sensor on a pin.
        "ARSPD_TYPE": 100,
        "ARSPD_USE": 1,
        "AHRS_EKF_TYPE": 3,
        "EK3_ENABLE": 1,
        "THR_FAILSAFE": 0,
    }


def parameter_file(
    spec: RoverSpec, vehicle: VehicleConfig | None = None, wire: FdmWire = FdmWire.JSON
) -> str:
    """Return the text of ``rover.parm``; for an aircraft its parameters are ArduPlane's."""
    if vehicle is not None and vehicle.aircraft_channels is not None:
        firmware, found = "ArduPlane", plane_parameters(vehicle.aircraft_channels)
    else:
        firmware, found = "ArduRover", rover_parameters(spec, vehicle)
    if wire is FdmWire.WEBOTS:
        found |= _CALIBRATED
    lines = [f"# {firmware} parameters for the preset {spec.preset}."]
    lines += [f"{name} {value:g}" for name, value in found.items()]
    return "\n".join(lines) + "\n"


def _outputs(drive: DriveKind, channels: ChannelMap) -> dict[str, float]:
    if drive is DriveKind.SKID:
        functions = {channels.left: _THROTTLE_LEFT, channels.right: _THROTTLE_RIGHT}
    else:
        functions = {channels.steering: _STEERING, channels.throttle: _THROTTLE}
    return _servos(functions, {1, 3})


def _servos(functions: Mapping[int, int], defaults: Set[int]) -> dict[str, float]:
    """Functions by channel; the firmware's own defaults are taken away where they do not belong."""
    found: dict[str, float] = {}
    for channel in sorted(defaults | functions.keys()):
        found[f"SERVO{channel}_FUNCTION"] = functions.get(channel, 0)
        found[f"SERVO{channel}_MIN"] = 1000
        found[f"SERVO{channel}_MAX"] = 2000
        found[f"SERVO{channel}_TRIM"] = 1500
    return found


def _speeds(spec: RoverSpec) -> dict[str, float]:
    """Speeds and steering gain: ArduPilot's own for its SITL rovers, else from the rover."""
    if spec.preset == "ardupilot_skid":
        cruise, throttle, radius, steering = 3.0, 75.0, 2.0, 0.2
    elif spec.preset == "ardupilot_car":
        cruise, throttle, radius, steering = 5.0, 30.0, 3.0, 0.75
    else:
        cruise, throttle, radius = round(0.7 * spec.max_speed, 2), 70.0, 2.0
        steering = round(_steering_per_turn_rate(spec), 3)
    return {
        "CRUISE_SPEED": cruise,
        "CRUISE_THROTTLE": throttle,
        "WP_SPEED": cruise,
        "WP_RADIUS": radius,
        "ATC_STR_RAT_FF": steering,
        **({"ATC_SPEED_P": 0.1} if spec.preset == "ardupilot_car" else {}),
    }


def _steering_per_turn_rate(spec: RoverSpec) -> float:
    """Steering output per rad/s: at full spin for skid steer, at 1 m/s for an Ackermann."""
    if spec.drive is DriveKind.SKID:
        full_radps = 2.0 * spec.skid_turn_radps or 2.0 * spec.max_speed / spec.effective_track_m
        return 1.0 / full_radps
    if spec.turn_circle_m:
        return 0.5 * spec.turn_circle_m
    return spec.wheel_base / math.tan(math.radians(spec.max_steer_deg))


GRACE_S = 1.0
LOG_FILE = "autopilot.log"
_TAIL_LINES = 20


class AutopilotProcess:
    """Runs one autopilot in a folder of its own; its output goes to ``autopilot.log`` there.

    Args:
        command: the program and its arguments.
        run_dir: where it runs.
        show: also takes every line of its output, on a thread.
    """

    def __init__(
        self, command: Sequence[str], run_dir: Path, show: Callable[[str], None] | None = None
    ) -> None:
        self._command = tuple(command)
        self._run_dir = run_dir
        self._show = show
        self._process: GuardedProcess | None = None

    def start(self) -> AutopilotProcess:
        """Start it.

        Raises:
            MissingProgramError: there is no such program.
        """
        self._run_dir.mkdir(parents=True, exist_ok=True)
        program = self._command[0]
        if shutil.which(self._run_dir / program if "/" in program else program) is None:
            raise MissingProgramError(
                f"There is no program {program!r}.",
                hint="Build ArduRover SITL and put it on the PATH, or name it in full.",
            )
        self._process = GuardedProcess(
            self._command,
            os.environ,
            self._run_dir / LOG_FILE if self._show is None else self._log_and_show,
            grace_s=GRACE_S,
            cwd=self._run_dir,
        )
        return self

    def _log_and_show(self, line: str) -> None:
        with (self._run_dir / LOG_FILE).open("a") as log_file:
            log_file.write(f"{line}\n")
        if self._show is not None:
            self._show(line)

    @property
    def exit_code(self) -> int | None:
        """How it ended; ``None`` while it runs, and before its start."""
        return None if self._process is None else self._process.exit_code

    def is_running(self) -> bool:
        """Whether it has been started and has not ended."""
        return self._process is not None and self._process.exit_code is None

    def require_running(self) -> None:
        """Raise what it said last if it has ended by itself.

        Raises:
            LaunchError: with its exit code and last lines.
        """
        if self._process is not None and self._process.exit_code is not None:
            raise LaunchError(
                f"{self._command[0]} has ended.",
                command=self._command,
                exit_code=self._process.exit_code,
                output_tail=self.last_lines(),
            )

    def last_lines(self) -> list[str]:
        """The end of its output."""
        try:
            text = (self._run_dir / LOG_FILE).read_text(errors="replace")
        except OSError:
            return []
        return text.splitlines()[-_TAIL_LINES:]

    def stop(self) -> None:
        """Ask it and its children to end, then make them; harmless when it has ended."""
        process, self._process = self._process, None
        if process is not None:
            process.stop()

    def __enter__(self) -> AutopilotProcess:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
