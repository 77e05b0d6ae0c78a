"""A run with an external autopilot: radio and failures reach it in its records."""

import json
import socket

import pytest

from pico_gz import SitlBridge, VehicleConfig
from pico_gz.core.ports import rc_port
from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.control_socket import ask
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.testing import PortLeases, ScriptedAdapter
from pico_gz.vehicle.external.external_vehicle import ExternalVehicle
from pico_gz.vehicle.external.fdm_server import FdmServer
from pico_gz.wire.memory_network import MemoryNetwork
from pico_gz.wire.servo import encode_servo


@pytest.fixture
def leases():
    with_ports = PortLeases()
    yield with_ports
    with_ports.release()


class Run:
    """A session and a client that always has the next packet ready, so that no step waits."""

    def __init__(self, session: FleetRun) -> None:
        self.session = session
        self._frame = 0
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.settimeout(5.0)
        self._address = ("127.0.0.1", session.ports.vehicle(1).server)
        self.steps(3, answered=False)

    def steps(self, count: int, *, answered: bool = True) -> dict:
        """Go on; the last record that came."""
        data = b"{}"
        for _ in range(count):
            packet = encode_servo(50, self._frame, (1700, 0, 1600) + (0,) * 13)
            self._socket.sendto(packet, self._address)
            self._frame += 1
            self.session.bridge.step()
            self._socket.setblocking(answered)
            try:
                data = self._socket.recv(3000)
            except BlockingIOError:
                continue
        return json.loads(data)

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def open_run(leases, tmp_path):
    opened = []

    def open_it(**options) -> Run:
        fleet = default_fleet(
            overrides=FleetOverrides(
                rovers=1, adapter="lightweight", autopilot="external", speed="max"
            ),
            environ={},
        )
        offset = leases.offset_for(lambda offset: fleet.with_port_offset(offset).port_plan())
        session = FleetRun(
            fleet.with_port_offset(offset),
            RunOptions(run_folder=tmp_path / "runs", **options),
        )
        session.__enter__()
        opened.append(session)
        run = Run(session)
        opened.append(run)
        return run

    yield open_it
    for what in reversed(opened):
        what.__exit__() if isinstance(what, FleetRun) else what.close()


def test_a_radio_script_reaches_the_autopilot(open_run, tmp_path):
    script = tmp_path / "sticks.txt"
    script.write_text("0.0 1500 1500 1700\n0.5 1400\n1.0 lost\n")
    run = open_run(rc=f"script:{script}", control=False)
    assert run.steps(20)["rc"] == {"rc_1": 1500.0, "rc_2": 1500.0, "rc_3": 1700.0}
    assert run.steps(40)["rc"] == {"rc_1": 1400.0, "rc_2": 1500.0, "rc_3": 1700.0}
    assert run.steps(60)["rc"]["rc_3"] == 1700.0
    assert run.steps(90)["rc"] == {"rc_1": 1500.0, "rc_2": 1500.0, "rc_3": 1500.0}
    assert run.session.bridge.events.counts["radio"] == 1


def test_radio_by_udp_leaves_ardurover_its_port(open_run):
    run = open_run(rc="udp", control=False)
    port = rc_port(1, external=True) + run.session.fleet.rules.offset
    assert any(str(port) in line for line in run.session.connection_lines())
    assert port != run.session.ports.vehicle(1).ardurover_rc
    assert "rc" not in run.steps(2)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sticks:
        frame = b"".join(us.to_bytes(2, "little") for us in (1100, 1200, 1300, *(0,) * 5))
        sticks.sendto(frame, ("127.0.0.1", port))
    assert run.steps(3)["rc"] == {"rc_1": 1100.0, "rc_2": 1200.0, "rc_3": 1300.0}


def test_a_failing_imu_is_seen(open_run):
    run = open_run()
    fail = {"id": 1, "type": "off"}
    assert run.steps(50)["imu"]["accel_body"][2] == pytest.approx(-9.8, abs=0.5)
    ask(run.session.control_path, "fail", unit="accel", **fail)
    assert run.steps(10)["imu"]["accel_body"] == [0.0, 0.0, 0.0]
    ask(run.session.control_path, "fail", unit="gyro", **fail)
    assert run.steps(10)["imu"]["gyro"] == [0.0, 0.0, 0.0]
    ask(run.session.control_path, "fail", unit="imu", id=1, type="ok")
    imu = run.steps(10)["imu"]
    assert imu["accel_body"][2] == pytest.approx(-9.8, abs=0.5)
    assert imu["gyro"][2] != 0.0


class BlindAdapter(ScriptedAdapter):
    """A third party's adapter need not know where its vehicles are."""

    def receive_truth(self):
        return {}


def test_a_simulator_without_truth_is_told():
    events = []
    network = MemoryNetwork()
    server = FdmServer(
        [ExternalVehicle(vehicle_id=1, fdm_port=9002)],
        network=network,
        on_event=lambda kind, text, vehicle_id: events.append((kind, vehicle_id)),
    )
    bridge = SitlBridge()
    bridge.register_adapter(BlindAdapter())
    bridge.spawn_vehicle(VehicleConfig(id=1, autopilot="external"), external=True)
    bridge.add_autopilots(server)
    for _ in range(5):
        bridge.step()
    bridge.close()
    server.close()
    assert events == [("no_truth", 1)]


def test_an_autopilot_that_never_came_is_named(leases, tmp_path):
    fleet = default_fleet(
        overrides=FleetOverrides(
            rovers=2, adapter="lightweight", autopilot="external", speed="max"
        ),
        environ={},
    )
    offset = leases.offset_for(lambda offset: fleet.with_port_offset(offset).port_plan())
    options = RunOptions(run_folder=tmp_path / "runs", control=False, duration_s=0.1)
    with FleetRun(fleet.with_port_offset(offset), options) as session:
        lines = session.connection_lines()
        result = session.run()
        said = [event.text for event in session.bridge.events.recent if event.kind == "absent"]
    assert said == [
        f"rover_{i}: no external autopilot connected, so it stood still." for i in (1, 2)
    ]
    assert result.events["absent"] == 2
    ports = [14550 + offset, 14551 + offset]
    assert f"MAVLink: external autopilots send to UDP 127.0.0.1:{ports[0]}..{ports[1]}" in lines[0]
