"""A complete stand-in for an autopilot: remembers what it was told, moves nothing by itself."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import msgspec

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

DEFAULT_PARAMS: dict[str, tuple[float, ParamType, float, float]] = {
    "SYSID_THISMAV": (1, ParamType.INT16, 1, 255),
    "SYSID_MYGCS": (255, ParamType.INT16, 1, 255),
    "SYSID_ENFORCE": (0, ParamType.INT8, 0, 1),
    "FS_GCS_TIMEOUT": (5, ParamType.REAL32, 2, 120),
    "CRUISE_SPEED": (2.0, ParamType.REAL32, 0, 100),
    "WP_RADIUS": (2.0, ParamType.REAL32, 0, 100),
    "MODE_CH": (8, ParamType.INT8, 0, 16),
    "SIM_GPS_DISABLE": (0, ParamType.INT8, 0, 1),
} | {
    f"SR0_{group}": (1, ParamType.INT16, 0, 50)
    for group in (
        *("RAW_SENS", "EXT_STAT", "RC_CHAN", "RAW_CTRL", "POSITION"),
        *("EXTRA1", "EXTRA2", "EXTRA3"),
    )
}
KNOWN_COMMANDS = frozenset({16, 17, 18, 19, 20, 112, 177, 178, 179, 194, 5000, 5001, 5002, 5100})
HOME = MissionItem(seq=0, command=16, frame=0, lat_e7=356812360, lon_e7=1397671250, alt_m=40.0)


class FakeVehicle:
    """Implements ``GcsVehicle``; ``calls`` lists what was asked of it."""

    def __init__(self, vehicle_id: int = 1, extra_params: int = 0) -> None:
        self.vehicle_id = vehicle_id
        self.calls: list[tuple] = []
        self.mode = Mode.MANUAL
        self.armed = False
        self.time_us = 0
        self.arm_result = Result.ACCEPTED
        self.texts: list[StatusText] = []
        self.reached: list[int] = []
        self.changes: list[ParamInfo] = []
        self.current = 0
        self.home = (HOME.lat_e7, HOME.lon_e7, HOME.alt_m)
        self.lists: dict[MissionType, list[MissionItem]] = {
            MissionType.MISSION: [HOME],
            MissionType.FENCE: [],
            MissionType.RALLY: [],
        }
        self._specs = dict(DEFAULT_PARAMS)
        for number in range(extra_params):
            self._specs[f"TEST_{number:04d}"] = (float(number), ParamType.REAL32, -1e6, 1e6)
        self._names = list(self._specs)
        self._values = {name: float(spec[0]) for name, spec in self._specs.items()}
        self._values["SYSID_THISMAV"] = float(vehicle_id)
        self.params = SimpleNamespace(
            count=self.param_count,
            by_name=self.param_by_name,
            by_index=self.param_by_index,
            set=self.set_param,
            drain_changes=self.drain_param_changes,
            reset=self.reset_params,
            flush=self.flush_params,
        )
        self.missions = SimpleNamespace(
            items=self.items,
            check=self.check_item,
            replace=self.replace_items,
            clear=self.clear_items,
            set_current=self.set_current_item,
        )
        self.guided = SimpleNamespace(
            to_global=self.guide_to_global,
            to_local=self.guide_to_local,
            velocity=self.guide_velocity,
            heading=self.guide_heading,
        )
        self.base = Telemetry(
            time_us=0,
            mode=Mode.MANUAL,
            armed=False,
            active=False,
            yaw_rad=0.5,
            position_valid=True,
            lat_e7=HOME.lat_e7 + vehicle_id,
            lon_e7=HOME.lon_e7,
            alt_m=40.0,
            north_m=1.0,
            east_m=2.0,
            gps_fix=3,
            gps_lat_e7=HOME.lat_e7,
            gps_lon_e7=HOME.lon_e7,
            gps_satellites=12,
            gps_hdop=0.8,
            battery_v=7.4,
            battery_a=0.3,
            battery_remaining_percent=80,
            rc_us=(1500,) * 8,
            rc_valid=True,
            servo_us=(1500, 0, 1500, 0),
            home_valid=True,
            origin_lat_e7=HOME.lat_e7,
            origin_lon_e7=HOME.lon_e7,
            origin_alt_m=HOME.alt_m,
            origin_valid=True,
            ekf_flags=0x33F,
            sensors_present=0x2F,
            sensors_enabled=0x2F,
            sensors_healthy=0x2F,
        )

    # --- reading --------------------------------------------------------------------------

    def telemetry(self) -> Telemetry:
        return msgspec.structs.replace(
            self.base,
            time_us=self.time_us,
            mode=self.mode,
            armed=self.armed,
            active=self.armed,
            mission_current=self.current,
            mission_count=max(0, len(self.lists[MissionType.MISSION]) - 1),  # without home
            home_lat_e7=self.home[0],
            home_lon_e7=self.home[1],
            home_alt_m=self.home[2],
        )

    def drain_texts(self) -> list[StatusText]:
        taken, self.texts = self.texts, []
        return taken

    def drain_reached(self) -> list[int]:
        taken, self.reached = self.reached, []
        return taken

    # --- parameters -----------------------------------------------------------------------

    def param_count(self) -> int:
        return len(self._names)

    def _info(self, name: str) -> ParamInfo:
        return ParamInfo(name, self._values[name], self._specs[name][1], self._names.index(name))

    def param_by_name(self, name: str) -> ParamInfo | None:
        return self._info(name) if name in self._values else None

    def param_by_index(self, index: int) -> ParamInfo | None:
        return self._info(self._names[index]) if 0 <= index < len(self._names) else None

    def set_param(self, name: str, value: float) -> ParamInfo | None:
        if name not in self._values:
            return None
        _, _, low, high = self._specs[name]
        if low <= value <= high and value != self._values[name]:
            self._values[name] = value
            self.changes.append(self._info(name))
        return self._info(name)

    def drain_param_changes(self) -> list[ParamInfo]:
        taken, self.changes = self.changes, []
        return taken

    # --- item lists -----------------------------------------------------------------------

    def items(self, kind: MissionType) -> Sequence[MissionItem]:
        return self.lists[kind]

    def check_item(self, kind: MissionType, item: MissionItem) -> MissionResult:
        if item.command not in KNOWN_COMMANDS:
            return MissionResult.UNSUPPORTED
        return MissionResult.ACCEPTED

    def replace_items(self, kind: MissionType, items: Sequence[MissionItem]) -> MissionResult:
        self.lists[kind] = list(items)
        return MissionResult.ACCEPTED

    def clear_items(self, kind: MissionType) -> MissionResult:
        self.lists[kind] = [HOME] if kind is MissionType.MISSION else []
        return MissionResult.ACCEPTED

    def set_current_item(self, seq: int) -> Result:
        if not 0 <= seq < len(self.lists[MissionType.MISSION]):
            return Result.FAILED
        self.current = seq
        return Result.ACCEPTED

    # --- commands -------------------------------------------------------------------------

    def arm(self, *, force: bool = False) -> Result:
        self.calls.append(("arm", force))
        if self.arm_result is Result.ACCEPTED or force:
            self.armed = True
            self.texts.append(StatusText(6, "Throttle armed"))
            return Result.ACCEPTED
        self.texts.append(StatusText(2, "Arm: no position"))
        return self.arm_result

    def disarm(self, *, force: bool = False) -> Result:
        self.calls.append(("disarm", force))
        self.armed = False
        return Result.ACCEPTED

    def set_mode(self, mode: int, reason: str = "GCS") -> Result:
        self.calls.append(("set_mode", int(mode)))
        try:
            self.mode = Mode(mode)
        except ValueError:
            return Result.FAILED
        return Result.ACCEPTED

    def start_mission(self, first_seq: int = 0) -> Result:
        self.calls.append(("start_mission", first_seq))
        self.mode = Mode.AUTO
        return Result.ACCEPTED

    def set_home(self, lat_e7: int, lon_e7: int, alt_m: float) -> Result:
        self.home = (lat_e7, lon_e7, alt_m)
        return Result.ACCEPTED

    def set_home_here(self) -> Result:
        self.home = (self.base.lat_e7, self.base.lon_e7, self.base.alt_m)
        return Result.ACCEPTED

    def change_speed(self, speed_mps: float) -> Result:
        self.calls.append(("change_speed", speed_mps))
        return Result.ACCEPTED

    def set_reverse(self, reverse: bool) -> Result:
        self.calls.append(("set_reverse", reverse))
        return Result.ACCEPTED

    def set_paused(self, paused: bool) -> Result:
        self.calls.append(("set_paused", paused))
        return Result.ACCEPTED

    def prearm_checks(self) -> Result:
        self.calls.append(("prearm_checks",))
        return Result.ACCEPTED

    def calibrate(self, params: Sequence[float]) -> Result:
        self.calls.append(("calibrate", *params))
        return Result.ACCEPTED

    def reset_params(self) -> Result:
        self.calls.append(("reset_params",))
        return Result.ACCEPTED

    def flush_params(self) -> Result:
        self.calls.append(("flush_params",))
        return Result.ACCEPTED

    def do_command(self, command, params):
        self.calls.append(("do_command", command, tuple(params)))
        return Result.ACCEPTED

    def reboot(self) -> Result:
        self.calls.append(("reboot",))
        return Result.ACCEPTED

    # --- guided targets and manual input ---------------------------------------------------

    def guide_to_global(
        self, lat_e7: int, lon_e7: int, *, speed_mps: float | None = None, change_mode: bool = False
    ) -> Result:
        self.calls.append(("guide_to_global", lat_e7, lon_e7, speed_mps, change_mode))
        return Result.ACCEPTED

    def guide_to_local(
        self, north_m: float, east_m: float, *, yaw_rad: float | None = None
    ) -> Result:
        self.calls.append(("guide_to_local", north_m, east_m, yaw_rad))
        return Result.ACCEPTED

    def guide_velocity(
        self,
        velocity_ne_mps: tuple[float, float] | None,
        *,
        speed_mps: float | None = None,
        yaw_rate_radps: float | None = None,
        yaw_rad: float | None = None,
    ) -> Result:
        self.calls.append(("guide_velocity", velocity_ne_mps, speed_mps, yaw_rate_radps, yaw_rad))
        return Result.ACCEPTED

    def guide_heading(
        self, yaw_rad: float | None, yaw_rate_radps: float | None, thrust: float
    ) -> Result:
        self.calls.append(("guide_heading", yaw_rad, yaw_rate_radps, thrust))
        return Result.ACCEPTED

    def rc_override(self, channels_us: Mapping[int, int]) -> None:
        self.calls.append(("rc_override", dict(channels_us)))

    def release_rc_override(self, channels: Sequence[int]) -> None:
        self.calls.append(("release_rc_override", list(channels)))

    def manual_control(self, x: float, y: float, z: float, r: float, buttons: int) -> None:
        self.calls.append(("manual_control", x, y, z, r, buttons))

    def gcs_heartbeat(self, system_id: int) -> None:
        self.calls.append(("gcs_heartbeat", system_id))
