"""What happens to the fleets of the oracle (``test_oracle.py``) while they run."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from typing import Any

import msgspec

from pico_gz import AutopilotStatus, SitlPlatform
from pico_gz.testing import AutopilotFleet, AutopilotTwin, PluginTwin, Sitl


def _arm(sitl: Sitl) -> None:
    for rover in sitl:
        rover.arm()


def go_to(sitl: Sitl) -> None:
    _arm(sitl)
    for rover in sitl:
        rover.goto(6.0, 2.0 + rover.id)
    sitl.run(2.5)


def go_straight(sitl: Sitl) -> None:
    _arm(sitl)
    for rover in sitl:
        rover.goto(6.0, 0.0)
    sitl.run(2.5)


def tour_modes(sitl: Sitl) -> None:
    _arm(sitl)
    rover = sitl[1]
    rover.goto(4.0, 4.0)
    sitl.run(2.0)
    for mode in ("LOITER", "STEERING", "ACRO", "RTL", "SMART_RTL", "HOLD"):
        rover.set_mode(mode)
        sitl.run(0.6)


def stay_guided(sitl: Sitl) -> None:
    _arm(sitl)
    sitl[1].goto(4.0, 4.0)
    sitl.run(2.0 + 6 * 0.6)


def set_poses(sitl: Sitl) -> None:
    sitl.run(2.0)
    sitl.bridge.set_pose(1, 4.0, -3.0, 120.0)
    sitl.bridge.set_pose(2, 0.5, 8.0, -30.0, 0.4)
    sitl.run(1.5)


def set_no_poses(sitl: Sitl) -> None:
    sitl.run(3.5)


def fail(*faults: tuple[int, str, str]) -> Callable[[Sitl], None]:
    """Let units fail after 2.5 s; some of them work again after another second."""

    def drive(sitl: Sitl) -> None:
        sitl.run(2.5)
        for number, unit, kind in faults:
            sitl[number].fail(unit, kind)
        sitl.run(1.0)
        for number, unit, _ in faults[::2]:
            sitl[number].fail(unit, "ok")
        sitl.run(0.8)

    return drive


SENSOR_FAULTS = (
    (1, "gps", "off"),
    (1, "mag", "stuck"),
    (2, "gyro", "garbage"),
    (2, "baro", "wrong"),
    (3, "accel", "intermittent"),
    (3, "encoder", "slow"),
    (3, "gps", "delayed"),
    (1, "battery", "wrong"),
    (2, "range", "off"),
)
ACTUATOR_FAULTS = (
    (1, "motor_left", "off"),
    (2, "motor_right", "stuck"),
    (3, "motor_left", "garbage"),
    (4, "motor_right", "wrong"),
    (5, "motor_left", "slow"),
    (6, "motor_right", "delayed"),
    (7, "motor_left", "intermittent"),
)
STEERING_FAULTS = ((1, "steering", "stuck"), (2, "steering", "wrong"), (3, "steering", "off"))


def hold_sticks(sitl: Sitl) -> None:
    _arm(sitl)
    sitl[1].set_mode("MANUAL")
    sitl[2].set_mode("ACRO")
    sitl.run(4.6 - sitl.time_s)


def leave(sitl: Sitl) -> None:
    sitl.run(2.0)
    sitl.bridge.despawn_vehicle(2)
    sitl.run(1.0)


def all_stay(sitl: Sitl) -> None:
    sitl.run(3.0)


def go_back(sitl: Sitl) -> None:
    sitl.run(2.2)
    saved = sitl.bridge.snapshot()
    sitl.run(1.0)
    sitl.bridge.restore(saved)
    sitl[1].fail("gps", "wrong")
    sitl.run(1.0)


def do_not_go_back(sitl: Sitl) -> None:
    sitl.run(3.2)
    sitl[1].fail("gps", "wrong")
    sitl.run(1.0)


def _answer(_: float, record: dict[str, Any]) -> tuple[int, ...]:
    """Pulses that depend on every value of the record, so that the digest does as well."""
    checksum = zlib.crc32(repr(sorted(record.items())).encode())
    return (1600 + checksum % 150, 0, 1620 + checksum // 256 % 150, *(0,) * 13)


def ignore(_: float, __: dict[str, Any]) -> tuple[int, ...]:
    return (1700, 0, 1700, *(0,) * 13)


def external(pilot: Callable[..., tuple[int, ...]] = _answer, **changes: Any) -> Any:
    """Let twins of ArduPilot drive the external vehicles, one record per step."""

    def drive(sitl: Sitl) -> None:
        ids = [p.id for p in sitl.fleet.vehicles if p.config.autopilot == "external"]
        twins = [
            AutopilotTwin(
                ("127.0.0.1", sitl.session.ports.vehicle(number).server),
                pilot,
                resend_s=math.inf,
                **changes,
            )
            for number in ids
        ]
        for twin in twins:
            twin.send(0.0)  # waits in the server's socket: all connect in the first step
        with AutopilotFleet(twins):
            sitl.run(3.0)
        for twin in twins:
            assert twin.core.accepted >= 298

    return drive


def gazebo(steps_us: int = 2000) -> Callable[[Sitl], None]:
    """A twin of Gazebo with the ArduPilot plugin is the simulator."""

    def drive(sitl: Sitl) -> None:
        ports = [plan.config.fdm_port for plan in sitl.fleet.vehicles]
        with PluginTwin(ports, step_us=steps_us):
            sitl.run(1.5)

    return drive


class OwnPilot:
    """Drives by the checksum of all that its board lets it read."""

    period_us = 20_000

    def start(self, platform: SitlPlatform) -> None:
        self._platform = platform
        self._uart = platform.create_uart(1)
        channels = platform.channels
        self._outputs = [platform.create_pwm(n) for n in (channels.left, channels.right)]

    def tick(self, now_us: int) -> None:
        board = self._platform
        read = (
            now_us,
            board.read_imu(),
            board.read_gps(),
            board.read_compass(),
            board.read_barometer(),
            board.read_rangefinders(),
            board.read_encoders(),
            board.read_battery_adc(),
            board.read_battery_current_a(),
            self._uart.read(),
        )
        checksum = zlib.crc32(msgspec.msgpack.encode(read))
        for output, part in zip(self._outputs, (checksum, checksum >> 8), strict=True):
            output.set_pulse_us(1600 + part % 200)

    def status(self) -> AutopilotStatus:
        return AutopilotStatus(mode="own", armed=True)

    def save_state(self) -> dict[str, Any]:
        return {}

    def load_state(self, state: Any) -> None: ...


def own_pilot(sitl: Sitl) -> None:
    """Another autopilot takes over the boards of all vehicles."""
    bridge = sitl.bridge
    for vehicle in list(bridge.vehicles):
        bridge.despawn_vehicle(vehicle.id)
        bridge.spawn_vehicle(vehicle.config, OwnPilot(), platform=vehicle.platform)
    sitl.run(2.0)
