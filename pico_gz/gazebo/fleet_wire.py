"""The sockets of a fleet: open them, send to all, collect all."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable
from typing import Final

from pico_gz.core.log_limit import RateLimitedLog
from pico_gz.core.vehicle_config import VehicleConfig
from pico_gz.errors import PortClashError
from pico_gz.gazebo.config import GazeboConfig
from pico_gz.gazebo.exchange import MIN_RETRY_S, Exchange, PicoExchange, ServoExchange, Verdict
from pico_gz.gazebo.link import SenderFilter, SharedPort, VehicleLink
from pico_gz.wire.datagrams import DatagramTransport, Network, Poller
from pico_gz.wire.pico_json import VERSION_FIELD


def id_text(vehicle_ids: Iterable[int]) -> str:
    """Return the ids in order, runs of three and more as ranges: ``1-3, 7, 9, 10``."""
    runs: list[list[int]] = []
    for vehicle_id in sorted(vehicle_ids):
        if runs and runs[-1][-1] == vehicle_id - 1:
            runs[-1].append(vehicle_id)
        else:
            runs.append([vehicle_id])
    parts: list[str] = []
    for run in runs:
        parts += [f"{run[0]}-{run[-1]}"] if len(run) > 2 else map(str, run)
    return ", ".join(parts)


log = logging.getLogger(__name__)

# What a shared socket is called among the vehicles' ids.
SHARED_KEY: Final = 0
INVALID_IN_A_ROW: Final = 5
# How long a step waits for a vehicle that has just been put into the world.
JOIN_PATIENCE_S: Final = 0.1
# A wait this long is logged, once per stall.
STALL_S: Final = 0.3
# In Gazebo a plugin that waits keeps others from answering repeats; after this long those
# that have finished their step are sent one more frame, which frees the others.
NUDGE_S: Final = 0.3
# After a restart the vehicles of one world are at most this far apart.
RESTART_SPAN_US: Final = 1_000_000
# Clocks that differ by less belong to one world, whose last record got lost for some.
SAME_WORLD_US: Final = 20_000
MAX_DRAINED: Final = 1000
# How long a vehicle may read what is no record of its frame: doubles, late ones, garbage.
MAX_TURN_S: Final = 0.010
# A simulator needs a while to read what we needed a while to send: no frame is repeated
# before this many times the time that sending to the whole fleet took.
SENDING_SHARE: Final = 4.0
# Frames that went ahead of a step this long ago were not left unanswered: no step was made.
OLD_FRAME_S: Final = 0.1
# How often a step that waits looks after stalls and newcomers.
LOOK_S: Final = 0.010
# How long replies to another client's packets may still arrive after a connection.
SETTLE_S: Final = 0.005


class FleetWire:
    """All lanes of one simulator with one poller.

    Attributes:
        lanes: by vehicle id, in order.
        shared_port: finds the lane of a datagram on a shared socket; ``None``: there is none.
    """

    def __init__(self, poller: Poller, name: str) -> None:
        self._poller = poller
        self.name = name
        self._log_limit = RateLimitedLog(log)
        self.lanes: dict[int, VehicleLink] = {}
        self.shared_port: SharedPort | None = None
        # Key of a socket -> how to find the lane of a datagram that arrived there.
        self._sources: dict[
            int, tuple[DatagramTransport, Callable[[bytes], VehicleLink | None]]
        ] = {}
        # Time that a vehicle put into a running world has to catch up with [us].
        self._target_us = 0
        self._stalled = False
        self._asked_s = 0.0
        # No frame is repeated before this.
        self._hold_s = 0.0
        self._may_be_late = False
        self._went_ahead = False

    # --- set-up ---------------------------------------------------------------------------

    def listen(
        self, key: int, transport: DatagramTransport, lane_of: Callable[[bytes], VehicleLink | None]
    ) -> None:
        """Feed the lanes that ``lane_of`` finds with what arrives on ``transport``."""
        self._sources[key] = (transport, lane_of)
        self._poller.add(transport, key)

    def listening(self, key: int) -> DatagramTransport | None:
        """The transport of a key, if it is listened to."""
        return self._sources[key][0] if key in self._sources else None

    def close(self) -> None:
        """Close every socket."""
        for transport, _ in self._sources.values():
            self._poller.remove(transport)
            transport.close()
        self._sources = {}
        self.lanes = {}
        self._poller.close()

    def now_s(self) -> float:
        """The poller's time [s]."""
        return self._poller.now_s()

    # --- one step -------------------------------------------------------------------------

    def advance(self, target_us: int, deadline_s: float) -> list[int]:
        """Exchange frames until every awaited vehicle has reached ``target_us``.

        Returns the vehicles that had not at ``deadline_s``; calling again continues.
        """
        self._target_us = target_us
        if self._may_be_late:
            self._drain()
        now_s = self._poller.now_s()
        if self._went_ahead:
            self._went_ahead = False
            if now_s - self._asked_s > OLD_FRAME_S:
                self._wait_anew(now_s)
        join_deadline_s = now_s + JOIN_PATIENCE_S
        self._start_frames(now_s)
        if self._collect_in_turn(deadline_s):
            self._stalled = False
            return []
        return self._collect_patiently(join_deadline_s, deadline_s)

    def go_ahead(self) -> None:
        """Send every vehicle's next frame with the commands of now; ``advance`` collects it.

        The simulator then computes the first exchange of the next step while autopilots,
        sensors and observers run. Not while a vehicle is late, joins or has left.
        """
        lanes = self.lanes.values()
        if self._may_be_late or any(lane.joining or not lane.awaited for lane in lanes):
            return
        began_s = self._poller.now_s()
        for lane in lanes:
            lane.send(lane.exchange.start(began_s))
        self._note_sending(began_s)
        self._went_ahead = True

    def _wait_anew(self, now_s: float) -> None:
        """Count the wait for frames that went ahead from now: the run stood, not the simulator."""
        self._asked_s = now_s
        for lane in self.lanes.values():
            if lane.exchange.waiting:
                lane.exchange.wait_anew(now_s)

    def _collect_in_turn(self, deadline_s: float) -> bool:
        """Take every vehicle's records, one vehicle after the other; the usual step.

        All of them are needed anyway, so the order costs nothing, and waiting for the one
        that must come next is cheaper than asking who has come. A vehicle's next frame leaves
        as soon as its record is here, while the others' are still on their way. False when a
        vehicle keeps us waiting: then ``_collect_patiently`` looks after repeats, newcomers and
        stalls.
        """
        target_us = self._target_us
        now_s = self._asked_s
        while now_s < deadline_s:
            began_s = 0.0
            for lane in self.lanes.values():
                if lane.joining or not lane.awaited or not self._take_turn(lane):
                    return False
                if lane.exchange.clock.time_us < target_us:
                    now_s = self._poller.now_s()
                    began_s = began_s or now_s
                    lane.send(lane.exchange.start(now_s))
            if not began_s:
                return True
            # Only now: round trips of records that were under way count from the frames before.
            now_s = self._note_sending(began_s)
        return False

    def _take_turn(self, lane: VehicleLink) -> bool:
        """Wait a moment for a lane's record; True when it came or none was due."""
        exchange, socket = lane.exchange, lane.socket
        until_s = 0.0
        while exchange.waiting:
            item = socket.receive_soon() if socket is not None else None
            if item is None:
                return False
            now_s = self._poller.now_s()
            self._feed(lane, item[0], now_s)
            until_s = until_s or now_s + MAX_TURN_S
            if now_s > until_s:
                return False
        return True

    def _collect_patiently(self, join_deadline_s: float, deadline_s: float) -> list[int]:
        # Those whose records came in turn may need their next frame.
        now_s = self._start_frames(self._poller.now_s())
        pending = {i for i, lane in self.lanes.items() if lane.is_behind(self._target_us)}
        check_s = now_s + MIN_RETRY_S
        while pending and now_s < deadline_s:
            touched = self._receive(min(check_s, deadline_s) - now_s)
            now_s = self._poller.now_s()
            for vehicle_id in touched:
                if not self._continue_step(vehicle_id, now_s):
                    pending.discard(vehicle_id)
            if now_s >= check_s:
                check_s = self._repeat_frames(now_s)
                if now_s >= join_deadline_s:
                    pending -= self._lose_patience()
                self._free_blocked(pending, now_s)
                self._watch_stall(pending, now_s)
        self._stalled = self._stalled and bool(pending)
        return sorted(pending)

    def _continue_step(self, vehicle_id: int, now_s: float) -> bool:
        """Send a vehicle's next frame if it needs one; False when its step is finished."""
        lane = self.lanes[vehicle_id]
        exchange = lane.exchange
        if exchange.clock.time_us >= self._target_us and not lane.joining:
            return False
        if not exchange.waiting:
            self._start(lane, now_s)
        return True

    def _drain(self) -> None:
        """Take what came after its frame was given up, so that it answers no later frame."""
        self._may_be_late = False
        for _ in range(MAX_DRAINED):
            if not self._receive(0.0):
                break

    def _free_blocked(self, pending: set[int], now_s: float) -> None:
        """Send the vehicles that have finished one more frame, so that the world reads on.

        The plugins of one world are served in turn, and each waits for a new frame. When the
        reply to a later one is lost, the world stands at an earlier one and never sees that
        the reply is asked for again. The price is one physics step with the old command.
        """
        if not any(self.lanes[i].exchange.waited_s(now_s) > NUDGE_S for i in pending):
            return
        for vehicle_id, lane in self.lanes.items():
            if vehicle_id not in pending and not lane.exchange.waiting:
                self._may_be_late = True
                lane.exchange.stats.nudges += 1
                self._start(lane, now_s)

    def _watch_stall(self, pending: set[int], now_s: float) -> None:
        waits = {i: self.lanes[i].exchange.waited_s(now_s) for i in pending}
        if self._stalled or not waits or max(waits.values()) < STALL_S:
            return
        self._stalled = True
        for vehicle_id in waits:
            self.lanes[vehicle_id].exchange.stats.stalls += 1
        text = "%s: vehicle %s waits for the simulator; time stands."
        log.warning(text, self.name, id_text(waits))

    def _lose_patience(self) -> set[int]:
        late = {i for i, lane in self.lanes.items() if lane.joining}
        for vehicle_id in late:
            self.lanes[vehicle_id].patient = False
        return late

    def handshake(self, deadline_s: float) -> list[int]:
        """Exchange frames until every vehicle has a record; returns those without one.

        In one world the plugins wait for each other, so those that answered must keep stepping.
        """
        now_s = self._poller.now_s()
        lanes = self.lanes.values()
        while any(lane.joining for lane in lanes) and now_s < deadline_s:
            for lane in lanes:
                if not lane.exchange.waiting:
                    self._start(lane, now_s)
            now_s = self._finish_round(min(now_s + 2 * MIN_RETRY_S, deadline_s))
        missing = [i for i, lane in self.lanes.items() if lane.joining]
        if not missing:
            # Some are a step ahead, some wait for a lost record: bring all to the same time.
            self._align()
            missing = self.advance(1, deadline_s)
        if not missing:
            self._settle()
        return missing

    def _start(self, lane: VehicleLink, now_s: float) -> None:
        self._asked_s = now_s
        lane.send(lane.exchange.start(now_s))

    def _finish_round(self, until_s: float) -> float:
        now_s = self._poller.now_s()
        while now_s < until_s and any(lane.exchange.waiting for lane in self.lanes.values()):
            self._receive(until_s - now_s)
            now_s = self._poller.now_s()
        self._repeat_frames(now_s)
        return now_s

    def _settle(self) -> None:
        """Take the newest of what is still under way, then count time from there."""
        now_s = self._poller.now_s()
        until_s = now_s + SETTLE_S
        while now_s < until_s:
            self._receive(until_s - now_s)
            now_s = self._poller.now_s()
        self._align()
        self._target_us = 0

    def _align(self) -> None:
        """Count time from the newest record; who has an older one of that world is behind."""
        clocks = [lane.exchange.clock for lane in self.lanes.values()]
        newest_us = max((clock.wire_us for clock in clocks), default=0)
        for clock in clocks:
            behind_us = newest_us - clock.wire_us
            clock.time_us = -behind_us if behind_us <= SAME_WORLD_US else 0

    def _start_frames(self, now_s: float) -> float:
        """Send the next frame of all that are behind; returns when that was done."""
        target_us = self._target_us
        sent = False
        for lane in self.lanes.values():
            exchange = lane.exchange
            if not exchange.waiting and exchange.clock.time_us < target_us:
                sent = True
                lane.send(exchange.start(now_s))
        return self._note_sending(now_s) if sent else now_s

    def _note_sending(self, began_s: float) -> float:
        ended_s = self._poller.now_s()
        self._asked_s = ended_s
        self._hold_s = began_s + SENDING_SHARE * (ended_s - began_s)
        return ended_s

    def _repeat_frames(self, now_s: float) -> float:
        """Repeat what is overdue; returns when to look again."""
        if now_s < self._hold_s:
            return min(self._hold_s, now_s + LOOK_S)
        look_s = now_s + LOOK_S
        repeated = False
        for lane in self.lanes.values():
            exchange = lane.exchange
            if exchange.waiting:
                packet = exchange.retry(now_s)
                if packet is not None:
                    repeated = True
                    lane.send(packet)
                look_s = min(look_s, exchange.retry_due_s)
        if repeated:
            self._note_sending(now_s)
        return look_s

    # --- what arrives ---------------------------------------------------------------------

    def _receive(self, timeout_s: float) -> list[int]:
        """Wait for datagrams and feed them; returns the vehicles that got one."""
        keys = self._poller.wait(timeout_s)
        if not keys:
            return []
        now_s = self._poller.now_s()
        touched = []
        for key in keys:
            transport, lane_of = self._sources[key]
            # One each: if there are more, the poller reports them again, and no vehicle starves.
            item = transport.receive()
            lane = lane_of(item[0]) if item is not None else None
            if item is not None and lane is not None:
                self._feed(lane, item[0], now_s)
                touched.append(lane.exchange.vehicle_id)
        return touched

    def _feed(self, lane: VehicleLink, data: bytes, now_s: float) -> None:
        exchange = lane.exchange
        verdict = exchange.feed(data, now_s, self._asked_s)
        if verdict is Verdict.NEW:
            if lane.joining:
                self._join(lane)
        elif verdict is Verdict.EMPTY:
            self._may_be_late = True
        elif verdict is Verdict.BROKEN:
            self._log_broken(exchange, data, now_s)
        elif verdict is Verdict.FOREIGN:
            self._log(exchange, f"foreign datagram dropped: {exchange.refusal}.", now_s)
        elif verdict is Verdict.RESTART:
            self._note_restart(exchange)
            self._log(exchange, "the simulator has started over; its time continues here.", now_s)
        elif verdict is Verdict.GAP:
            jump_s = exchange.clock.last_delta_us / 1e6
            self._log(exchange, f"gap: simulation time jumped by {jump_s:.3f} s.", now_s)

    def _join(self, lane: VehicleLink) -> None:
        """Give the first record of a vehicle the fleet's time."""
        lane.joining = False
        for other in self.lanes.values():
            if other is not lane and not other.joining:
                offset_us = other.exchange.clock.time_us - other.exchange.clock.wire_us
                own_us = lane.exchange.clock.wire_us + offset_us
                # In the same world both count alike; a world of its own starts from here.
                lane.exchange.clock.time_us = min(own_us, self._target_us)
                if not 0 <= self._target_us - own_us <= 1_000_000:
                    lane.exchange.clock.time_us = self._target_us
                return
        lane.exchange.clock.time_us = self._target_us

    def _note_restart(self, exchange: Exchange) -> None:
        """Warn the other vehicles of that world, and keep time with those that know already."""
        clock = exchange.clock
        for lane in self.lanes.values():
            other = lane.exchange.clock
            if other is clock:
                continue
            apart_us = clock.wire_us - other.wire_us
            if other.epoch == clock.epoch and abs(apart_us) <= SAME_WORLD_US:
                clock.time_us = other.time_us + apart_us
            other.expect_restart(clock.wire_us + RESTART_SPAN_US)

    def _log_broken(self, exchange: Exchange, data: bytes, now_s: float) -> None:
        def text() -> str:
            what = f"unreadable datagram of {len(data)} bytes dropped."
            if exchange.invalid_in_a_row >= INVALID_IN_A_ROW:
                what = f"sensor data invalid, {exchange.invalid_in_a_row} datagrams in a row."
            return f"{self.name}, vehicle {exchange.vehicle_id}: {what} {exchange.refusal}"

        # Another version stays another one: it is logged once.
        is_version = exchange.refused_field == VERSION_FIELD
        kind = "version" if is_version else "broken"
        period_s = math.inf if is_version else 0.0
        self._log_limit.warn(f"{kind}{exchange.vehicle_id}", now_s, text, period_s)

    def _log(self, exchange: Exchange, what: str, now_s: float) -> None:
        text = f"{self.name}, vehicle {exchange.vehicle_id}: {what}"
        self._log_limit.warn(f"{what[:12]}{exchange.vehicle_id}", now_s, text)


def open_link(
    vehicle: VehicleConfig, wire: FleetWire, config: GazeboConfig, network: Network, host: str
) -> VehicleLink:
    """Open a vehicle's link to the simulator on ``host`` and have ``wire`` listen to it.

    Raises:
        PortClashError: its port is in use.
    """
    step_us = config.physics_step_us
    if not config.ardupilot_compat and config.shared_socket:
        shared, plugin = _shared_socket(wire, config, network, host), (host, config.actuator_port)
        return VehicleLink(
            PicoExchange(vehicle.id, step_us), lambda data: shared.send_to(data, plugin)
        )
    here, there = config.addresses(vehicle, host)
    try:
        if config.ardupilot_compat:
            transport = network.bind(*here, peer=there)
            link = VehicleLink(ServoExchange(vehicle.id, step_us), transport.send, transport)
        else:
            exchange = PicoExchange(vehicle.id, step_us)
            name = f"{wire.name}, vehicle {vehicle.id}"
            accept_from = SenderFilter(there, exchange.stats, name, wire.now_s)
            transport = network.bind(*here, accept_from=accept_from)
            link = VehicleLink(exchange, lambda data: transport.send_to(data, there), transport)
    except PortClashError as exc:
        raise PortClashError(f"Vehicle {vehicle.id}: {exc.message}", hint=exc.hint) from exc
    wire.listen(vehicle.id, transport, lambda _: link)
    return link


def _shared_socket(
    wire: FleetWire, config: GazeboConfig, network: Network, host: str
) -> DatagramTransport:
    """The one socket of a fleet; opened for its first vehicle."""
    known = wire.listening(SHARED_KEY)
    if known is not None:
        return known
    port = SharedPort(wire.name, wire.now_s)
    accept_from = SenderFilter((host, config.actuator_port), port.stats, wire.name, wire.now_s)
    shared = network.bind(config.bind_host(host), config.sensor_port, accept_from=accept_from)
    wire.listen(SHARED_KEY, shared, lambda data: port.lane_of(data, wire.lanes))
    wire.shared_port = port
    return shared
