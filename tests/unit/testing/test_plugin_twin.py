"""The twin of the plugin against what the real plugin did."""

import json
import math
import re
from pathlib import Path

import pytest

from pico_gz.testing.plugin_twin import (
    NO_TRAPS,
    Judgement,
    PluginLink,
    PluginTwin,
    StateExtras,
    TwinTraps,
)
from pico_gz.testing.twin_rover import TwinRover, joint_command
from pico_gz.wire.memory_network import MemoryNetwork, MemoryTransport
from pico_gz.wire.servo import encode_servo
from pico_gz.wire.state import decode_state
from pico_gz.wire.state_record import StateRecord

CAPTURE = Path(__file__).parents[2] / "golden" / "captures" / "plugin_exchange.jsonl"
PORT = 9002
SENDER = ("127.0.0.1", 5000)


def servo(frame: int, left: int = 1500, right: int = 1500) -> bytes:
    return encode_servo(1000, frame, (left, 0, right) + (0,) * 13)


class Client:
    """Sends frames to a twin in this process and reads its replies."""

    def __init__(self, twin_traps: TwinTraps | None = None, **settings: object) -> None:
        self.net = MemoryNetwork(latency_s=0.0)
        self.twin = PluginTwin([PORT], traps=twin_traps, network=self.net, **settings)  # type: ignore[arg-type]
        self.socket = self.net.bind("127.0.0.1", 0)

    def send(self, data: bytes, socket: MemoryTransport | None = None) -> list[bytes]:
        (socket or self.socket).send_to(data, ("127.0.0.1", PORT))
        self.deliver()
        self.twin.try_step()
        self.deliver()
        return self.replies()

    def deliver(self) -> None:
        while self.net.advance_to(self.net.now_s()):
            pass

    def replies(self) -> list[bytes]:
        found = []
        while (item := self.socket.receive()) is not None:
            found.append(item[0])
        return found

    def drive(self, frame: int, left: int, right: int) -> StateRecord:
        (reply,) = self.send(servo(frame, left, right))
        return decode_state(reply)


def test_replaying_the_real_exchange_gives_the_same_motion() -> None:
    """Every recorded frame is replayed, gaps filled with the same PWM as the next line."""
    lines = [json.loads(line) for line in CAPTURE.read_text().splitlines()]
    client = Client(start_time_us=2000)
    frame = lines[0]["frame"] - 1
    worst_speed, worst_rate, checked = 0.0, 0.0, 0
    settled_since = frame
    last_pwm = None
    for line in lines:
        record = None
        pwm = line["pwm"]
        if pwm != last_pwm:
            settled_since, last_pwm = line["frame"], pwm
        while frame < line["frame"]:
            frame += 1
            record = client.drive(frame, pwm[0], pwm[2])
        assert record is not None
        real = decode_state(line["reply"].encode())
        assert record.timestamp_s == pytest.approx(real.timestamp_s, abs=1e-9)
        if frame - settled_since > 1000:
            speed = math.hypot(*record.velocity_ned_mps[:2])
            real_speed = math.hypot(*real.velocity_ned_mps[:2])
            worst_speed = max(worst_speed, abs(speed - real_speed))
            rate_error = abs(record.imu.gyro_frd_radps[2] - real.imu.gyro_frd_radps[2])
            worst_rate = max(worst_rate, rate_error)
            checked += 1
    assert checked > 100
    assert worst_speed < 0.03
    assert worst_rate < 0.001


def test_forward_and_turn_figures_of_the_recording() -> None:
    client = Client()
    for frame in range(1, 1001):
        record = client.drive(frame, 1800, 1800)
    assert math.hypot(*record.velocity_ned_mps[:2]) == pytest.approx(0.9, abs=1e-9)
    assert record.position_ned_m[2] == pytest.approx(-0.2)
    assert record.imu.accel_frd_mps2[2] == pytest.approx(-9.8)
    for frame in range(1001, 2001):
        record = client.drive(frame, 1700, 1400)
    assert record.imu.gyro_frd_radps[2] == pytest.approx(2.04545, abs=1e-4)
    assert record.imu.accel_frd_mps2[0] == pytest.approx(0.628, abs=1e-3)


def test_reply_has_the_keys_of_the_real_one_in_order() -> None:
    raw = CAPTURE.with_name("plugin_raw_reply.bin").read_bytes()
    (reply,) = Client().send(servo(1))
    keys = re.compile(rb'"(\w+)":')
    assert keys.findall(reply) == keys.findall(raw)


def test_spawned_facing_east() -> None:
    record = Client().drive(1, 1500, 1500)
    assert record.quat_wxyz == pytest.approx((math.sqrt(0.5), 0, 0, math.sqrt(0.5)))


def test_duplicate_is_answered_byte_for_byte_and_does_not_step() -> None:
    client = Client()
    (first,) = client.send(servo(1))
    assert client.send(servo(1, 2000, 2000)) == [first]
    assert client.twin.steps == 1
    assert client.twin.link().pwm_us[0] == 1500


def test_several_packets_in_the_queue_are_one_step_with_the_newest() -> None:
    client = Client()
    for frame, pwm in ((1, 1600), (2, 1700), (3, 1800)):
        client.socket.send_to(servo(frame, pwm, pwm), ("127.0.0.1", PORT))
    client.deliver()
    client.twin.try_step()
    assert client.twin.steps == 1
    assert client.twin.link().pwm_us[0] == 1800
    assert client.twin.link().missed_frames == 0


def test_the_world_freezes_for_one_silent_vehicle() -> None:
    net = MemoryNetwork(latency_s=0.0)
    twin = PluginTwin([PORT, PORT + 10], network=net)
    a, b = net.bind("127.0.0.1", 1), net.bind("127.0.0.1", 2)
    for frame in (1, 2):
        a.send_to(servo(frame), ("127.0.0.1", PORT))
        if frame == 1:
            b.send_to(servo(frame), ("127.0.0.1", PORT + 10))
        while net.advance_to(net.now_s()):
            pass
        twin.try_step()
    assert twin.steps == 1
    b.send_to(servo(2), ("127.0.0.1", PORT + 10))
    while net.advance_to(net.now_s()):
        pass
    assert twin.try_step()
    assert twin.steps == 2


# --- traps ------------------------------------------------------------------------------------


def test_the_plugins_of_a_world_read_in_turn_and_once_per_step() -> None:
    net = MemoryNetwork(latency_s=0.0)
    twin = PluginTwin([PORT, PORT + 10], network=net)
    client = net.bind("127.0.0.1", 0)

    def send(frame: int, *ports: int) -> bool:
        for port in ports:
            client.send_to(servo(frame), ("127.0.0.1", port))
        while net.advance_to(net.now_s()):
            pass
        return twin.try_step()

    assert send(1, PORT, PORT + 10)
    assert not send(2, PORT)
    # The world stands at the second plugin: what the first gets now waits for the next step.
    assert not send(3, PORT)
    assert twin.link(0).frame_count == 2
    assert send(2, PORT + 10)
    assert not send(3, PORT)
    assert (twin.link(0).frame_count, twin.link(1).frame_count) == (3, 2)


def test_trap_empty_first_replies() -> None:
    client = Client(TwinTraps(empty_replies=2))
    assert client.send(servo(1)) == [b""]
    assert client.send(servo(1)) == [b""]
    assert client.twin.steps == 1
    assert client.send(servo(2)) == [b""]
    assert len(client.send(servo(3))[0]) > 100


@pytest.mark.parametrize("narrow", [True, False])
def test_trap_16_bit_frame_count(narrow: bool) -> None:
    link = PluginLink(TwinTraps(narrow_frame_count=narrow))
    assert link.judge(servo(65535), SENDER) is Judgement.NEW
    assert link.judge(servo(65536), SENDER) is Judgement.NEW
    assert link.resets == (1 if narrow else 0)
    link.judge(servo(65542), SENDER)
    expected = Judgement.DUPLICATE if narrow else Judgement.NEW
    assert link.judge(servo(6), SENDER) is expected


@pytest.mark.parametrize("unchecked", [True, False])
def test_trap_unchecked_size(unchecked: bool) -> None:
    link = PluginLink(TwinTraps(unchecked_size=unchecked))
    expected = Judgement.NEW if unchecked else Judgement.REFUSED
    assert link.judge(servo(1)[:8], SENDER) is expected


@pytest.mark.parametrize("any_sender", [True, False])
def test_trap_wrong_magic_takes_over_the_replies(any_sender: bool) -> None:
    link = PluginLink(TwinTraps(any_sender=any_sender))
    link.judge(servo(1), SENDER)
    intruder = ("127.0.0.1", 6666)
    assert link.judge(bytes(40), intruder) is Judgement.REFUSED
    assert link.peer == (intruder if any_sender else SENDER)
    link.judge(servo(2), SENDER)
    assert link.peer == SENDER


@pytest.mark.parametrize("stale", [True, False])
def test_trap_stale_imu(stale: bool) -> None:
    client = Client(TwinTraps(stale_imu=stale))
    client.drive(1, 1500, 1500)
    record = client.drive(2, 1700, 1400)
    assert (record.imu.gyro_frd_radps[2] == 0.0) is stale
    assert client.drive(3, 1700, 1400).imu.gyro_frd_radps[2] > 0.0


def test_trap_repeated_imu() -> None:
    client = Client(TwinTraps(stale_imu=False, repeated_imu=5))
    rates = [client.drive(f, 1700, 1400).imu.gyro_frd_radps[2] for f in range(1, 20)]
    assert rates[4] == rates[3]
    assert rates[5] > rates[4]


def test_trap_wrong_default_frames() -> None:
    record = Client(TwinTraps(default_frames=True)).drive(1, 2000, 2000)
    assert record.quat_wxyz == pytest.approx((1, 0, 0, 0), abs=1e-12)
    assert record.velocity_ned_mps[0] > 0.0


@pytest.mark.parametrize("reverse", [True, False])
def test_trap_pwm_zero_is_full_reverse(reverse: bool) -> None:
    client = Client(TwinTraps(zero_is_reverse=reverse))
    record = client.drive(1, 0, 0)
    assert (record.velocity_ned_mps[1] < 0.0) is reverse


def test_trap_late_packet_is_a_step() -> None:
    late = PluginLink(TwinTraps())
    late.judge(servo(7), SENDER)
    assert late.judge(servo(6), SENDER) is Judgement.NEW
    tidy = PluginLink(NO_TRAPS)
    tidy.judge(servo(7), SENDER)
    assert tidy.judge(servo(6), SENDER) is Judgement.DUPLICATE
    assert tidy.judge(servo(0), SENDER) is Judgement.NEW
    assert tidy.resets == 1


def test_newer_plugins_and_range_sensors_add_keys() -> None:
    extras = StateExtras(range_m=2.5, no_time_sync=True, no_lockstep=False)
    (reply,) = Client(extras=extras).send(servo(1))
    assert reply.endswith(b'"rng_1":2.5,"no_time_sync":true,"no_lockstep":false}\n')


def test_32_channels_need_their_own_magic() -> None:
    client = Client(have_32_channels=True)
    assert client.send(servo(1)) == []
    assert len(client.send(encode_servo(1, 1, (1500,) * 32))) == 1


def test_a_paused_world_drains_at_unpause() -> None:
    client = Client()
    client.send(servo(1))
    client.twin.paused = True
    assert client.send(servo(2)) == []
    client.twin.paused = False
    client.twin.try_step()
    client.deliver()
    assert len(client.replies()) == 1


@pytest.mark.parametrize(
    ("pwm", "expected"),
    [(1500, 0.0), (2000, 23.15), (1000, -23.15), (900, -23.15), (2100, 23.15), (0, 0.0)],
)
def test_joint_command(pwm: int, expected: float) -> None:
    assert joint_command(pwm, multiplier=46.3) == pytest.approx(expected)


def test_old_plugin_reverses_on_pwm_zero() -> None:
    assert joint_command(0, multiplier=46.3, zero_is_a_command=True) == pytest.approx(-23.15)


def test_a_quarter_circle_ends_where_it_should() -> None:
    rover = TwinRover()
    rover.SLEW_MPS2 = 1e9
    # v = 0.9 m/s, w = 0.9 / 0.44 rad/s: radius 0.44 about the axle.
    rate = 0.9 / 0.44
    steps = 1000
    for _ in range(steps):
        rover.step(9.0, 3.0, math.pi / 2 / rate / steps)
    north, east, _ = rover.position_ned_m
    # Axle from (0, 0.15) facing east to (-0.44, 0.59) facing south; the link is 0.15 behind.
    assert (north, east) == pytest.approx((-0.44 + 0.15, 0.15 + 0.44), abs=1e-6)
