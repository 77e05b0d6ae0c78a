"""Replies that are ready before the command: the same bytes and bits as without."""

import random
from collections.abc import Callable, Mapping

import pytest

from pico_gz import Lockstep, SitlBridge, VehicleConfig
from pico_gz.adapters.lightweight import LightweightAdapter
from pico_gz.bridge.published import TraceDigest
from pico_gz.core.messages import SensorData
from pico_gz.core.rover_spec import rover_spec
from pico_gz.core.vehicle_config import Pose
from pico_gz.simulator.native_build import load
from pico_gz.simulator.native_fleet import Records
from pico_gz.simulator.obstacles import Wall
from pico_gz.simulator.world import World
from pico_gz.vehicle.external.connection import ExternalVehicle
from pico_gz.vehicle.external.fdm_server import FdmServer
from pico_gz.wire.memory_network import MemoryNetwork, MemoryTransport
from pico_gz.wire.servo import encode_servo

STEPS = 30
HOST = "127.0.0.1"
Change = Callable[[SitlBridge, LightweightAdapter], object]


class Pilot:
    """Answers each record at once; its pulses change now and then."""

    def __init__(self, network: MemoryNetwork, port: int, seed: int) -> None:
        self.replies: list[bytes] = []
        self._server = (HOST, port)
        self._socket: MemoryTransport = network.bind(HOST, 0)
        self._socket.on_arrival = self._answer
        self._random = random.Random(seed)
        self._pulses = (1500, 0, 1500)
        self._frame = 0
        self._send()

    def _answer(self) -> None:
        item = self._socket.receive()
        assert item is not None
        self.replies.append(item[0])
        self._frame += 1
        if self._random.random() < 0.1:
            left, right = self._random.choices((1300, 1500, 1800, 2000), k=2)
            self._pulses = (left, 0, right)
        self._send()

    def _send(self) -> None:
        packet = encode_servo(400, self._frame, self._pulses + (0,) * 13)
        self._socket.send_to(packet, self._server)


class Run:
    """Some external vehicles on Lightweight, driven over the wire."""

    def __init__(self, count: int, *, ahead: bool) -> None:
        network = MemoryNetwork()
        ids = range(1, count + 1)
        self.server = FdmServer(
            [ExternalVehicle(vehicle_id=i, fdm_port=9000 + i) for i in ids], network=network
        )
        wall = Wall(north_m=3.0, east_m=-30.0, north2_m=3.0, east2_m=30.0)
        self.adapter = LightweightAdapter(seed=7, world=World(obstacles=(wall,)))
        self.ahead = self.undone = 0
        self._watch() if ahead else self._switch_off()
        self.bridge = SitlBridge(Lockstep(2500))
        self.bridge.register_adapter(self.adapter)
        for i in ids:
            self.bridge.spawn_vehicle(
                VehicleConfig(id=i, preset="ardupilot_skid", pose=Pose(east_m=4.0 * i)),
                external=True,
            )
        self.bridge.add_autopilots(self.server)
        self.digest = TraceDigest()
        self.bridge.after_step.add(self.digest)
        self.pilots = [Pilot(network, 9000 + i, seed=i) for i in ids]
        network.advance_to(1.0)
        self.server.collect(0.0, ())

    def _watch(self) -> None:
        step_ahead, undo_step = self.adapter.step_ahead, self.adapter.undo_step

        def step(dt_us: int) -> Mapping[int, SensorData] | None:
            records = step_ahead(dt_us)
            self.ahead += records is not None
            return records

        def undo(dt_us: int) -> None:
            self.undone += 1
            undo_step(dt_us)

        self.adapter.step_ahead, self.adapter.undo_step = step, undo  # type: ignore[method-assign]

    def _switch_off(self) -> None:
        self.adapter.step_ahead = lambda dt_us: None  # type: ignore[method-assign]

    def results(self) -> tuple[str, list[list[bytes]]]:
        stats = self.server.stats()
        assert all(s.missed == s.repeated == 0 for s in stats.values())
        return self.digest.hexdigest(), [pilot.replies for pilot in self.pilots]


def restored(bridge: SitlBridge, _: LightweightAdapter) -> None:
    bridge.restore(bridge.snapshot())


CHANGES: dict[str, Change] = {
    "nothing": lambda bridge, _: None,
    "pose": lambda bridge, _: bridge.set_pose(1, 1.0, -3.0, 90.0),
    "motor": lambda _, adapter: adapter.set_failure(1, "motor_left", "off"),
    "gps": lambda _, adapter: adapter.set_failure(1, "gps", "off"),
    "restore": restored,
    "into the wall": lambda bridge, _: bridge.set_pose(1, 2.0, 4.0, 0.0),
}


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("change", CHANGES)
def test_same_replies_and_same_bits(count: int, change: str) -> None:
    runs = [Run(count, ahead=ahead) for ahead in (True, False)]
    for _ in range(8):
        for run in runs:
            run.bridge.step(STEPS)
            CHANGES[change](run.bridge, run.adapter)
    first, second = (run.results() for run in runs)
    assert first == second
    assert len(first[1][0]) > 200
    if load() is not None:
        assert runs[0].undone > 0
        assert runs[0].ahead > runs[0].undone


@pytest.mark.skipif(load() is None, reason="only the compiled core builds messages when read")
def test_samples_of_battery_and_range_are_noticed_without_being_built() -> None:
    spec = rover_spec("ardupilot_skid", {"rangefinders_deg": (0.0,)})
    adapter = LightweightAdapter(seed=1, rover_of=lambda _: spec)
    adapter.add_vehicle(VehicleConfig(id=1))
    adapter.connect()
    seen = []
    for _ in range(400):
        records = adapter.advance(2500)
        assert isinstance(records, Records)
        noticed = records.has_battery_or_range(1)
        record = records[1]
        assert noticed == (record.battery is not None or record.rangefinders is not None)
        seen.append(noticed)
    assert 10 < sum(seen) < 200
