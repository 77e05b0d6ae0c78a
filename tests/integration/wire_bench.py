"""A GazeboAdapter and a world of twins on an in-process network with chaos, in virtual time."""

import hashlib

from pico_gz.core.messages import ActuatorCommands
from pico_gz.core.vehicle_config import NoiseProfile, VehicleConfig
from pico_gz.errors import SimulatorTimeoutError
from pico_gz.gazebo.adapter import GazeboAdapter, GazeboConfig
from pico_gz.testing.chaos import Chaos
from pico_gz.testing.plugin_twin import PluginTwin, TwinTraps
from pico_gz.testing.twin_rover import TwinPose
from pico_gz.wire.datagrams import Address
from pico_gz.wire.memory_network import MemoryNetwork

HOST = "127.0.0.1"
STEP_US = 10_000
# Where a test loses replies of several vehicles of one world, the plugins must not wait for
# each other, and where it reorders, late packets must not be steps: the real plugin cannot be
# bit-identical then. It is not asked to: loopback neither loses nor reorders.
FAIR = TwinTraps(lower_frame_steps=False, serial_world=False)


class WireBench:
    """n rovers, each with chaos of its own."""

    def __init__(
        self,
        vehicles: int = 1,
        *,
        chaos: list[Chaos] | None = None,
        traps: TwinTraps | None = None,
        timeout_ms: int = 1000,
        step_us: int = 2000,
        start_time_us: int = 0,
    ) -> None:
        self.ports = [9002 + 10 * i for i in range(vehicles)]
        self.chaos = chaos or [Chaos() for _ in self.ports]
        self.settings = {
            "step_us": step_us,
            "traps": traps,
            "poses": [TwinPose(x_m=3.0 * i) for i in range(vehicles)],
            "start_time_us": start_time_us,
        }
        self.net = MemoryNetwork(disturb=self._disturb)
        self.twin = self.start_world()
        config = GazeboConfig(timeout_ms=timeout_ms, physics_step_us=step_us)
        self.adapter = GazeboAdapter(config, network=self.net)
        for i in range(vehicles):
            self.adapter.add_vehicle(VehicleConfig(id=i + 1, noise=NoiseProfile.LOW))
        self.adapter.connect()
        self._digest = hashlib.sha256()
        self.timeouts = 0

    def _disturb(
        self, sender: Address, receiver: Address, data: bytes, now_s: float
    ) -> list[tuple[float, bytes]]:
        index = (min(sender[1], receiver[1]) - 9002) // 10
        if not 0 <= index < len(self.ports):
            return [(0.0, data)]
        port = self.ports[index]
        return list(self.chaos[index].disturb([port])(sender, receiver, data, now_s))

    def start_world(self) -> PluginTwin:
        """Start a world; an earlier one must have been stopped."""
        twin = PluginTwin(self.ports, network=self.net, **self.settings)  # type: ignore[arg-type]
        for vehicle in twin._vehicles:
            vehicle.socket.on_arrival = twin.try_step  # type: ignore[attr-defined]
        self.twin = twin
        return twin

    def step(self, patience: int = 1) -> None:
        """One step with commands that change all the time; the digest takes what came of it."""
        step = self.adapter.sim_time_us() // STEP_US
        commands = {
            i: ActuatorCommands(0, i, ((step * 7 + i) % 20 / 10 - 1, (step * 3 + i) % 20 / 10 - 1))
            for i in self.adapter.vehicle_ids()
        }
        self.adapter.send_actuators(commands)
        for attempt in range(patience):
            try:
                self.adapter.step(STEP_US)
                break
            except SimulatorTimeoutError:
                self.timeouts += 1
                if attempt == patience - 1:
                    raise
        seen = (self.adapter.receive_sensors(), self.adapter.receive_truth(), commands)
        self._digest.update(repr(seen).encode())

    def run(self, steps: int, patience: int = 1) -> str:
        """Many steps; returns the digest of everything so far."""
        for _ in range(steps):
            self.step(patience)
        return self.digest()

    def digest(self) -> str:
        """Digest of every record, truth and command so far."""
        return self._digest.hexdigest()
