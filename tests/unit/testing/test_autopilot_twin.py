"""The twin of the autopilot against the packets of a real one."""

from pathlib import Path

import pytest

from pico_gz.testing.autopilot_twin import AutopilotCore, AutopilotTwin
from pico_gz.testing.plugin_twin import PluginTwin
from pico_gz.wire.memory_network import MemoryNetwork
from pico_gz.wire.servo import decode_servo

CAPTURES = Path(__file__).parents[2] / "golden" / "captures"
RECORD = (
    '\n{{"timestamp":{},"imu":{{"gyro":[0,0,0],"accel_body":[0,0,-9.8]}},"position":[0,0,0],'
    '"quaternion":[1,0,0,0],"velocity":[0,0,0]}}\n'
)


def record(time_s: float) -> bytes:
    return RECORD.format(time_s).encode()


def test_the_first_packets_are_those_of_a_real_boot() -> None:
    """Seven sends without an answer, then one packet per record, byte for byte."""
    real = [
        bytes.fromhex(t) for t in (CAPTURES / "ardurover_first_packets.hex").read_text().split()
    ]
    core = AutopilotCore(boot_frames=10_000)
    ours = [core.packet() for _ in range(7)]
    for step in range(1, len(real) - 6):
        assert core.receive(record(step / 1000.0))
        ours.append(core.packet())
    different = [i for i, (a, b) in enumerate(zip(ours, real, strict=True)) if a != b]
    # The real one smooths its frame rate over the very first records.
    assert all(decode_servo(ours[i]).pwm_us == decode_servo(real[i]).pwm_us for i in different)
    assert all(
        decode_servo(ours[i]).frame_count == decode_servo(real[i]).frame_count for i in different
    )
    assert len(different) <= 2


def test_frame_count_rises_per_accepted_record_only() -> None:
    core = AutopilotCore()
    assert not core.receive(b"")
    assert not core.receive(b"\n{}\n")
    assert core.frame_count == 0
    assert core.receive(record(1.0))
    assert decode_servo(core.packet()).frame_count == 1
    assert (core.accepted, core.rejected) == (1, 1)


def test_time_never_goes_back() -> None:
    core = AutopilotCore()
    for time_s in (5.0, 5.01, 0.01, 0.02, 0.02):
        core.receive(record(time_s))
    assert core.physics_resets == 1
    assert core.time_s == pytest.approx(5.02)
    assert core.frame_count == 5


def test_boot_outputs_of_both_releases() -> None:
    assert decode_servo(AutopilotCore(boot_frames=1).packet()).pwm_us == (1500,) * 4 + (1000,) * 12
    newer = AutopilotCore(boot_frames=1, release_47=True)
    assert decode_servo(newer.packet()).pwm_us == (0,) * 16


def test_ping_pong_with_the_plugins_twin() -> None:
    net = MemoryNetwork(latency_s=0.0001)
    world = PluginTwin([9002], network=net)
    pilot = AutopilotTwin(("127.0.0.1", 9002), network=net)
    world_socket = world._vehicles[0].socket
    world_socket.on_arrival = world.try_step  # type: ignore[attr-defined]
    pilot.socket.on_arrival = lambda: pilot.read(net.now_s())  # type: ignore[attr-defined]
    pilot.send(net.now_s())
    while net.now_s() < 0.1:
        net.advance_to(0.1)
    assert world.steps == pytest.approx(500, abs=2)
    assert pilot.core.accepted == pytest.approx(world.steps, abs=1)
    assert pilot.sent == pilot.core.accepted + 1


def test_it_repeats_after_a_second_of_silence() -> None:
    net = MemoryNetwork()
    pilot = AutopilotTwin(("127.0.0.1", 9002), network=net)
    server = net.bind("127.0.0.1", 9002)
    pilot.send(0.0)
    pilot.repeat_if_due(1.0)
    assert pilot.sent == 1
    pilot.repeat_if_due(1.1)
    assert pilot.sent == 2
    while net.advance_to(2.0):
        pass
    first, second = server.receive(), server.receive()
    assert first == second
