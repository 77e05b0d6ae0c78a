"""A mixin: MAVLink for an autopilot of one's own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from pico_gz.core.autopilot import AutopilotStatus
from pico_gz.core.ground_control import (
    MissionItem,
    MissionResult,
    MissionType,
    Mode,
    ParamInfo,
    ParamType,
    Result,
    StatusText,
    Telemetry,
)
from pico_gz.core.snapshot import Snapshot
from pico_gz.errors import ConfigError, did_you_mean
from pico_gz.vehicle.platform.platform import SitlPlatform

_KEPT_TEXTS = 100
_LONGEST_NAME = 16  # MAVLink's
_PREARM_CHECK = 1 << 28  # MAV_SYS_STATUS_PREARM_CHECK


class OwnParams(Snapshot):
    """The parameters of an autopilot of one's own: ``params["SPEED"]`` reads one."""

    _state_fields = ("_values",)

    def __init__(self, defaults: Mapping[str, float]) -> None:
        for name in defaults:
            if not 0 < len(name) <= _LONGEST_NAME or not name.isascii():
                raise ConfigError(f"A parameter has 1..{_LONGEST_NAME} letters, not {name!r}.")
        self._defaults = {name: float(defaults[name]) for name in sorted(defaults)}
        self._values = dict(self._defaults)
        self._names = tuple(self._values)
        self._changed: dict[str, None] = {}

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def count(self) -> int:
        return len(self._names)

    def by_name(self, name: str) -> ParamInfo | None:
        return self._info(name) if name in self._values else None

    def by_index(self, index: int) -> ParamInfo | None:
        return self._info(self._names[index]) if 0 <= index < len(self._names) else None

    def set(self, name: str, value: float) -> ParamInfo | None:
        if name not in self._values:
            return None
        if value - value == 0.0:  # finite
            self._values[name] = float(value)
            self._changed[name] = None
        return self._info(name)

    def drain_changes(self) -> list[ParamInfo]:
        changed, self._changed = self._changed, {}
        return [self._info(name) for name in changed]

    def drain_sim_changes(self) -> dict[str, float]:
        return {}

    def reset(self) -> Result:
        self._values = dict(self._defaults)
        self._changed = dict.fromkeys(self._names)
        return Result.ACCEPTED

    def flush(self) -> Result:
        return Result.ACCEPTED

    def _info(self, name: str) -> ParamInfo:
        return ParamInfo(name, self._values[name], ParamType.REAL32, self._names.index(name))


class NoMissions:
    """The missions of a vehicle that takes none."""

    def items(self, kind: MissionType) -> Sequence[MissionItem]:
        return ()

    def check(self, kind: MissionType, item: MissionItem) -> MissionResult:
        return MissionResult.UNSUPPORTED

    def replace(self, kind: MissionType, items: Sequence[MissionItem]) -> MissionResult:
        return MissionResult.UNSUPPORTED

    def clear(self, kind: MissionType) -> MissionResult:
        return MissionResult.ACCEPTED

    def set_current(self, seq: int) -> Result:
        return Result.UNSUPPORTED


class NoGuided:
    """The guided targets of a vehicle that takes none."""

    def to_global(
        self, lat_e7: int, lon_e7: int, *, speed_mps: float | None = None, change_mode: bool = False
    ) -> Result:
        return Result.UNSUPPORTED

    def to_local(self, north_m: float, east_m: float, *, yaw_rad: float | None = None) -> Result:
        return Result.UNSUPPORTED

    def velocity(
        self,
        velocity_ne_mps: tuple[float, float] | None,
        *,
        speed_mps: float | None = None,
        yaw_rate_radps: float | None = None,
        yaw_rad: float | None = None,
    ) -> Result:
        return Result.UNSUPPORTED

    def heading(self, yaw_rad: float | None, yaw_rate_radps: float | None, thrust: float) -> Result:
        return Result.UNSUPPORTED


class GroundLink(Snapshot):
    """Mixin: heartbeat, position, attitude, texts, arming, modes and parameters over MAVLink.

    Derive an autopilot from it, call ``super().__init__()`` and ``super().start(platform)``,
    ``report`` what it estimates, and drive only while ``armed``. A command that is not overridden
    is answered "unsupported". A derived class with a state of its own adds to ``_state_fields``.

    Attributes:
        modes: the modes that it has, ArduRover's; the first is that of power-on.
        parameters: name -> default, at most 16 letters.
        armed: whether it may move.
        mode: the mode it is in.
        done: it has nothing left to do.
        params: its parameters as they are now.
        platform: its board, once it is started.
        estimate: what it has reported, by fields of ``Telemetry``.
    """

    modes: ClassVar[Sequence[Mode]] = (Mode.HOLD, Mode.MANUAL, Mode.AUTO)
    parameters: ClassVar[Mapping[str, float]] = {}
    period_us = 20_000

    _state_fields: ClassVar[tuple[str, ...]] = (
        "armed",
        "mode",
        "done",
        "params",
        "estimate",
        "_last_text",
    )

    def __init__(self) -> None:
        self.armed = False
        self.mode = self.modes[0]
        self.done = False
        self.params = OwnParams(self.parameters)
        self.missions = NoMissions()
        self.guided = NoGuided()
        self.platform: SitlPlatform | None = None
        self.estimate: dict[str, Any] = {}
        self._texts: deque[StatusText] = deque(maxlen=_KEPT_TEXTS)
        self._last_text = ""
        self._listener: Callable[[StatusText], None] | None = None

    # --- what a derived class uses --------------------------------------------------------

    def start(self, platform: SitlPlatform) -> None:
        """Take the board; a derived class claims its servo outputs here."""
        self.platform = platform

    def report(self, **fields: Any) -> None:
        """Keep what it estimates now: fields of ``Telemetry``, and ``lat_deg`` and ``lon_deg``.

        Raises:
            ConfigError: there is no such field.
        """
        for axis in ("lat", "lon"):
            if f"{axis}_deg" in fields:
                fields[f"{axis}_e7"] = round(fields.pop(f"{axis}_deg") * 1e7)
                fields.setdefault("position_valid", True)
        for name in fields:
            if name not in Telemetry.__struct_fields__:
                raise ConfigError(
                    f"There is no estimate {name!r}.",
                    hint=did_you_mean(name, Telemetry.__struct_fields__),
                )
        self.estimate.update(fields)

    def say(self, text: str, severity: int = 6) -> None:
        """Emit a status text; severity as in syslog (3 error, 4 warning, 6 information)."""
        said = StatusText(severity, text)
        self._texts.append(said)
        self._last_text = text
        if self._listener is not None:
            self._listener(said)

    def refuses_to_arm(self) -> str:
        """Why it must not be armed now; empty: it may. For derived classes."""
        return ""

    # --- what the run asks ------------------------------------------------------------------

    def status(self) -> AutopilotStatus:
        return AutopilotStatus(
            mode=self.mode.name, armed=self.armed, last_message=self._last_text, done=self.done
        )

    def telemetry(self) -> Telemetry:
        healthy = 0 if self.refuses_to_arm() else _PREARM_CHECK
        own = {"sensors_present": _PREARM_CHECK, "sensors_enabled": _PREARM_CHECK}
        platform = self.platform
        return Telemetry(
            time_us=0 if platform is None else platform.timer.now_us(),
            mode=self.mode,
            armed=self.armed,
            active=self.armed,
            **{
                **own,
                "sensors_healthy": healthy,
                "servo_us": () if platform is None else platform.servo_outputs_us(),
                **self.estimate,
            },
        )

    def drain_texts(self) -> list[StatusText]:
        texts = list(self._texts)
        self._texts.clear()
        return texts

    def listen(self, listener: Callable[[StatusText], None]) -> None:
        """Deliver each status text as it is emitted, and now those not drained yet."""
        for text in tuple(self._texts):
            listener(text)
        self._listener = listener

    def drain_reached(self) -> list[int]:
        return []

    # --- commands of a ground station; override what it can do --------------------------------

    def arm(self, *, force: bool = False) -> Result:
        reason = "" if force else self.refuses_to_arm()
        if reason:
            self.say(f"Arm: {reason}", 2)
            return Result.FAILED
        self.armed = True
        return Result.ACCEPTED

    def disarm(self, *, force: bool = False) -> Result:
        self.armed = False
        return Result.ACCEPTED

    def set_mode(self, mode: int, reason: str = "GCS") -> Result:
        for known in self.modes:
            if known == mode:
                self.mode = known
                return Result.ACCEPTED
        self.say(f"No mode {mode}", 4)
        return Result.FAILED

    def start_mission(self, first_seq: int = 0) -> Result:
        return Result.UNSUPPORTED

    def set_home(self, lat_e7: int, lon_e7: int, alt_m: float) -> Result:
        self.report(home_lat_e7=lat_e7, home_lon_e7=lon_e7, home_alt_m=alt_m, home_valid=True)
        return Result.ACCEPTED

    def set_home_here(self) -> Result:
        now = self.telemetry()
        if not now.position_valid:
            return Result.FAILED
        return self.set_home(now.lat_e7, now.lon_e7, now.alt_m)

    def change_speed(self, speed_mps: float) -> Result:
        return Result.UNSUPPORTED

    def set_reverse(self, reverse: bool) -> Result:
        return Result.UNSUPPORTED

    def set_paused(self, paused: bool) -> Result:
        return Result.UNSUPPORTED

    def prearm_checks(self) -> Result:
        reason = self.refuses_to_arm()
        self.say(f"PreArm: {reason}" if reason else "PreArm: ready", 4 if reason else 6)
        return Result.FAILED if reason else Result.ACCEPTED

    def calibrate(self, params: Sequence[float]) -> Result:
        return Result.UNSUPPORTED

    def do_command(self, command: int, params: Sequence[float]) -> Result:
        return Result.UNSUPPORTED

    def reboot(self) -> Result:
        return Result.UNSUPPORTED

    def rc_override(self, channels_us: Mapping[int, int]) -> None: ...

    def release_rc_override(self, channels: Sequence[int]) -> None: ...

    def manual_control(self, x: float, y: float, z: float, r: float, buttons: int) -> None: ...

    def gcs_heartbeat(self, system_id: int) -> None: ...
