"""Commands to servo channels and back, and the autopilot's boot."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pico_gz.core.messages import ActuatorCommands
from pico_gz.core.vehicle_config import (
    ARDUPILOT_CHANNELS,
    PICO_TRAIL_CHANNELS,
    ChannelMap,
    DriveKind,
)
from pico_gz.wire.servo import (
    BootGuard,
    commands_from_pwm,
    decode_servo,
    neutral_commands,
    pwm_from_commands,
)

CAPTURES = Path(__file__).parents[2] / "golden" / "captures"
SKID, CAR = DriveKind.SKID, DriveKind.ACKERMANN


def pwm(*values: int) -> tuple[int, ...]:
    return values + (0,) * (16 - len(values))


TABLE = [
    (SKID, ARDUPILOT_CHANNELS, ActuatorCommands(0, 1, (1.0, -1.0)), pwm(2000, 0, 1000)),
    (SKID, PICO_TRAIL_CHANNELS, ActuatorCommands(0, 1, (0.5, -0.5)), pwm(1750, 1250)),
    (CAR, ARDUPILOT_CHANNELS, ActuatorCommands(0, 1, (0.2,), (1.0,)), pwm(2000, 0, 1600)),
    (CAR, PICO_TRAIL_CHANNELS, ActuatorCommands(0, 1, (-1.0,), (0.0,)), pwm(1500, 1000)),
]


@pytest.mark.parametrize(("drive", "channels", "commands", "expected"), TABLE)
def test_table_both_ways(
    drive: DriveKind, channels: ChannelMap, commands: ActuatorCommands, expected: tuple[int, ...]
) -> None:
    assert pwm_from_commands(commands, drive, channels) == expected
    assert commands_from_pwm(expected, drive, channels, vehicle_id=1, timestamp_us=0) == commands


@pytest.mark.parametrize("drive", list(DriveKind))
@pytest.mark.parametrize("commands", [None, ActuatorCommands(0, 1)])
def test_a_vehicle_nobody_commands_gets_1500(
    drive: DriveKind, commands: ActuatorCommands | None
) -> None:
    assert pwm_from_commands(commands, drive, ARDUPILOT_CHANNELS) == pwm(1500, 0, 1500)


@pytest.mark.parametrize("no_signal", [0, 1, 799, 2201, 65535])
@pytest.mark.parametrize("drive", list(DriveKind))
def test_no_signal_is_neutral(drive: DriveKind, no_signal: int) -> None:
    commands = commands_from_pwm(
        (no_signal,) * 16, drive, ARDUPILOT_CHANNELS, vehicle_id=7, timestamp_us=5
    )
    assert commands == neutral_commands(drive, vehicle_id=7, timestamp_us=5)


def test_a_channel_beyond_the_packet_is_neutral() -> None:
    far = ChannelMap(left=20, right=21)
    assert commands_from_pwm((2000,) * 16, SKID, far, vehicle_id=1, timestamp_us=0).motors == (
        0.0,
        0.0,
    )
    assert pwm_from_commands(ActuatorCommands(0, 1, (1.0, 0.0)), SKID, far, 32)[19] == 2000


@given(st.lists(st.integers(0, 65535), min_size=16, max_size=16))
def test_any_packet_gives_commands_in_range(values: list[int]) -> None:
    commands = commands_from_pwm(values, SKID, ARDUPILOT_CHANNELS, vehicle_id=1, timestamp_us=0)
    assert all(-1.0 <= m <= 1.0 for m in commands.motors)


def real_packets(name: str) -> list[tuple[int, ...]]:
    return [decode_servo(bytes.fromhex(t)).pwm_us for t in (CAPTURES / name).read_text().split()]


def test_a_real_boot_never_drives() -> None:
    guard = BootGuard(CAR, ARDUPILOT_CHANNELS)
    packets = real_packets("ardurover_first_packets.hex") + real_packets(
        "ardurover_boot_transition.hex"
    )
    blind_full_reverse = 0
    for packet in packets:
        blind = commands_from_pwm(packet, CAR, ARDUPILOT_CHANNELS, vehicle_id=1, timestamp_us=0)
        blind_full_reverse += blind.motors == (-1.0,)
        commands = blind.motors if guard.is_ready(packet) else (0.0,)
        assert commands == (0.0,)
    assert blind_full_reverse == 20
    assert guard.is_ready(packets[-1])


def test_a_real_drive_passes_the_guard() -> None:
    guard = BootGuard(CAR, ARDUPILOT_CHANNELS)
    assert all(guard.is_ready(packet) for packet in real_packets("ardurover_driving.hex"))


def test_full_reverse_counts_once_the_outputs_were_alive_and_not_after_a_reset() -> None:
    guard = BootGuard(SKID, PICO_TRAIL_CHANNELS)
    assert not guard.is_ready(pwm(1000, 1000))
    assert guard.is_ready(pwm(1500, 1500))
    assert guard.is_ready(pwm(1000, 1000))
    guard.reset()
    assert not guard.is_ready(pwm(1000, 1000))
