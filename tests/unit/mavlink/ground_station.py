"""Ground stations wired straight to an endpoint: no sockets, no clock but the test's.

Frames are made and read by pymavlink itself, so that both directions of our codec are checked
by something else.
"""

from fake_vehicle import FakeVehicle
from pymavlink.dialects.v20 import all as mav

from pico_gz.mavlink import codec
from pico_gz.mavlink.endpoint import FleetShared, VehicleEndpoint
from pico_gz.mavlink.fleet_mavlink import SERVICES
from pico_gz.mavlink.links import MavlinkCounters, Peer
from pico_gz.mavlink.streams import Schedule


class ListPeer(Peer):
    """Keeps what it is sent."""

    def __init__(self, *, near=True):
        super().__init__("list", near=near, permanent=True, link_id=7)
        self.frames = []
        self.kept = []

    def write(self, raw, *, keep):
        self.frames.append(raw)
        self.kept.append(keep)

    def flush(self):
        pass


class Station:
    """One ground station on one vehicle."""

    def __init__(self, ground, system_id=255, component=190, *, near=True, v1=False):
        self.ground = ground
        self.v1 = v1
        self.peer = ListPeer(near=near)
        self._writer = mav.MAVLink(None, srcSystem=system_id, srcComponent=component)
        self._reader = mav.MAVLink(None)
        self._reader.robust_parsing = True
        ground.endpoint.attach(self.peer)

    def send(self, message):
        raw = message.pack(self._writer, force_mavlink1=self.v1)
        self._writer.seq = (self._writer.seq + 1) % 256
        self.peer.heard(raw, self.ground.schedule.wall_us)
        self.ground.endpoint.receive(raw, codec.decode(raw), self.peer)

    def ask(self, message, *types):
        """Send and return the answers of these types."""
        self.take()
        self.send(message)
        return self.take(*types)

    def take(self, *types):
        """Return what has come since the last call, in order."""
        frames, self.peer.frames = self.peer.frames, []
        messages = [m for raw in frames for m in self._reader.parse_buffer(raw)]
        assert all(m.get_type() != "BAD_DATA" for m in messages)
        return [m for m in messages if not types or m.get_type() in types]

    def command(self, number, *params, system=1, component=1):
        """Send COMMAND_LONG and return its result."""
        params = (*params, *(0.0,) * (7 - len(params)))
        message = mav.MAVLink_command_long_message(system, component, number, 0, *params)
        (ack,) = self.ask(message, "COMMAND_ACK")
        assert ack.command == number
        return ack.result

    def command_int(self, number, params=(0, 0, 0, 0), x=0, y=0, z=0.0, frame=6):
        """Send COMMAND_INT and return its result."""
        message = mav.MAVLink_command_int_message(1, 1, frame, number, 0, 0, *params, x, y, z)
        (ack,) = self.ask(message, "COMMAND_ACK")
        return ack.result


class Ground:
    """One vehicle's endpoint on clocks that only the test moves."""

    def __init__(self, vehicle=None, **shared):
        self.vehicle = vehicle or FakeVehicle()
        self.schedule = Schedule()
        self.counters = MavlinkCounters()
        self.shared = FleetShared(schedule=self.schedule, counters=self.counters, **shared)
        self.endpoint = VehicleEndpoint(
            self.vehicle.vehicle_id, self.vehicle, self.shared, SERVICES
        )

    def station(self, *args, **kwargs):
        return Station(self, *args, **kwargs)

    def turn(self, *, sim_us=0, wall_us=0):
        """Advance both clocks by so much, and do what is due."""
        self.schedule.set_time(self.schedule.sim_us + sim_us, self.schedule.wall_us + wall_us)
        self.vehicle.time_us = self.schedule.sim_us
        self.schedule.run_due()
        self.endpoint.send_updates()

    def run(self, seconds, *, speed=1.0, step_us=10_000):
        """Let ``seconds`` of simulation time pass at ``speed`` times real time."""
        for _ in range(round(seconds * 1e6 / step_us)):
            self.turn(sim_us=step_us, wall_us=round(step_us / speed))
