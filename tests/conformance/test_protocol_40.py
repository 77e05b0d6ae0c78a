"""The forty statements about the wire, one test each, named after its number.

Statements 1-15 are about servo packets, 16-34 about replies, 35-40 about several vehicles.
They are checked on the kit's own server, on its client against the plugin's twin, and, where
a statement is about the real plugin, on what that plugin really sent.
"""

import itertools
import json
import math
import re
import socket
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from fdm_rig import FdmRig

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.clock import Lockstep
from pico_gz.bridge.stall import StallPolicy, StallRules
from pico_gz.core.frames import yaw_from_quat
from pico_gz.core.messages import ActuatorCommands
from pico_gz.core.vehicle_config import ChannelMap, VehicleConfig
from pico_gz.errors import DecodeError, PortClashError
from pico_gz.gazebo.adapter import GazeboAdapter, GazeboConfig
from pico_gz.gazebo.worlds.render import render_world
from pico_gz.run.config import default_fleet
from pico_gz.run.world_from_fleet import WorldOptions, world_of_fleet
from pico_gz.testing import ScriptedAdapter
from pico_gz.testing.autopilot_twin import AutopilotTwin, SubstringParser
from pico_gz.testing.plugin_twin import PluginTwin, TwinTraps
from pico_gz.testing.twin_rover import TwinPose, joint_command
from pico_gz.vehicle.external.external_vehicle import ExternalVehicle
from pico_gz.vehicle.external.fdm_server import FdmServer
from pico_gz.wire.memory_network import MemoryNetwork, MemoryTransport
from pico_gz.wire.servo import decode_servo, encode_servo
from pico_gz.wire.state import decode_state
from pico_gz.wire.state_record import StateRecord

HOST = "127.0.0.1"
CAPTURE = Path(__file__).parents[1] / "golden" / "captures" / "plugin_exchange.jsonl"
STEP_US = 10_000


def servo(frame: int, left: int = 1500, right: int = 1500) -> bytes:
    return encode_servo(1200, frame, (left, 0, right) + (0,) * 13)


class Wire:
    """A server on a rig of kinematic rovers, and raw clients, in process."""

    def __init__(self, vehicles: int = 1, poses: tuple[TwinPose, ...] = (), **settings: object):
        self.net = MemoryNetwork()
        self.events: list[tuple[str, str, int]] = []
        self.server = FdmServer(
            [ExternalVehicle(vehicle_id=i + 1, fdm_port=9002 + 10 * i) for i in range(vehicles)],
            network=self.net,
            on_event=lambda *event: self.events.append(event),
            **settings,  # type: ignore[arg-type]
        )
        self.rig = FdmRig(self.server, step_us=STEP_US, poses=poses)
        self.clients = [self.net.bind(HOST, 40001 + i) for i in range(vehicles)]

    def send(self, data: bytes, index: int = 0, client: MemoryTransport | None = None) -> None:
        (client or self.clients[index]).send_to(data, (HOST, 9002 + 10 * index))
        self.deliver()

    def deliver(self) -> None:
        until = self.net.now_s() + 0.001
        while self.net.advance_to(until):
            pass

    def replies(self, index: int = 0, client: MemoryTransport | None = None) -> list[bytes]:
        self.deliver()
        found = []
        while (item := (client or self.clients[index]).receive()) is not None:
            found.append(item[0])
        return found

    def step(self) -> None:
        self.rig.step(0.0)

    def exchange(self, frame: int, left: int = 1500, right: int = 1500) -> list[bytes]:
        """Send a frame, let the simulator step, return what came back."""
        self.send(servo(frame, left, right))
        self.rig.collect(0.0)
        self.rig.advance()
        self.rig.hand_over()
        return self.replies()


def drive(frames: int, left: int, right: int, **settings: object) -> list[StateRecord]:
    wire = Wire(**settings)  # type: ignore[arg-type]
    records = []
    for frame in range(frames):
        records += [decode_state(data) for data in wire.exchange(frame, left, right)]
    return records


def captured() -> list[tuple[list[int], StateRecord]]:
    lines = [json.loads(line) for line in CAPTURE.read_text().splitlines()]
    return [(line["pwm"], decode_state(line["reply"].encode())) for line in lines]


# --- servo side -------------------------------------------------------------------------------


def test_statement_01_magic_18458_is_40_bytes_with_pwm_1_at_offset_8() -> None:
    data = encode_servo(1, 2, (0x1234,) + (0,) * 15)
    assert len(data) == 40
    assert data[:2] == b"\x1a\x48"
    assert data[8:10] == b"\x34\x12"


def test_statement_02_magic_29569_is_72_bytes_with_32_values() -> None:
    data = encode_servo(1, 2, range(32))
    assert len(data) == 72
    assert data[:2] == b"\x81\x73"
    assert decode_servo(data).pwm_us == tuple(range(32))


def test_statement_03_any_other_magic_is_discarded_without_a_reply() -> None:
    wire = Wire()
    wire.exchange(0)
    wire.exchange(1, 1600, 1600)
    before = dict(wire.rig.commands)
    wire.send((0).to_bytes(2, "little") + servo(2, 2000, 2000)[2:])
    wire.rig.collect(0.0)
    wire.rig.hand_over()
    assert wire.replies() == []
    assert wire.rig.commands == before


def test_statement_04_a_size_that_does_not_fit_the_magic_is_discarded() -> None:
    for size in (0, 1, 8, 39, 41, 72):
        with pytest.raises(DecodeError):
            decode_servo((servo(1) + bytes(40))[:size])
    wire = Wire()
    wire.send(servo(0)[:39])
    assert not wire.server.is_connected(1)


def test_statement_05_frame_count_has_32_bits() -> None:
    wire = Wire()
    for frame in (65534, 65535, 65536, 65537):
        assert len(wire.exchange(frame)) == 1
    assert wire.server.stats()[1].restarts == 0


def test_statement_06_the_first_packet_with_frame_0_is_a_connection() -> None:
    wire = Wire()
    wire.exchange(0)
    assert [event[0] for event in wire.events] == ["connected"]
    assert wire.server.stats()[1].restarts == 0


def test_statement_07_a_repeated_frame_leaves_time_and_gets_the_last_record() -> None:
    wire = Wire()
    (first,) = wire.exchange(0)
    before_us = wire.rig.time_us
    wire.send(servo(0, 2000, 2000))
    assert wire.server.collect(0.0) == {}
    assert wire.replies() == [first]
    assert wire.rig.time_us == before_us


def test_statement_08_a_repeat_before_any_state_gives_no_empty_datagram() -> None:
    wire = Wire()
    for _ in range(3):
        wire.send(servo(0))
        wire.server.service()
    assert wire.replies() == []


def test_statement_09_a_lower_frame_is_a_restart_and_later_packets_are_accepted() -> None:
    wire = Wire()
    for frame in (10, 11, 3, 4, 5):
        assert len(wire.exchange(frame)) == 1
    assert "restarted" in [event[0] for event in wire.events]
    assert wire.server.stats()[1].restarts == 1


def test_statement_10_a_jump_of_k_is_k_minus_1_missed_frames() -> None:
    wire = Wire()
    wire.exchange(10)
    assert len(wire.exchange(15)) == 1
    assert wire.server.stats()[1].missed == 4


def test_statement_11_of_several_queued_packets_the_newest_counts() -> None:
    wire = Wire()
    wire.exchange(0)
    for frame, pwm in ((1, 1600), (2, 1700), (3, 1800)):
        wire.send(servo(frame, pwm, pwm))
    wire.rig.collect(0.0)
    assert wire.rig.commands[1].motors == (0.6, 0.6)


def test_statement_12_pwm_0_is_no_actuation() -> None:
    wire = Wire()
    wire.exchange(0)
    wire.exchange(1, 1800, 1800)
    wire.exchange(2, 0, 0)
    assert wire.rig.commands[1].motors == (0.0, 0.0)
    assert joint_command(0, multiplier=46.3, offset=-0.5) == 0.0


def test_statement_13_the_plugins_scaling() -> None:
    for pwm, expected in ((1500, 0.0), (2000, 23.15), (1000, -23.15)):
        assert joint_command(pwm, multiplier=46.3) == pytest.approx(expected)
    wire = Wire()
    wire.exchange(0)
    for frame, (pwm, expected) in enumerate(((1500, 0.0), (2000, 1.0), (1000, -1.0)), 1):
        wire.exchange(frame, pwm, pwm)
        assert wire.rig.commands[1].motors == (expected, expected)


def test_statement_14_beyond_the_ends_is_the_end() -> None:
    wire = Wire()
    wire.exchange(0)
    wire.exchange(1, 900, 2100)
    assert wire.rig.commands[1].motors == (-1.0, 1.0)
    for outside, end in ((900, 1000), (2100, 2000)):
        assert joint_command(outside, multiplier=46.3) == joint_command(end, multiplier=46.3)


def test_statement_15_channel_2_follows_servo3() -> None:
    assert decode_servo(servo(1, 1100, 1900)).pwm_us[2] == 1900
    assert ChannelMap().right == 3
    wire = Wire()
    wire.exchange(0)
    wire.exchange(1, 1500, 1900)
    assert wire.rig.commands[1].motors == (0.0, 0.8)


# --- reply side -------------------------------------------------------------------------------


def test_statement_16_the_reply_leaves_the_bound_port_to_the_newest_sender() -> None:
    """On real sockets, because that is where source ports are made."""
    server = FdmServer([ExternalVehicle(vehicle_id=1, fdm_port=0)])
    rig, port = FdmRig(server, step_us=STEP_US), server.port(1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(2.0)
        client.sendto(servo(0), (HOST, port))
        deadline = time.monotonic() + 2.0
        while not server.is_connected(1) and time.monotonic() < deadline:
            rig.collect(0.0)
        rig.hand_over()
        data, sender = client.recvfrom(2000)
    server.close()
    assert sender == (HOST, port)
    assert decode_state(data).timestamp_s == 0.0


def test_statement_17_an_autopilot_on_another_port_is_followed() -> None:
    wire = Wire()
    wire.exchange(0)
    other = wire.net.bind(HOST, 50000)
    wire.send(servo(0), client=other)
    wire.step()
    wire.rig.hand_over()
    assert len(wire.replies(client=other)) == 1
    assert wire.replies() == []


def test_statement_18_one_line_feed_at_each_end_and_none_between() -> None:
    for frame in range(20):
        (reply,) = Wire().exchange(frame, 1700, 1400)
        assert reply[:1] == reply[-1:] == b"\n"
        assert b"\n" not in reply[1:-1]


def test_statement_19_no_blank_beside_a_colon_or_before_a_bracket() -> None:
    (reply,) = Wire().exchange(0)
    assert not re.search(rb"\s[:\[]|:\s", reply[1:-1])


def test_statement_20_the_mandatory_keys_are_always_there() -> None:
    wire = Wire()
    for frame in range(20):
        (reply,) = wire.exchange(frame, 1800, 1500)
        for release_47 in (False, True):
            parser = SubstringParser(release_47=release_47)
            assert parser.feed(reply), parser.state.complaint
            assert {"timestamp", "imu.gyro", "imu.accel_body", "position", "velocity"} <= set(
                parser.state.seen
            )
            assert "quaternion" in parser.state.seen


def test_statement_21_velocity_precedes_velocity_wind() -> None:
    wire = Wire()
    wire.send(servo(0))
    wire.rig.collect(0.0)
    windy = {
        i: type(t)(**{f: getattr(t, f) for f in t.__struct_fields__} | {"wind_ned_mps": (1, 2, 0)})
        for i, t in wire.rig.truth().items()
    }
    wire.server.hand_over({}, windy, 10_000)
    (reply,) = wire.replies()
    assert reply.index(b'"velocity":') < reply.index(b'"velocity_wind":')


def test_statement_22_all_numbers_are_finite_and_start_with_a_digit_or_minus() -> None:
    wire = Wire()
    for frame in range(50):
        (reply,) = wire.exchange(frame, 1700, 1400)
        for number in re.findall(rb"[\[,:]([^\[\]{},:\"]+)", reply):
            assert number[:1] in b"-0123456789"
            assert math.isfinite(float(number))


def test_statement_23_specific_force_at_rest() -> None:
    for record in drive(50, 1500, 1500):
        assert record.imu.accel_frd_mps2 == pytest.approx((0, 0, -9.8), abs=0.05)
        assert record.imu.gyro_frd_radps == pytest.approx((0, 0, 0), abs=1e-6)
    for pwm, record in captured()[50:100]:
        assert pwm[0] == 1500
        assert record.imu.accel_frd_mps2 == pytest.approx((0, 0, -9.8), abs=0.05)


def test_statement_24_facing_gazebo_y_is_yaw_0() -> None:
    record = drive(1, 1500, 1500, poses=(TwinPose(yaw_rad=math.pi / 2),))[0]
    assert record.quat_wxyz is not None
    sign = math.copysign(1.0, record.quat_wxyz[0])
    assert [sign * q for q in record.quat_wxyz] == pytest.approx([1, 0, 0, 0], abs=1e-9)


def test_statement_25_facing_gazebo_x_is_yaw_90() -> None:
    ours = drive(1, 1500, 1500)[0]
    real = captured()[0][1]
    for record in (ours, real):
        assert record.quat_wxyz is not None
        assert yaw_from_quat(record.quat_wxyz) == pytest.approx(math.pi / 2, abs=1e-6)


def test_statement_26_driving_toward_gazebo_x_makes_east_grow() -> None:
    records = drive(100, 1800, 1800)
    assert records[-1].velocity_ned_mps[1] > 0.5
    assert records[-1].position_ned_m[1] > records[50].position_ned_m[1]
    forward = [record for pwm, record in captured() if pwm[0] == pwm[2] == 1800]
    assert forward[-1].velocity_ned_mps[1] == pytest.approx(0.9, abs=0.01)
    assert forward[-1].position_ned_m[1] > forward[0].position_ned_m[1] + 1.0


def test_statement_27_up_is_negative() -> None:
    wire = Wire()
    (before,) = wire.exchange(0)
    wire.rig.rover(1).lift_m = 1.0
    (after,) = wire.exchange(1)
    change = decode_state(after).position_ned_m[2] - decode_state(before).position_ned_m[2]
    assert change == pytest.approx(-1.0)


def test_statement_28_a_left_turn_has_a_negative_gyro_z() -> None:
    assert drive(50, 1400, 1600)[-1].imu.gyro_frd_radps[2] < -0.1
    right = [record for pwm, record in captured() if pwm[0] == 1700]
    assert right[-1].imu.gyro_frd_radps[2] == pytest.approx(2.045, abs=0.01)


def test_statement_29_timestamps_rise_by_the_step() -> None:
    times = [record.timestamp_s for record in drive(50, 1600, 1600)]
    steps = [b - a for a, b in itertools.pairwise(times)]
    assert steps == pytest.approx([STEP_US / 1e6] * 49)
    assert STEP_US / 1e6 < 0.1


def test_statement_30_one_record_per_new_frame_in_lockstep() -> None:
    wire = Wire()
    total = 0
    for frame in range(30):
        total += len(wire.exchange(frame))
        wire.step()
        wire.step()
        total += len(wire.replies())
    assert total == 30


def test_statement_31_a_reply_is_below_1400_bytes() -> None:
    assert all(len(Wire().exchange(f, 1700, 1400)[0]) < 1400 for f in range(5))


def test_statement_32_without_an_autopilot_physics_runs_and_nothing_is_sent() -> None:
    sent: list[bytes] = []
    wire = Wire()
    wire.net._disturb = lambda a, b, data, t: sent.append(data) or []  # type: ignore[func-returns-value]
    for _ in range(10):
        wire.step()
    assert wire.rig.time_us == 10 * STEP_US
    assert sent == []


def test_statement_33_silence_ends_all_drive_commands_when_not_in_lockstep() -> None:
    wire = Wire(lockstep=False)
    wire.exchange(0)
    wire.exchange(1, 2000, 2000)
    assert wire.rig.commands[1].motors == (1.0, 1.0)
    wire.net.advance_to(wire.net.now_s() + 0.6)
    wire.step()
    assert wire.rig.commands[1].motors == (0.0, 0.0)


def test_statement_34_a_watchdog_names_the_vehicle_that_stalls() -> None:
    """The whole bridge, with a clock that jumps, and one of two autopilots silent."""
    net = MemoryNetwork()
    server = FdmServer(
        [ExternalVehicle(vehicle_id=i, fdm_port=9002 + 10 * (i - 1)) for i in (1, 2)], network=net
    )
    bridge = SitlBridge(
        Lockstep(STEP_US),
        stall=StallRules(warn_ms=500, timeout_ms=2000, policy=StallPolicy.NEUTRAL),
        clock=net.now_s,
    )
    bridge.register_adapter(ScriptedAdapter())
    for i in (1, 2):
        bridge.spawn_vehicle(VehicleConfig(id=i), external=True)
    bridge.add_autopilots(server)
    twins = [AutopilotTwin((HOST, 9002 + 10 * i), network=net) for i in range(2)]
    for twin in twins:
        twin.socket.on_arrival = lambda t=twin: t.read(net.now_s())  # type: ignore[attr-defined, misc]
        twin.send(net.now_s())
    while net.advance_to(net.now_s() + 0.01):
        pass
    bridge.step(5)
    twins[1].stopped = True
    twins[1].socket.on_arrival = None  # type: ignore[attr-defined]
    before_s = net.now_s()
    bridge.step(5)
    waited_s = net.now_s() - before_s
    texts = [event.text for event in bridge.events.recent]
    assert any("rover_2" in text and "Waiting" in text for text in texts)
    assert not any("rover_1 (id 1)" in text for text in texts)
    assert 1.9 < waited_s < 2.5
    assert twins[0].core.accepted >= 9
    server.close()


# --- several vehicles -------------------------------------------------------------------------


def test_statement_35_vehicle_i_binds_its_port_and_a_second_binding_fails_loudly() -> None:
    """On real sockets, because only the operating system can refuse."""
    wire = Wire(3)
    assert [wire.server.port(i) for i in (1, 2, 3)] == [9002, 9012, 9022]
    first = FdmServer([ExternalVehicle(vehicle_id=1, fdm_port=0)])
    port = first.port(1)
    with pytest.raises(PortClashError, match=rf"Vehicle 7.*{port}"):
        FdmServer([ExternalVehicle(vehicle_id=7, fdm_port=port)])
    first.close()


def test_statement_36_autopilots_at_two_addresses_get_their_own_records() -> None:
    wire = Wire(2, poses=(TwinPose(x_m=0.0), TwinPose(x_m=5.0)))
    clients = [wire.net.bind(host, 40000) for host in ("10.0.0.1", "10.0.0.2")]
    for index, client in enumerate(clients):
        wire.send(servo(0), index, client)
    wire.step()
    wire.rig.hand_over()
    for client, east in zip(clients, (0.0, 5.0), strict=True):
        (reply,) = wire.replies(client=client)
        assert decode_state(reply).position_ned_m[1] == pytest.approx(east)


def test_statement_37_pwm_to_9012_never_moves_the_vehicle_on_9002() -> None:
    wire = Wire(2)
    wire.send(servo(0), 1)
    for frame in range(1, 50):
        wire.step()
        wire.send(servo(frame, 2000, 2000), 1)
    first, second = wire.rig.rover(1), wire.rig.rover(2)
    assert first.velocity_ned_mps[1] == 0.0
    assert second.velocity_ned_mps[1] > 1.0


def test_statement_38_topics_of_a_generated_rover_contain_its_name() -> None:
    options = WorldOptions(rangefinders=True, lidar=True)
    text = render_world(world_of_fleet(default_fleet(environ={}), options))[0]
    models = [m for m in ElementTree.fromstring(text).iter("model") if m.find("plugin") is not None]
    assert len(models) == 3
    for model in models:
        topics = [e.text or "" for tag in ("topic", "cmd_topic") for e in model.iter(tag)]
        assert topics
        assert all(f"/{model.get('name')}/" in topic for topic in topics)


def test_statement_39_vehicles_d_metres_apart_report_positions_d_metres_apart() -> None:
    wire = Wire(2, poses=(TwinPose(), TwinPose(x_m=3.0, y_m=4.0)))
    for index in range(2):
        wire.send(servo(0), index)
    wire.step()
    wire.rig.hand_over()
    a, b = (decode_state(wire.replies(i)[0]).position_ned_m for i in range(2))
    assert math.dist(a, b) == pytest.approx(5.0)


def test_statement_40_withheld_for_2_s_the_same_frame_comes_again_and_no_extra_step() -> None:
    wire = Wire()
    twin = AutopilotTwin((HOST, 9002), network=wire.net)
    twin.send(0.0)
    frames = set()
    while wire.net.now_s() < 2.0:
        wire.net.advance_to(wire.net.now_s() + 0.05)
        twin.repeat_if_due(wire.net.now_s())
        frames.add(twin.core.frame_count)
        wire.server.service()
    assert twin.sent == 2
    assert frames == {0}
    assert wire.rig.time_us == 0
    assert wire.server.stats()[1].packets == 1


def test_client_and_plugin_twin_agree_on_time_and_steps() -> None:
    """The statements hold for the client as well: one frame, one step, nothing invented."""
    net = MemoryNetwork()
    twin = PluginTwin([9002], step_us=2000, traps=TwinTraps(empty_replies=3), network=net)
    twin._vehicles[0].socket.on_arrival = twin.try_step  # type: ignore[attr-defined]
    adapter = GazeboAdapter(GazeboConfig(), network=net)
    adapter.add_vehicle(VehicleConfig(id=1))
    adapter.connect()
    steps = twin.steps
    adapter.send_actuators({1: ActuatorCommands(0, 1, (0.5, 0.5))})
    for _ in range(100):
        adapter.step(STEP_US)
    assert twin.steps - steps == 500
    assert adapter.sim_time_us() == 100 * STEP_US
    assert twin.link().frame_count == twin.steps
