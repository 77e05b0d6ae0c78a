"""Who speaks, what is new, what is refused."""

import pytest

from pico_gz.core.vehicle_config import PICO_TRAIL_CHANNELS, DriveKind
from pico_gz.vehicle.external.connection import Arrival, FdmConnection
from pico_gz.vehicle.external.external_vehicle import ExternalVehicle
from pico_gz.wire.servo import encode_servo

HERE = ("127.0.0.1", 40000)
THERE = ("127.0.0.1", 50000)


def servo(frame: int, first: int = 1500, second: int = 1500, channels: int = 16) -> bytes:
    return encode_servo(1200, frame, (first, 0, second) + (0,) * (channels - 3))


def connected(frame: int = 10) -> FdmConnection:
    connection = FdmConnection(ExternalVehicle(vehicle_id=1, fdm_port=9002))
    assert connection.take(servo(frame), HERE, 0.0) is Arrival.CONNECTED
    return connection


def test_new_repeated_missed() -> None:
    connection = connected()
    assert connection.take(servo(11), HERE, 0.0) is Arrival.NEW
    assert connection.take(servo(11, 2000, 2000), HERE, 0.0) is Arrival.REPEATED
    assert connection.pwm_us[0] == 1500
    assert connection.take(servo(15), HERE, 0.0) is Arrival.NEW
    assert connection.stats.missed == 3


def test_frames_with_the_same_pulses() -> None:
    connection = connected()
    for frame in (11, 12, 13):
        assert connection.take(servo(frame, 1750, 1250), HERE, 0.1 * frame) is Arrival.NEW
        assert connection.owed
        assert connection.last_heard_s == 0.1 * frame
        assert connection.commands(frame).motors == (0.5, -0.5)
        assert connection.commands(frame).timestamp_us == frame
        connection.owed = False
    assert connection.take(servo(13, 1750, 1250), HERE, 2.0) is Arrival.REPEATED
    wrong_magic = b"\x81\x73" + servo(14, 1750, 1250)[2:]
    assert connection.take(wrong_magic, HERE, 2.0) is Arrival.REFUSED
    assert not connection.owed
    assert connection.take(servo(14, 1750, 1250), THERE, 2.0) is Arrival.NEW
    assert connection.peer == THERE
    assert connection.take(servo(17, 1750, 1250), THERE, 2.0) is Arrival.NEW
    assert connection.take(servo(18, 1500, 2000), THERE, 2.0) is Arrival.NEW
    assert connection.commands(0).motors == (0.0, 1.0)
    stats = connection.stats
    assert (stats.packets, stats.repeated, stats.refused, stats.missed) == (7, 1, 1, 2)


@pytest.mark.parametrize("frame", [0, 3, 9])
def test_a_lower_frame_is_a_restart_in_neutral(frame: int) -> None:
    connection = connected()
    connection.take(servo(11, 2000, 2000), HERE, 0.0)
    assert connection.commands(0).motors == (1.0, 1.0)
    assert connection.take(servo(frame, 2000, 2000), HERE, 0.0) is Arrival.RESTARTED
    assert connection.commands(0).motors == (0.0, 0.0)
    assert connection.take(servo(frame + 1, 2000, 2000), HERE, 0.0) is Arrival.NEW
    assert connection.commands(0).motors == (1.0, 1.0)


def test_frame_0_again_from_another_port_is_a_restart_not_a_repeat() -> None:
    connection = connected(0)
    assert connection.take(servo(0), HERE, 0.0) is Arrival.REPEATED
    assert connection.take(servo(0), THERE, 0.0) is Arrival.RESTARTED
    assert connection.peer == THERE


def test_an_autopilot_is_followed_to_a_new_port() -> None:
    connection = connected()
    assert connection.take(servo(11), THERE, 0.0) is Arrival.NEW
    assert connection.peer == THERE


@pytest.mark.parametrize("data", [b"", b"\x1a", bytes(40), servo(11)[:39], b"\xff" * 4097])
def test_refused_datagrams_change_nothing_not_even_the_peer(data: bytes) -> None:
    connection = connected()
    assert connection.take(data, THERE, 0.0) is Arrival.REFUSED
    assert connection.peer == HERE
    assert connection.refusal is not None


def test_16_and_32_channels_do_not_mix_in_one_connection() -> None:
    connection = connected()
    assert connection.take(servo(11, channels=32), HERE, 0.0) is Arrival.REFUSED
    assert connection.refusal is not None
    assert "18458" in connection.refusal.hint
    assert "29569" in connection.refusal.hint
    assert connection.take(servo(0, channels=32), THERE, 0.0) is Arrival.RESTARTED
    assert connection.take(servo(1, channels=32), THERE, 0.0) is Arrival.NEW


def test_32_bit_counts() -> None:
    connection = connected(65535)
    assert connection.take(servo(65536), HERE, 0.0) is Arrival.NEW
    assert connection.stats.restarts == 0


def test_full_reverse_at_boot_is_neutral() -> None:
    vehicle = ExternalVehicle(vehicle_id=1, fdm_port=9002, channels=PICO_TRAIL_CHANNELS)
    connection = FdmConnection(vehicle)
    for frame in range(20):
        connection.take(encode_servo(400, frame, (1000, 1000) + (0,) * 14), HERE, 0.0)
        assert connection.commands(0).motors == (0.0, 0.0)
    connection.take(encode_servo(400, 20, (1500, 1500) + (0,) * 14), HERE, 0.0)
    connection.take(encode_servo(400, 21, (1000, 1000) + (0,) * 14), HERE, 0.0)
    assert connection.commands(0).motors == (-1.0, -1.0)


def test_ackermann_commands() -> None:
    vehicle = ExternalVehicle(vehicle_id=1, fdm_port=9002, drive=DriveKind.ACKERMANN)
    connection = FdmConnection(vehicle)
    connection.take(servo(0), HERE, 0.0)
    connection.take(servo(1, 2000, 1750), HERE, 0.0)
    commands = connection.commands(77)
    assert (commands.motors, commands.servos, commands.timestamp_us) == ((0.5,), (1.0,), 77)


def test_a_forgotten_peer_connects_anew() -> None:
    connection = connected()
    connection.forget_peer()
    assert not connection.is_connected
    assert connection.take(servo(11), HERE, 0.0) is Arrival.CONNECTED
