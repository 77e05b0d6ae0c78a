"""GazeboAdapter against the plugin's twin, in process and in virtual time."""

import json
import logging
import math

import pytest

from pico_gz.core.messages import ActuatorCommands, GpsFixType
from pico_gz.core.vehicle_config import PICO_TRAIL_CHANNELS, NoiseProfile, Pose, VehicleConfig
from pico_gz.errors import (
    ConfigError,
    MissingProgramError,
    PortClashError,
    SimulatorConnectionError,
    SimulatorError,
    SimulatorTimeoutError,
    UnknownVehicleError,
)
from pico_gz.gazebo.adapter import GazeboAdapter, GazeboConfig
from pico_gz.testing.plugin_twin import PluginTwin, StateExtras, TwinTraps
from pico_gz.testing.twin_rover import TwinPose
from pico_gz.wire.memory_network import MemoryNetwork
from pico_gz.wire.servo import decode_servo

HOST = "127.0.0.1"
STEP_US = 10_000


class Bench:
    """An adapter and a world of n rovers on an in-process network."""

    def __init__(
        self,
        vehicles: int = 1,
        *,
        traps: TwinTraps | None = None,
        config: GazeboConfig | None = None,
        connect: bool = True,
        **twin_settings: object,
    ) -> None:
        self.net = MemoryNetwork()
        self.twin_settings = {"step_us": 2000, "traps": traps, **twin_settings}
        self.ports = [9002 + 10 * i for i in range(vehicles)]
        self.twin = self.make_twin()
        self.adapter = GazeboAdapter(config or GazeboConfig(), network=self.net)
        for i in range(vehicles):
            self.adapter.add_vehicle(VehicleConfig(id=i + 1, noise=NoiseProfile.OFF))
        if connect:
            self.adapter.connect()

    def make_twin(self) -> PluginTwin:
        twin = PluginTwin(self.ports, network=self.net, **self.twin_settings)  # type: ignore[arg-type]
        for vehicle in twin._vehicles:
            vehicle.socket.on_arrival = twin.try_step  # type: ignore[attr-defined]
        return twin

    def drive(self, left: float, right: float, steps: int, vehicle: int = 1) -> None:
        self.adapter.send_actuators({vehicle: ActuatorCommands(0, vehicle, (left, right))})
        for _ in range(steps):
            self.adapter.step(STEP_US)


def test_a_step_is_exactly_k_exchanges() -> None:
    bench = Bench()
    before = bench.twin.steps
    for step in range(1, 21):
        bench.adapter.step(STEP_US)
        assert bench.twin.steps == before + 5 * step
        assert bench.adapter.sim_time_us() == STEP_US * step
        assert bench.adapter.receive_sensors()[1].timestamp_us == STEP_US * step


def test_time_starts_at_zero_in_a_world_that_has_run_for_hours() -> None:
    bench = Bench(start_time_us=7_200_000_000)
    assert bench.adapter.sim_time_us() == 0
    bench.adapter.step(STEP_US)
    assert bench.adapter.sim_time_us() == STEP_US


def test_commands_drive_the_rover_and_sensors_follow() -> None:
    bench = Bench()
    bench.drive(0.6, 0.6, 100)
    truth = bench.adapter.receive_truth()[1]
    assert truth.velocity_ned_mps[1] == pytest.approx(0.9)
    assert truth.accel_ned_mps2[2] == pytest.approx(0.0, abs=0.01)
    record = bench.adapter.receive_sensors()[1]
    assert record.imu is not None
    assert record.imu.accel_mss[2] == pytest.approx(-9.8)
    assert record.gps is not None
    assert record.gps.course_deg == pytest.approx(90.0, abs=1.0)
    assert record.compass is not None
    assert record.barometer is not None
    assert record.encoders is not None
    assert record.encoders.ticks[0] > 0


def test_an_uncommanded_vehicle_gets_1500() -> None:
    bench = Bench()
    bench.adapter.step(STEP_US)
    assert bench.twin.link().pwm_us[:3] == (1500, 0, 1500)


def test_channel_map_of_the_vehicle() -> None:
    bench = Bench(connect=False)
    bench.adapter.remove_vehicle(1)
    bench.adapter.add_vehicle(VehicleConfig(id=1, channels=PICO_TRAIL_CHANNELS))
    bench.adapter.connect()
    bench.drive(0.5, -0.5, 1)
    assert bench.twin.link().pwm_us[:3] == (1750, 1250, 0)


def test_ten_vehicles_share_a_frozen_world_without_a_lost_step() -> None:
    bench = Bench(10, poses=[TwinPose(x_m=3.0 * i) for i in range(10)])
    steps = bench.twin.steps
    for _ in range(50):
        bench.adapter.step(STEP_US)
    assert bench.twin.steps == steps + 250
    truth = bench.adapter.receive_truth()
    assert list(truth) == list(range(1, 11))
    assert [t.east_m for t in truth.values()] == pytest.approx([3.0 * i for i in range(10)])


def test_empty_first_replies_are_finished_steps() -> None:
    bench = Bench(traps=TwinTraps(empty_replies=7))
    bench.adapter.step(STEP_US)
    assert bench.adapter.wire_stats()[1].empty == 7
    assert bench.adapter.sim_time_us() == STEP_US


def test_a_step_that_times_out_goes_on_as_the_same_step() -> None:
    bench = Bench(config=GazeboConfig(timeout_ms=100))
    bench.adapter.step(STEP_US)
    steps = bench.twin.steps
    bench.twin.paused = True
    for _ in range(3):
        before = bench.net.now_s()
        with pytest.raises(SimulatorTimeoutError) as caught:
            bench.adapter.step(STEP_US)
        assert caught.value.vehicle_ids == (1,)
        assert bench.net.now_s() - before == pytest.approx(0.1, abs=0.02)
        assert bench.adapter.sim_time_us() == STEP_US
    bench.twin.paused = False
    bench.adapter.step(STEP_US)
    assert bench.adapter.sim_time_us() == 2 * STEP_US
    assert bench.twin.steps == steps + 5


def test_a_restarted_simulator_is_recognised_and_time_goes_on() -> None:
    bench = Bench(start_time_us=5_000_000)
    bench.drive(0.5, 0.5, 10)
    bench.twin.stop()
    bench.twin_settings["start_time_us"] = 0
    bench.twin = bench.make_twin()
    bench.adapter.step(STEP_US)
    stats = bench.adapter.wire_stats()[1]
    assert stats.restarts == 1
    assert bench.adapter.sim_time_us() == 11 * STEP_US
    bench.adapter.step(STEP_US)
    assert bench.adapter.sim_time_us() == 12 * STEP_US


def test_a_removed_vehicle_does_not_freeze_the_world_and_stands_in_neutral() -> None:
    bench = Bench(2)
    bench.drive(1.0, 1.0, 5, vehicle=2)
    bench.adapter.remove_vehicle(2)
    steps = bench.twin.steps
    for _ in range(20):
        bench.adapter.step(STEP_US)
    assert bench.twin.steps == steps + 100
    assert list(bench.adapter.receive_sensors()) == [1]
    assert bench.twin.link(1).pwm_us[:3] == (1500, 0, 1500)
    bench.adapter.add_vehicle(VehicleConfig(id=2))
    bench.adapter.step(STEP_US)
    assert list(bench.adapter.receive_sensors()) == [1, 2]


def test_a_vehicle_joins_a_running_world() -> None:
    bench = Bench(2, connect=False)
    bench.adapter.remove_vehicle(2)
    bench.adapter.connect()
    for _ in range(5):
        bench.adapter.step(STEP_US)
    bench.adapter.add_vehicle(VehicleConfig(id=2))
    for step in range(6, 20):
        bench.adapter.step(STEP_US)
        records = bench.adapter.receive_sensors()
        assert [r.timestamp_us for r in records.values()] == [STEP_US * step] * 2


def test_a_vehicle_that_is_not_in_the_world_costs_one_short_wait() -> None:
    bench = Bench()
    bench.adapter.add_vehicle(VehicleConfig(id=9))
    before = bench.net.now_s()
    for _ in range(10):
        bench.adapter.step(STEP_US)
    assert bench.net.now_s() - before < 0.2
    assert list(bench.adapter.receive_sensors()) == [1]


def test_connecting_can_be_given_up(caplog: pytest.LogCaptureFixture) -> None:
    net = MemoryNetwork()
    adapter = GazeboAdapter(GazeboConfig(connect_timeout_s=35.0), network=net)
    adapter.add_vehicle(VehicleConfig(id=1))
    with caplog.at_level(logging.WARNING), pytest.raises(SimulatorConnectionError) as caught:
        adapter.connect()
    assert "9002" in caught.value.hint
    assert len(caplog.records) == 3
    assert not adapter.is_connected()


def test_a_world_without_imu_is_named() -> None:
    bench = Bench(
        traps=TwinTraps(empty_replies=10**9),
        config=GazeboConfig(connect_timeout_s=1.0),
        connect=False,
    )
    with pytest.raises(SimulatorConnectionError) as caught:
        bench.adapter.connect()
    assert "Imu" in caught.value.hint


def test_a_world_with_another_physics_step_is_refused_with_the_right_number() -> None:
    bench = Bench(step_us=5000)
    with pytest.raises(SimulatorError) as caught:
        bench.drive(0.0, 0.0, 5)
    assert "physics_step_us = 5000" in caught.value.hint


def test_a_step_must_be_whole_physics_steps() -> None:
    with pytest.raises(ConfigError, match="whole number"):
        Bench().adapter.step(9_999)


def test_disconnect_leaves_the_vehicle_in_neutral_and_frees_the_ports() -> None:
    bench = Bench()
    bench.drive(1.0, 1.0, 2)
    bench.adapter.disconnect()
    while bench.net.advance_to(bench.net.now_s() + 1.0):
        pass
    assert bench.twin.link().pwm_us[:3] == (1500, 0, 1500)
    bench.net.bind(HOST, 9003)


def test_a_taken_port_names_the_vehicle() -> None:
    bench = Bench(2, connect=False)
    bench.net.bind(HOST, 9013)
    with pytest.raises(PortClashError, match=r"Vehicle 2.*9013"):
        bench.adapter.connect()
    bench.net.bind(HOST, 9003)


def test_capabilities_tell_what_is_connected() -> None:
    bench = Bench(connect=False, extras=StateExtras(range_m=2.5))
    assert not bench.adapter.capabilities().sensors.imu
    bench.adapter.connect()
    found = bench.adapter.capabilities()
    assert found.sensors.imu
    assert found.sensors.rangefinder
    assert not found.wind
    assert found.max_rate_hz == 500.0
    bench.adapter.step(STEP_US)
    rangefinders = bench.adapter.receive_sensors()[1].rangefinders
    assert rangefinders is not None
    assert rangefinders[0].distance_m == 2.5
    bench.adapter.disconnect()
    assert not bench.adapter.capabilities().sensors.imu


def test_external_vehicles_of_our_worlds_have_their_plugin_10000_ports_higher() -> None:
    config = GazeboConfig()
    external = VehicleConfig(id=2, autopilot="external")
    assert config.port_pair(external) == (19012, 19013)
    assert config.port_pair(VehicleConfig(id=2)) == (9012, 9013)
    assert GazeboConfig(own_world=False).port_pair(external) == (9012, 9013)


def test_a_port_in_server_addr_is_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    config = GazeboConfig(server_addr="127.0.0.1:9002")
    with caplog.at_level(logging.WARNING):
        assert config.server_host() == "127.0.0.1"
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "bad",
    [
        {"sensor_port": 0},
        {"actuator_port": 70000},
        {"timeout_ms": 0},
        {"physics_step_us": 0},
        {"sensor_port": 9003},
    ],
)
def test_impossible_settings_are_refused(bad: dict[str, int]) -> None:
    with pytest.raises(ConfigError):
        GazeboConfig(**bad)  # type: ignore[arg-type]


def test_failures_of_modelled_sensors_only() -> None:
    bench = Bench()
    bench.adapter.set_failure(1, "gps", "off")
    with pytest.raises(SimulatorError):
        bench.adapter.set_failure(1, "gyro", "off")
    with pytest.raises(UnknownVehicleError):
        bench.adapter.set_failure(9, "gps", "off")
    bench.drive(0.0, 0.0, 60)
    gps = bench.adapter.receive_sensors()[1].gps
    assert gps is None or gps.fix_type is GpsFixType.NO_FIX


def test_many_vehicles_in_arrays_read_the_same_bits_as_one_alone() -> None:
    """And a vehicle that leaves or joins changes nothing for the others."""
    alone, many = Bench(1), Bench(15, poses=[TwinPose() for _ in range(15)])
    for step in range(60):
        alone.drive(0.5, 0.3, 1)
        many.drive(0.5, 0.3, 1)
        if step == 20:
            many.adapter.remove_vehicle(7)
        if step == 30:
            for vehicle_id in (8, 9, 10, 11):
                many.adapter.remove_vehicle(vehicle_id)
        if step == 40:
            many.adapter.add_vehicle(VehicleConfig(id=9))
        assert many.adapter.receive_sensors()[1] == alone.adapter.receive_sensors()[1]
        assert many.adapter.receive_truth()[1] == alone.adapter.receive_truth()[1]


class ControlWithoutBindings:
    """Stands for a ``FleetControl`` that finds no Python bindings."""

    closed = False

    def start(self) -> None:
        raise MissingProgramError("Gazebo's Python bindings are not here.")

    def close(self) -> None:
        self.closed = True


def test_a_connection_that_cannot_read_topics_gives_its_ports_back() -> None:
    bench, control = Bench(connect=False), ControlWithoutBindings()
    adapter = GazeboAdapter(network=bench.net, world_control=control)  # type: ignore[arg-type]
    adapter.add_vehicle(VehicleConfig(id=1))
    with pytest.raises(MissingProgramError):
        adapter.connect()
    assert control.closed
    bench.adapter.connect()
    bench.drive(0.1, 0.1, 1)


class NotingControl:
    """Stands for a ``FleetControl``; notes who is spawned."""

    def __init__(self) -> None:
        self.spawned: list[str] = []

    def start(self) -> None:
        return None

    def spawn(self, config: VehicleConfig) -> None:
        self.spawned.append(config.label)

    def replace_sensors(self, records: object) -> object:
        return records


def test_a_vehicle_that_joins_inside_another_is_refused_with_both_names() -> None:
    bench, control = Bench(connect=False), NotingControl()
    adapter = GazeboAdapter(network=bench.net, world_control=control)  # type: ignore[arg-type]
    adapter.add_vehicle(VehicleConfig(id=1, name="first", noise=NoiseProfile.OFF))
    adapter.connect()
    adapter.step(STEP_US)
    for pose in (Pose(), Pose(north_m=0.2), Pose(east_m=0.1, yaw_deg=90.0)):
        late = VehicleConfig(id=2, name="late", pose=pose)
        with pytest.raises(ConfigError, match=r"late cannot be added: .* inside first\."):
            adapter.add_vehicle(late)
    assert (adapter.vehicle_ids(), control.spawned) == ((1,), [])
    # Bodies are boxes in Gazebo: side by side there is room for more than discs have.
    adapter.add_vehicle(VehicleConfig(id=2, name="late", pose=Pose(north_m=0.2, yaw_deg=90.0)))
    assert control.spawned == ["late"]


# --- the kit's own JSON -----------------------------------------------------------------------


class JsonSimulator:
    """Answers every actuator datagram with the next sensor datagram."""

    def __init__(self, net: MemoryNetwork, port: int, reply_port: int, step_us: int = 2000) -> None:
        self.socket = net.bind(HOST, port)
        self.reply_to = (HOST, reply_port)
        self.socket.on_arrival = self.answer
        self.step_us = step_us
        self.times: dict[int, int] = {}
        self.seen: list[dict[str, object]] = []

    def answer(self) -> None:
        while (item := self.socket.receive()) is not None:
            message = json.loads(item[0])
            self.seen.append(message)
            vehicle = message["vehicle_id"]
            self.times[vehicle] = self.times.get(vehicle, 0) + self.step_us
            record = {
                "vehicle_id": vehicle,
                "timestamp": self.times[vehicle],
                "imu": {"linear_acceleration": [vehicle, 0, -9.81], "angular_velocity": [0, 0, 0]},
                "gps": {"lat": 1.0, "lon": 2.0, "alt": 3.0, "speed": 0.0, "course": 0.0},
            }
            self.socket.send_to(json.dumps(record).encode(), self.reply_to)


@pytest.mark.parametrize("shared", [True, False])
def test_json_dialect_with_three_vehicles(shared: bool) -> None:
    net = MemoryNetwork()
    config = GazeboConfig(ardupilot_compat=False, shared_socket=shared, lock_step=True)
    if shared:
        simulators = [JsonSimulator(net, 9003, 9002)]
    else:
        simulators = [JsonSimulator(net, 9003 + 10 * i, 9002 + 10 * i) for i in range(3)]
    adapter = GazeboAdapter(config, network=net)
    for i in (1, 2, 3):
        adapter.add_vehicle(VehicleConfig(id=i, channels=PICO_TRAIL_CHANNELS))
    adapter.connect()
    adapter.send_actuators({2: ActuatorCommands(0, 2, (1.0, -1.0))})
    for _ in range(10):
        adapter.step(STEP_US)
    records = adapter.receive_sensors()
    for i in (1, 2, 3):
        imu = records[i].imu
        assert imu is not None
        assert imu.accel_mss[0] == i
        assert records[i].timestamp_us == 10 * STEP_US
    motors = {m["vehicle_id"]: m["motors"] for s in simulators for m in s.seen}
    assert motors == {1: [1500, 1500], 2: [2000, 1000], 3: [1500, 1500]}
    assert adapter.capabilities().sensors.gps
    assert not adapter.capabilities().sensors.compass
    assert adapter.receive_truth() == {}


def test_json_dialect_does_not_promise_lockstep_by_itself() -> None:
    assert not GazeboAdapter(GazeboConfig(ardupilot_compat=False)).supports_lockstep()
    assert GazeboAdapter().supports_lockstep()


def test_two_clients_of_one_network_see_the_right_headings() -> None:
    bench = Bench(2, poses=[TwinPose(yaw_rad=0.0), TwinPose(x_m=5.0, yaw_rad=math.pi / 2)])
    bench.adapter.step(STEP_US)
    truth = bench.adapter.receive_truth()
    assert truth[1].quat_wxyz[3] == pytest.approx(math.sqrt(0.5))
    assert abs(truth[2].quat_wxyz[0]) == pytest.approx(1.0)


def test_32_channels() -> None:
    bench = Bench(config=GazeboConfig(have_32_channels=True), have_32_channels=True)
    bench.adapter.step(STEP_US)
    assert len(bench.twin.link().pwm_us) == 32


def test_nothing_but_the_peer_is_heard() -> None:
    bench = Bench()
    stranger = bench.net.bind(HOST, 5555)
    stranger.send_to(b'\n{"timestamp":99}\n', (HOST, 9003))
    bench.adapter.step(STEP_US)
    assert bench.adapter.wire_stats()[1].broken == 0


def test_packets_are_the_wire_of_the_plugin() -> None:
    bench = Bench(connect=False)
    seen: list[bytes] = []
    bench.net._disturb = lambda a, b, data, t: seen.append(data) or [(0.0, data)]  # type: ignore[func-returns-value]
    bench.adapter.connect()
    packet = decode_servo(seen[0])
    assert (packet.frame_count, packet.frame_rate_hz) == (1, 500)
