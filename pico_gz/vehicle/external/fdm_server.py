"""The simulator's end of the wire for external autopilots.

One UDP socket per vehicle. In lockstep one new frame is one step: ``hand_over`` answers the
frame that is owed a record, ``collect`` waits for the next one. A repeated frame is answered
with the last record again and is no new command. Before an autopilot has connected its vehicle
stands in neutral and is not waited for.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from pico_gz.core.log_limit import RateLimitedLog
from pico_gz.core.messages import ActuatorCommands, SensorData, VehicleTruth
from pico_gz.core.step_records import StepRecords
from pico_gz.errors import ConfigError, EncodeError, PortClashError, UnknownVehicleError
from pico_gz.vehicle.external.connection import Arrival, FdmConnection, FdmStats
from pico_gz.vehicle.external.external_vehicle import (
    ArduPilotProfile,
    ExternalVehicle,
    FdmWire,
    Geodetic,
)
from pico_gz.vehicle.external.records import RecordWriter
from pico_gz.wire.datagrams import SOON_S, Address, DatagramTransport, Network, UdpNetwork

log = logging.getLogger(__name__)

# The plugin gives up after eleven missed receives of 10 ms; an autopilot may be slower once.
SILENCE_TIMEOUT_S: Final = 0.5
# An autopilot that keeps the fleet waiting this long is named, now and then.
SLOW_S: Final = 0.03
SLOW_LINE_S: Final = 10.0
# So long an answer is looked for before sleeping; a quick autopilot takes a few dozen us. Only
# where every autopilot has a processor beside ours.
SPIN_S: Final = 100e-6
# What a record says of the sensors without extra keys.
SENT_FIELDS = frozenset({"imu", "rangefinders", "battery"})


def _processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Served:
    """One vehicle with its socket."""

    __slots__ = ("connection", "newest", "reported_no_truth", "socket", "writer")

    def __init__(
        self, connection: FdmConnection, writer: RecordWriter, socket: DatagramTransport
    ) -> None:
        self.connection = connection
        self.writer = writer
        self.socket = socket
        self.newest: bytes | None = None
        self.reported_no_truth = False


class FdmServer:
    """Serves the vehicles of one fleet that external autopilots drive.

    Args:
        vehicles: whom, and on which ports.
        lockstep: one packet, one step; otherwise every record is sent as it comes and a silent
            autopilot's vehicle stands in neutral after ``SILENCE_TIMEOUT_S``.
        profile: the releases of ArduPilot to write for.
        wait_for_all: also wait for autopilots that never connected.
        host: address to bind.
        geodetic: turns metres into latitude, longitude, altitude; profile 4.7 sends them.
        on_event: called with what people should know: kind, text, vehicle id.

    Raises:
        PortClashError: a port is taken; names the vehicle, the port and its owner.
    """

    needs_truth = True

    def __init__(
        self,
        vehicles: Sequence[ExternalVehicle] = (),
        *,
        lockstep: bool = True,
        profile: ArduPilotProfile | str = ArduPilotProfile.UP_TO_4_6,
        wait_for_all: bool = False,
        host: str = "127.0.0.1",
        geodetic: Geodetic | None = None,
        on_event: Callable[[str, str, int], None] | None = None,
        network: Network | None = None,
    ) -> None:
        self._lockstep = lockstep
        self._profile = ArduPilotProfile(profile)
        self._wait_for_all = wait_for_all
        self._host = host
        self._geodetic = geodetic
        self._on_event = on_event
        self._network: Network = network or UdpNetwork()
        self._poller = self._network.poller()
        self._served: dict[int, _Served] = {}
        self._unanswered: set[int] = set()
        self._fresh: set[int] = set()
        self._last_heard = 0
        self._spin_s = 0.0
        self._now_us = 0
        self._limited_log = RateLimitedLog(log)
        try:
            for vehicle in vehicles:
                self.add_vehicle(vehicle)
        except BaseException:
            self.close()
            raise

    # --- fleet ----------------------------------------------------------------------------

    def add_vehicle(self, vehicle: ExternalVehicle) -> None:
        """Bind a vehicle's port and serve it from now on."""
        if vehicle.vehicle_id in self._served:
            raise ConfigError(f"Vehicle {vehicle.vehicle_id} is served already.")
        try:
            socket = self._network.bind(self._host, vehicle.fdm_port)
        except PortClashError as exc:
            raise PortClashError(
                f"Vehicle {vehicle.vehicle_id}, simulator wire: {exc.message}", hint=exc.hint
            ) from exc
        writer = RecordWriter(
            vehicle,
            vehicle.profile or self._profile,
            lockstep=self._lockstep,
            geodetic=self._geodetic,
        )
        served = {
            **self._served,
            vehicle.vehicle_id: _Served(FdmConnection(vehicle), writer, socket),
        }
        self._set_served(served)
        self._poller.add(socket, vehicle.vehicle_id)

    def _set_served(self, served: Mapping[int, _Served]) -> None:
        self._served = dict(sorted(served.items()))
        self._spin_s = SPIN_S if len(served) < _processors() else 0.0

    def remove_vehicle(self, vehicle_id: int) -> None:
        """Close a vehicle's port."""
        served = self._require(vehicle_id)
        self._poller.remove(served.socket)
        served.socket.close()
        self._set_served({i: s for i, s in self._served.items() if i != vehicle_id})
        self._unanswered.discard(vehicle_id)
        self._fresh.discard(vehicle_id)

    def vehicle_ids(self) -> tuple[int, ...]:
        return tuple(self._served)

    def port(self, vehicle_id: int) -> int:
        """The UDP port of a vehicle."""
        return self._require(vehicle_id).socket.address[1]

    def is_connected(self, vehicle_id: int) -> bool:
        """Whether an autopilot has spoken for this vehicle."""
        return self._require(vehicle_id).connection.is_connected

    def stats(self) -> dict[int, FdmStats]:
        """The counters of every vehicle."""
        return {i: served.connection.stats for i, served in self._served.items()}

    def set_rc(self, vehicle_id: int, channels_us: Sequence[int]) -> None:
        """Send radio channels to a vehicle's autopilot from now on [us]."""
        self._require(vehicle_id).writer.set_rc(channels_us)

    def set_imu_failing(self, vehicle_id: int, failing: bool) -> None:
        """Send what a vehicle's IMU measures for as long as it fails."""
        self._require(vehicle_id).writer.set_imu_failing(failing)

    def forget(self, vehicle_id: int) -> None:
        """Its autopilot has ended: what comes next is a new connection. From any thread."""
        self._require(vehicle_id).connection.forget_peer()

    def sends(self, vehicle_id: int, field: str) -> bool:
        """Whether records hold this field of ``SensorData``; ArduPilot makes up the rest."""
        vehicle = self._require(vehicle_id).connection.vehicle
        if vehicle.wire is FdmWire.WEBOTS:
            return field == "imu"
        return vehicle.extra_keys or field in SENT_FIELDS

    def _require(self, vehicle_id: int) -> _Served:
        if vehicle_id not in self._served:
            raise UnknownVehicleError(vehicle_id, self._served)
        return self._served[vehicle_id]

    # --- one step -------------------------------------------------------------------------

    def hand_over(
        self,
        records: Mapping[int, SensorData],
        truth: Mapping[int, VehicleTruth],
        now_us: int,
    ) -> None:
        """Answer every frame that is owed a record with this step's state. Never blocks."""
        self._now_us = now_us
        lazy = records if isinstance(records, StepRecords) else None
        for vehicle_id, served in self._served.items():
            state = truth.get(vehicle_id)
            if state is None:
                self._miss_truth(vehicle_id, served, records)
                continue
            connection = served.connection
            # Most steps have nothing that a record takes from sensors: then they are not built.
            is_read = (
                lazy is None or served.writer.needs_all or lazy.has_battery_or_range(vehicle_id)
            )
            sensors = records.get(vehicle_id) if is_read else None
            try:
                data = served.writer.write(state, sensors, now_us)
            except EncodeError as exc:
                self._warn("record", vehicle_id, f"no record sent: {exc.message}")
                continue
            served.newest = data
            if connection.owed or (connection.is_connected and not self._lockstep):
                connection.owed = False
                self._reply(served, data)
                self._unanswered.add(vehicle_id)
            elif self._wait_for_all and not connection.is_connected:
                self._unanswered.add(vehicle_id)

    def _miss_truth(
        self, vehicle_id: int, served: _Served, records: Mapping[int, SensorData]
    ) -> None:
        """Report once that its autopilot gets no answer; without sensors it may be too early."""
        if not served.reported_no_truth and vehicle_id in records:
            served.reported_no_truth = True
            text = "its simulator reports no position, so its autopilot gets no records."
            self._warn("no_truth", vehicle_id, text)

    def unanswered(self) -> tuple[int, ...]:
        late = self._unanswered
        return tuple(sorted(late)) if late and self._lockstep else ()

    def collect(
        self, timeout_s: float, waiting_for: Collection[int] | None = None
    ) -> Mapping[int, ActuatorCommands]:
        """Commands that arrived since the last call.

        Returns as soon as every vehicle in ``waiting_for`` (default: all unanswered) has
        answered, and after ``timeout_s`` at the latest.
        """
        started_s = self._poller.now_s()
        in_turn = timeout_s > SOON_S and self._all_must_answer(waiting_for)
        now_s = self._read_in_turn() if in_turn else None
        if now_s is None:
            now_s = self._read_patiently(started_s + timeout_s, waiting_for)
        if now_s - started_s > SLOW_S and self._fresh and not self._unanswered:
            self._name_slowest(now_s - started_s, now_s)
        served, now_us = self._served, self._now_us
        commands = {i: served[i].connection.commands(now_us) for i in sorted(self._fresh)}
        self._fresh.clear()
        if not self._lockstep:
            commands.update(self._silenced(now_s))
        return commands

    def _all_must_answer(self, waiting_for: Collection[int] | None) -> bool:
        expected = self._unanswered
        if not self._lockstep or len(expected) != len(self._served):
            return False
        return waiting_for is None or expected.issubset(waiting_for)

    def _read_in_turn(self) -> float | None:
        """Take every vehicle's answer, one after the other; the usual step.

        All of them are needed, and waiting for the one that must come next is cheaper than
        asking who has come. Returns when the last one answered; ``None`` when not all did.
        """
        now, spin_s, now_s = self._poller.now_s, self._spin_s, None
        for vehicle_id in sorted(self._unanswered):
            served = self._served[vehicle_id]
            item = served.socket.receive()
            if item is not None:  # there may be more, and the newest counts
                self._take(vehicle_id, item)
                now_s = now()
            elif (item := served.socket.receive_soon(spin_s)) is None:
                return None
            else:
                now_s = now()
                if self._feed(vehicle_id, served, item, now_s) is Arrival.REPEATED:
                    self._repeat_unless_owed(served)
        return None if self._unanswered else now_s

    def _read_patiently(self, deadline_s: float, waiting_for: Collection[int] | None) -> float:
        """Take what arrives until none is waited for or it is too late; returns when."""
        now_s = self._poller.now_s()
        while True:
            missing = self._lockstep and self._is_missing(waiting_for)
            for vehicle_id in self._poller.wait(deadline_s - now_s if missing else 0.0):
                self._take(vehicle_id)
            now_s = self._poller.now_s()
            if not (missing and self._is_missing(waiting_for)) or now_s >= deadline_s:
                return now_s

    def _name_slowest(self, waited_s: float, now_s: float) -> None:
        text = (
            f"Vehicle {self._last_heard} is the slowest: the fleet waited {waited_s * 1e3:.0f} ms."
        )
        if self._limited_log.warn("slow", now_s, text, SLOW_LINE_S) and self._on_event is not None:
            self._on_event("slow", text, self._last_heard)

    def _is_missing(self, waiting_for: Collection[int] | None) -> bool:
        if waiting_for is None:
            return bool(self._unanswered)
        return not self._unanswered.isdisjoint(waiting_for)

    def service(self) -> None:
        """Answer repeats while the run is paused, so that autopilots stay alive."""
        for vehicle_id in self._poller.wait(0.0):
            if self._read(vehicle_id):
                self._repeat_reply(self._served[vehicle_id])

    def close(self) -> None:
        """Close every socket; twice is fine."""
        for served in self._served.values():
            self._poller.remove(served.socket)
            served.socket.close()
        self._served = {}
        self._poller.close()

    # --- what arrives ---------------------------------------------------------------------

    def _take(self, vehicle_id: int, first: tuple[bytes, Address] | None = None) -> None:
        """Read a vehicle's packets and answer a repeat."""
        if self._read(vehicle_id, first):
            self._repeat_unless_owed(self._served[vehicle_id])

    def _repeat_unless_owed(self, served: _Served) -> None:
        """Answer a repeat.

        A frame that is still owed its record gets it with this step; the last record would be
        taken for it, and the autopilot would be a frame ahead.
        """
        if not served.connection.owed:
            self._repeat_reply(served)

    def _read(self, vehicle_id: int, first: tuple[bytes, Address] | None = None) -> bool:
        """Take everything that has arrived for a vehicle; the newest packet wins.

        True when that was a repeat.
        """
        served = self._served[vehicle_id]
        socket, repeated = served.socket, False
        item = first or socket.receive()
        now_s = self._poller.now_s()
        while item is not None:
            arrival = self._feed(vehicle_id, served, item, now_s)
            if arrival is Arrival.REPEATED:
                repeated = True
            elif arrival is not Arrival.LATE and arrival is not Arrival.REFUSED:
                repeated = False
            # Mostly there is no second one, and to ask costs less than to try.
            item = socket.receive() if socket.has_datagram() else None
        return repeated

    def _feed(
        self, vehicle_id: int, served: _Served, item: tuple[bytes, Address], now_s: float
    ) -> Arrival:
        """Take one datagram, and report what is no news of every step."""
        data, sender = item
        arrival = served.connection.take(data, sender, now_s)
        if arrival is Arrival.REPEATED or arrival is Arrival.LATE:
            return arrival
        if arrival is Arrival.REFUSED:
            self._report_refusal(vehicle_id, served.connection)
            return arrival
        if arrival is not Arrival.NEW:
            self._report_connection(vehicle_id, arrival, sender)
        self._unanswered.discard(vehicle_id)
        self._fresh.add(vehicle_id)
        self._last_heard = vehicle_id
        return arrival

    def _reply(self, served: _Served, data: bytes) -> None:
        connection = served.connection
        if connection.peer is not None:
            connection.last_reply = data
            connection.stats.replies += 1
            served.socket.send_to(data, connection.peer)

    def _repeat_reply(self, served: _Served) -> None:
        """Repeat the record; an autopilot without an answer so far gets the newest state."""
        data = served.connection.last_reply or served.newest
        if data is not None:
            self._reply(served, data)

    def _silenced(self, now_s: float) -> dict[int, ActuatorCommands]:
        """Neutral commands of vehicles whose autopilot has fallen silent, once each."""
        found = {}
        for vehicle_id, served in self._served.items():
            connection = served.connection
            if connection.is_connected and now_s - connection.last_heard_s > SILENCE_TIMEOUT_S:
                connection.forget_peer()
                self._report("silent", vehicle_id, "its autopilot is silent; it stands in neutral.")
                found[vehicle_id] = connection.neutral(self._now_us)
        return found

    # --- events ---------------------------------------------------------------------------

    def _report_connection(self, vehicle_id: int, arrival: Arrival, sender: object) -> None:
        served = self._served[vehicle_id]
        # What the predecessor was sent is no answer to the newcomer's repeats.
        served.connection.last_reply = None
        what = "restarted" if arrival is Arrival.RESTARTED else "connected"
        host, port = sender if isinstance(sender, tuple) else ("", 0)
        self._report(arrival.value, vehicle_id, f"its autopilot has {what} from {host}:{port}.")

    def _report_refusal(self, vehicle_id: int, connection: FdmConnection) -> None:
        if connection.refusal is not None:
            text = f"datagram refused: {connection.refusal.message} {connection.refusal.hint}"
            self._warn("refused", vehicle_id, text)

    def _report(self, kind: str, vehicle_id: int, text: str) -> None:
        log.info("Vehicle %d: %s", vehicle_id, text)
        if self._on_event is not None:
            self._on_event(kind, f"Vehicle {vehicle_id}: {text}", vehicle_id)

    def _warn(self, kind: str, vehicle_id: int, text: str) -> None:
        full = f"Vehicle {vehicle_id}: {text}"
        logged = self._limited_log.warn(f"{kind}{vehicle_id}", self._poller.now_s(), full)
        if logged and self._on_event is not None:
            self._on_event(kind, full, vehicle_id)
