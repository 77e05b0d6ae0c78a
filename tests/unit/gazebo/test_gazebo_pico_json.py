"""GazeboAdapter in the kit's own dialect: slow sensors, strangers, other versions."""

import json
import logging

import pytest

from pico_gz.core.messages import ActuatorCommands
from pico_gz.core.vehicle_config import PICO_TRAIL_CHANNELS, VehicleConfig
from pico_gz.errors import SimulatorConnectionError, SimulatorError
from pico_gz.gazebo.adapter import GazeboAdapter, GazeboConfig
from pico_gz.gazebo.exchange import WireStats
from pico_gz.wire.memory_network import MemoryNetwork

HOST = "127.0.0.1"
STEP_US = 10_000
PHYSICS_STEP_US = 2000
IMU = {"linear_acceleration": [0, 0, -9.81], "angular_velocity": [0, 0, 0]}


class Simulator:
    """Answers every actuator datagram; a fix comes with every ``gps_every``-th record."""

    def __init__(self, net: MemoryNetwork, *, gps_every: int = 0, version: int = 1) -> None:
        self.socket = self.sender = net.bind(HOST, 9003)
        self.socket.on_arrival = self.answer
        self.gps_every = gps_every
        self.version = version
        self.records = 0
        self.fixes = 0
        self.motors: list[int] = []

    def answer(self) -> None:
        while (item := self.socket.receive()) is not None:
            self.motors = json.loads(item[0])["motors"]
            self.records += 1
            record: dict[str, object] = {
                "version": self.version,
                "timestamp": PHYSICS_STEP_US * self.records,
                "imu": IMU,
            }
            if self.gps_every and self.records % self.gps_every == 0:
                self.fixes += 1
                lat = 1e-6 * self.records
                record["gps"] = {"lat": lat, "lon": 2, "alt": 3, "speed": 0, "course": 0}
            self.sender.send_to(json.dumps(record).encode(), (HOST, 9002))


def adapter_on(net: MemoryNetwork, *, shared: bool = False) -> GazeboAdapter:
    config = GazeboConfig(
        ardupilot_compat=False, shared_socket=shared, lock_step=True, connect_timeout_s=5.0
    )
    adapter = GazeboAdapter(config, network=net)
    adapter.add_vehicle(VehicleConfig(id=1, channels=PICO_TRAIL_CHANNELS))
    return adapter


def spoofed(net: MemoryNetwork, host: str = HOST) -> None:
    record = {"timestamp": 900_000_000, "imu": {**IMU, "linear_acceleration": [5, 5, 5]}}
    net.bind(host, 6666).send_to(json.dumps(record).encode(), (HOST, 9002))


@pytest.mark.parametrize("gps_every", [97, 100, 101, 2])
def test_every_step_tells_the_newest_fix_of_all_its_records(gps_every: int) -> None:
    net = MemoryNetwork()
    simulator = Simulator(net, gps_every=gps_every)
    adapter = adapter_on(net)
    adapter.connect()
    newest = 0.0
    told = 0
    for _ in range(200):
        fixes = simulator.fixes
        adapter.step(STEP_US)
        fix = adapter.receive_sensors()[1].gps
        assert (fix is not None) == (simulator.fixes > fixes), "told once, and never late"
        if fix is not None:
            told += 1
            assert fix.lat_deg > newest
            newest = fix.lat_deg
    assert told >= min(200, 200 * 5 // gps_every)
    assert newest == pytest.approx(1e-6 * (simulator.records - simulator.records % gps_every))


def test_a_sensor_that_speaks_late_is_a_capability_from_then_on() -> None:
    net = MemoryNetwork()
    simulator = Simulator(net, gps_every=50)
    adapter = adapter_on(net)
    adapter.connect()
    assert not adapter.capabilities().sensors.gps
    for _ in range(15):
        adapter.step(STEP_US)
    assert simulator.fixes == 1
    assert adapter.capabilities().sensors.gps
    simulator.gps_every = 0
    adapter.step(STEP_US)
    assert adapter.capabilities().sensors.gps
    adapter.disconnect()
    assert not adapter.capabilities().sensors.gps


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("host", [HOST, "10.0.0.9"])
def test_f14_a_spoofed_record_is_counted_and_dropped(
    shared: bool, host: str, caplog: pytest.LogCaptureFixture
) -> None:
    net = MemoryNetwork()
    Simulator(net)
    adapter = adapter_on(net, shared=shared)
    adapter.connect()
    adapter.step(STEP_US)
    spoofed(net, host)
    with caplog.at_level(logging.WARNING):
        for _ in range(50):
            adapter.step(STEP_US)
    stats = adapter.wire_stats()
    assert sum(counted.foreign for counted in stats.values()) == 1
    assert (stats[1].gaps, stats[1].restarts, stats[1].broken) == (0, 0, 0)
    imu = adapter.receive_sensors()[1].imu
    assert imu is not None
    assert imu.accel_mss == (0.0, 0.0, -9.81)
    assert [f"{host}:6666" in record.message for record in caplog.records] == [True]


def test_a_simulator_may_send_from_another_port_of_its_host() -> None:
    net = MemoryNetwork()
    simulator = Simulator(net)
    simulator.sender = net.bind(HOST, 45_678)
    adapter = adapter_on(net)
    adapter.connect()
    adapter.step(STEP_US)
    assert adapter.sim_time_us() == STEP_US
    assert adapter.wire_stats()[1].foreign == 0


def test_records_of_unknown_vehicles_on_a_shared_socket_are_counted_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    net = MemoryNetwork()
    simulator = Simulator(net)
    adapter = adapter_on(net, shared=True)
    adapter.connect()
    nobody = json.dumps({"vehicle_id": 77, "timestamp": 9, "imu": IMU}).encode()
    for _ in range(10):
        simulator.socket.send_to(nobody, (HOST, 9002))
        simulator.socket.send_to(b"garbage", (HOST, 9002))
        simulator.socket.send_to(b'{"vehicle_id": 300}', (HOST, 9002))
    with caplog.at_level(logging.WARNING):
        for _ in range(10):
            adapter.step(STEP_US)
    assert adapter.wire_stats()[0] == WireStats(foreign=10, broken=20)
    foreign, broken = (record.message for record in caplog.records)
    assert "vehicle 77 is not in the fleet" in foreign
    assert "JSON is malformed" in broken
    assert adapter.wire_stats()[1].broken == 0


def test_a_record_of_another_vehicle_is_foreign(caplog: pytest.LogCaptureFixture) -> None:
    net = MemoryNetwork()
    simulator = Simulator(net)
    adapter = adapter_on(net)
    adapter.connect()
    other = json.dumps({"vehicle_id": 2, "timestamp": 10**9, "imu": IMU}).encode()
    simulator.socket.send_to(other, (HOST, 9002))
    with caplog.at_level(logging.WARNING):
        adapter.step(STEP_US)
    assert (adapter.wire_stats()[1].foreign, adapter.wire_stats()[1].broken) == (1, 0)
    assert "a record of vehicle 2" in caplog.text


@pytest.mark.parametrize("shared", [False, True])
def test_another_version_is_told_once_and_as_such(
    shared: bool, caplog: pytest.LogCaptureFixture
) -> None:
    net = MemoryNetwork()
    Simulator(net, version=2)
    adapter = adapter_on(net, shared=shared)
    with caplog.at_level(logging.WARNING), pytest.raises(SimulatorConnectionError) as caught:
        adapter.connect()
    assert "version 2 is not understood" in caught.value.hint
    assert [r for r in caplog.records if "version 2 is not understood" in r.message]
    assert len(caplog.records) == 1


def test_motors_can_fail_and_sensors_cannot() -> None:
    net = MemoryNetwork()
    simulator = Simulator(net)
    adapter = adapter_on(net)
    adapter.connect()
    for unit in ("gps", "imu", "battery"):
        with pytest.raises(SimulatorError, match=r"come from the simulator"):
            adapter.set_failure(1, unit, "off")
    adapter.send_actuators({1: ActuatorCommands(0, 1, (1.0, 1.0))})
    adapter.set_failure(1, "motor_right", "off")
    adapter.step(STEP_US)
    assert simulator.motors == [2000, 1500]
