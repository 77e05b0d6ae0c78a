"""An external autopilot on Gazebo: the server hands through what the plugin says.

Autopilot twin <-> FDM server <-> bridge <-> GazeboAdapter <-> plugin twin, in virtual time,
beside a vehicle on the Lightweight simulator that has no autopilot at all.
"""

import msgspec
import pytest

from pico_gz.adapters.lightweight import LightweightAdapter
from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.clock import Lockstep
from pico_gz.core.vehicle_config import VehicleConfig
from pico_gz.gazebo.adapter import GazeboAdapter, GazeboConfig
from pico_gz.testing.autopilot_twin import AutopilotTwin
from pico_gz.testing.plugin_twin import PluginTwin, StateExtras
from pico_gz.vehicle.external.external_vehicle import ExternalVehicle, ImuSource
from pico_gz.vehicle.external.fdm_server import FdmServer
from pico_gz.wire.memory_network import MemoryNetwork
from pico_gz.wire.state import decode_state, encode_state
from pico_gz.wire.state_record import WindvaneRecord

HOST = "127.0.0.1"
STEP_US = 10_000


def forward(_: float, __: object) -> tuple[int, ...]:
    return (1800, 0, 1800) + (0,) * 13


Parts = tuple[SitlBridge, AutopilotTwin, PluginTwin, MemoryNetwork, FdmServer]


@pytest.fixture
def parts() -> Parts:
    return make_parts(MemoryNetwork(), StateExtras())


def make_parts(net: MemoryNetwork, extras: StateExtras) -> Parts:
    # Decision of the port plan: the plugin moves to 19002, the server keeps 9002.
    world = PluginTwin([19002], step_us=2000, network=net, extras=extras)
    world._vehicles[0].socket.on_arrival = world.try_step  # type: ignore[attr-defined]
    imu = ImuSource.SENSOR
    server = FdmServer([ExternalVehicle(vehicle_id=1, fdm_port=9002, imu=imu)], network=net)
    bridge = SitlBridge(Lockstep(STEP_US), clock=net.now_s)
    bridge.register_adapter(GazeboAdapter(GazeboConfig(), network=net))
    bridge.register_adapter(LightweightAdapter(seed=1))
    bridge.spawn_vehicle(VehicleConfig(id=1, autopilot="external", adapter="gazebo"), external=True)
    bridge.spawn_vehicle(VehicleConfig(id=2, adapter="lightweight"))
    bridge.add_autopilots(server)
    pilot = AutopilotTwin((HOST, 9002), forward, network=net)
    pilot.socket.on_arrival = lambda: pilot.read(net.now_s())  # type: ignore[attr-defined]
    return bridge, pilot, world, net, server


def run(parts: Parts, steps: int) -> None:
    bridge, pilot, _, net, _ = parts
    bridge.step(2)
    pilot.send(net.now_s())
    while net.advance_to(net.now_s() + 0.01):
        pass
    bridge.step(steps)


def test_the_autopilot_drives_the_rover_in_gazebo(parts: Parts) -> None:
    bridge, pilot, world, _, server = parts
    run(parts, 200)
    # The first packet is a connection; from then on one record per step.
    assert pilot.core.accepted == pytest.approx(200, abs=2)
    assert pilot.core.physics_resets == 0
    assert world.link().pwm_us[:3] == (1800, 0, 1800)
    values = pilot.core.parser.state.values
    velocity, accel = values["velocity"], values["imu.accel_body"]
    assert isinstance(velocity, tuple)
    assert isinstance(accel, tuple)
    assert velocity[1] == pytest.approx(0.9, abs=1e-6)
    # Gazebo's own gravity, not the kit's: the IMU is handed through as it is.
    assert accel[2] == pytest.approx(-9.8, abs=1e-9)
    assert bridge.view.truth[1].east_m > 1.0
    assert bridge.view.truth[2].east_m == pytest.approx(0.0, abs=0.01)
    assert bridge.stats.lost_steps <= 2
    server.close()


def test_a_windvane_in_gazebo_is_one_at_the_autopilot() -> None:
    parts = make_parts(MemoryNetwork(), StateExtras(windvane=WindvaneRecord(0.5, 3.2)))
    run(parts, 200)
    values = parts[1].core.parser.state.values
    assert values["windvane.direction"] == pytest.approx(0.5, abs=1e-6)
    assert values["windvane.speed"] == pytest.approx(3.2, abs=1e-6)
    parts[4].close()


def test_each_distance_keeps_its_number() -> None:
    def second_only(
        sender: tuple[str, int], _: tuple[str, int], data: bytes, __: float
    ) -> list[tuple[float, bytes]]:
        if sender[1] != 19002:
            return [(0.0, data)]
        record = msgspec.structs.replace(decode_state(data), rng_1=-1.0, rng_2=7.5)
        return [(0.0, encode_state(record))]

    parts = make_parts(MemoryNetwork(disturb=second_only), StateExtras())
    run(parts, 20)
    values = parts[1].core.parser.state.values
    assert values["rng_2"] == pytest.approx(7.5)
    assert "rng_1" not in values
    parts[4].close()
