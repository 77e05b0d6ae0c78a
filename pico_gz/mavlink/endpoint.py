"""One vehicle over all its links; its services build on this."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pico_gz.core.ground_control import GcsVehicle, Telemetry
from pico_gz.errors import ConfigError, EncodeError, did_you_mean
from pico_gz.mavlink import codec, telemetry
from pico_gz.mavlink.codec import Message, Outgoing, mav
from pico_gz.mavlink.links import Channel, MavlinkCounters, Peer, TokenBucket
from pico_gz.mavlink.signing import Signer
from pico_gz.mavlink.streams import DEFAULT_RATE_HZ, GROUPS, Schedule, StreamTable
from pico_gz.mavlink.telemetry import Identity, TelemetrySource, param_value
from pico_gz.mavlink.tlog import TlogWriter

_log = logging.getLogger(__name__)

# Switches a failure: vehicle id, unit, kind.
Inject = Callable[[int, str, str], None]
Handler = Callable[[Message, Channel], None]

# Fifty rovers with all their parameters through one link in 15 s, and some to spare.
_PARAMS_PER_S_FLEET = 2_500
HEARTBEAT_US = 1_000_000
# A heartbeat that is nearly due travels with a stream: one snapshot and one datagram for both.
_BEAT_EARLY_US = 200_000
_BEAT_SPARE_US = 50_000
_GOLDEN = 0.618033988749895
_COMPONENTS = frozenset({0, codec.AUTOPILOT_COMPONENT})
_STREAM_BY_PARAM = {parameter: stream_id for stream_id, (parameter, _) in GROUPS.items()}
# A recording is for looking at afterwards; one place per second draws too coarse a track.
_RECORDED_FASTER = (mav.MAVLINK_MSG_ID_ATTITUDE, mav.MAVLINK_MSG_ID_GLOBAL_POSITION_INT)
_RECORDED_FASTER_US = 250_000

# After such a silence a ground station is taken for one that has restarted.
_ABSENT_US = 10_000_000

_FAILURE_KINDS = ("ok", "off", "intermittent")
_FAILURE_INTERVAL_US = 3_000_000


@dataclass(slots=True)
class FleetShared:
    """What all endpoints of a fleet share.

    Attributes:
        schedule: where to wait for a time.
        counters: where to count.
        identity: what the vehicles claim to be.
        signer: signs and checks, when there is a key.
        inject: switches a failure on (vehicle id, unit, kind).
        param_budget: how many parameters all vehicles together may send.
    """

    schedule: Schedule
    counters: MavlinkCounters
    identity: Identity = field(default_factory=Identity)
    signer: Signer | None = None
    inject: Inject | None = None
    param_budget: TokenBucket = field(
        default_factory=lambda: TokenBucket(_PARAMS_PER_S_FLEET, _PARAMS_PER_S_FLEET)
    )


class Service(ABC):
    """Answers some kinds of messages to one vehicle."""

    def __init__(self, endpoint: VehicleEndpoint) -> None:
        self._endpoint = endpoint
        self._vehicle = endpoint.vehicle

    @abstractmethod
    def handlers(self) -> dict[int, Handler]:
        """Return the handler of each message number it answers."""

    def forget(self, channel: Channel) -> None:  # noqa: B027 - most keep nothing per receiver
        """Drop what is under way for a receiver that is gone."""


class VehicleEndpoint:
    """Answers, streams and reports for one vehicle; everything on the simulation thread.

    Attributes:
        handled_ids: the messages that are worth decoding for it.
    """

    def __init__(
        self,
        system_id: int,
        vehicle: GcsVehicle,
        shared: FleetShared,
        services: Sequence[Callable[[VehicleEndpoint], Service]],
        *,
        source: TelemetrySource | None = None,
        tlog: TlogWriter | None = None,
    ) -> None:
        self.system_id = system_id
        self.vehicle = vehicle
        self.shared = shared
        self.schedule = shared.schedule
        self._source = source or TelemetrySource()
        self._phase = (system_id * _GOLDEN) % 1.0
        self._channels: dict[Peer, Channel] = {}
        self._streams: dict[Channel, StreamTable] = {}
        self._failure = "ok"
        self._closed = False
        self._turn = -1
        self._telemetry: Telemetry | None = None
        self._packed: dict[int, Outgoing | None] = {}
        self._sent_home: tuple[int, int, float] | None = None
        self._sent_mode: int | None = None
        # Ground station -> wall time of its last heartbeat.
        self._gcs_heard_us: dict[int, int] = {}
        self._services = [service(self) for service in services]
        self._handlers: dict[int, Handler] = {mav.MAVLINK_MSG_ID_HEARTBEAT: self._on_heartbeat}
        for service in self._services:
            self._handlers |= service.handlers()
        self.handled_ids = frozenset(self._handlers)
        self._next_beat_us = self.schedule.wall_us + int(self._phase * HEARTBEAT_US)
        self.schedule.at_wall(self._next_beat_us, self._beat)
        self._tlog = tlog
        self._tlog_channel: Channel | None = None
        if tlog is not None:
            self._start_recording(tlog)

    # --- receivers ----------------------------------------------------------------------------

    def attach(self, peer: Peer) -> None:
        """Start sending to a receiver."""
        channel = Channel(self.system_id, peer, self.shared.counters, self.shared.signer)
        self._channels[peer] = channel
        self._streams[channel] = StreamTable(
            self.schedule,
            lambda message_ids: self._stream(channel, message_ids),
            self._rate_of,
            phase=self._phase,
            limit_wall=lambda: not peer.was_heard,
        )
        self._resend_home_and_mode()

    def detach(self, peer: Peer) -> None:
        """Stop sending to a receiver and forget what was under way for it."""
        channel = self._channels.pop(peer, None)
        if channel is not None:
            self._streams.pop(channel).close()
            for service in self._services:
                service.forget(channel)

    def close(self) -> None:
        """Stop everything of this vehicle; closing twice is fine."""
        self._closed = True
        for peer in tuple(self._channels):
            self.detach(peer)
        if self._tlog_channel is not None:
            self._streams.pop(self._tlog_channel).close()
            self._tlog_channel = None
        if self._tlog is not None:
            self._tlog.close()

    def _start_recording(self, tlog: TlogWriter) -> None:
        channel = self._tlog_channel = Channel(self.system_id, tlog, self.shared.counters)
        streams = self._streams[channel] = StreamTable(
            self.schedule,
            lambda message_ids: self._stream(channel, message_ids),
            self._rate_of,
            limit_wall=lambda: False,
        )
        for msg_id in _RECORDED_FASTER:
            streams.set_interval(msg_id, _RECORDED_FASTER_US)
        count = self.vehicle.params.count()
        for index in range(count):
            info = self.vehicle.params.by_index(index)
            if info is not None:
                self._record(param_value(info, count))
        self._recorded_beat()

    def _record(self, message: Message) -> None:
        out = self._pack(message, keep=True)
        if out is not None and self._tlog_channel is not None:
            self._tlog_channel.send(out)

    # --- for the services -----------------------------------------------------------------------

    def telemetry(self) -> Telemetry:
        """The autopilot's estimates now; one snapshot per turn."""
        if self._telemetry is None or self._turn != self.schedule.turn:
            self._turn = self.schedule.turn
            self._packed.clear()
            self._telemetry = self.vehicle.telemetry()
        return self._telemetry

    def packed(self, msg_id: int) -> Outgoing | None:
        """Return a telemetry message, packed once per turn for all receivers.

        None when there is nothing to report.
        """
        estimates = self.telemetry()
        if msg_id not in self._packed:
            try:
                self._packed[msg_id] = telemetry.build(msg_id, estimates, self._source)
            except EncodeError as error:
                self._count_encode_error(error)
                self._packed[msg_id] = None
        return self._packed[msg_id]

    def heartbeat(self) -> Message:
        """Build HEARTBEAT."""
        return telemetry.heartbeat(self.shared.identity, self.telemetry())

    def reply(self, channel: Channel, message: Message) -> None:
        """Answer one receiver; kept when its queue overflows."""
        out = self._pack(message, keep=True)
        if out is not None and not self._link_is_silent():
            channel.send(out)
            if self._tlog_channel is not None:
                self._tlog_channel.send(out)

    def broadcast(self, message: Message, *, but: Channel | None = None) -> None:
        """Send to every receiver, except perhaps one; kept when a queue overflows."""
        out = self._pack(message, keep=True)
        self._to_all(out, but=but)
        # What one receiver was answered is in the recording already.
        if out is not None and self._tlog_channel is not None and but is None:
            self._tlog_channel.send(out)

    def log_path(self) -> Path | None:
        """Where this vehicle's messages are recorded, up to now; ``None`` when they are not."""
        if self._tlog is None:
            return None
        self._tlog.flush()
        return self._tlog.path

    def streams_of(self, channel: Channel) -> StreamTable:
        """Return the streams of one receiver."""
        return self._streams[channel]

    def vehicle_changed(self, *, answered: tuple[Channel, str] | None = None) -> None:
        """Forget the snapshot and send what the autopilot reports.

        Args:
            answered: a receiver that knows of the change of this parameter already.
        """
        self._telemetry = None
        self.send_updates(answered=answered)

    # --- sending --------------------------------------------------------------------------------

    def send_updates(self, *, answered: tuple[Channel, str] | None = None) -> None:
        """Send the texts, reached items and changed parameters since the last call."""
        for text in self.vehicle.drain_texts():
            for message in telemetry.status_messages(text.severity, text.text):
                self.broadcast(message)
        for seq in self.vehicle.drain_reached():
            self.broadcast(mav.MAVLink_mission_item_reached_message(seq & 0xFFFF))
        for info in self.vehicle.params.drain_changes():
            knows = answered[0] if answered is not None and answered[1] == info.name else None
            self.broadcast(param_value(info, self.vehicle.params.count()), but=knows)
            if info.name in _STREAM_BY_PARAM:
                for streams in self._streams.values():
                    streams.reset_group(_STREAM_BY_PARAM[info.name])

    def _beat(self) -> None:
        if self._closed:
            return
        now_us = self.schedule.wall_us
        if now_us >= self._next_beat_us:
            self._next_beat_us = max(self._next_beat_us + HEARTBEAT_US, now_us + HEARTBEAT_US // 2)
            self._send_heartbeat()
        self.schedule.at_wall(self._next_beat_us, self._beat)

    def _send_heartbeat_early(self) -> None:
        """Send a heartbeat early, with a stream; the next stream finds it nearly due again."""
        now_us = self.schedule.wall_us
        if self._next_beat_us - now_us <= _BEAT_EARLY_US:
            self._next_beat_us = now_us + HEARTBEAT_US + _BEAT_SPARE_US
            self._send_heartbeat()

    def _send_heartbeat(self) -> None:
        """Send a heartbeat, and mode and home with it when they are new."""
        if self._tlog is not None:
            self._tlog.flush()
        if not self._channels:
            return
        self._to_all(self._pack(self.heartbeat(), keep=False))
        now = self.telemetry()
        if self._sent_mode != now.mode:
            self._sent_mode = now.mode
            self._to_all(self.packed(mav.MAVLINK_MSG_ID_CURRENT_MODE))
        home = (now.home_lat_e7, now.home_lon_e7, now.home_alt_m)
        if now.home_valid and home != self._sent_home:
            self._sent_home = home
            self._to_all(self.packed(mav.MAVLINK_MSG_ID_HOME_POSITION))
            self._to_all(self.packed(mav.MAVLINK_MSG_ID_GPS_GLOBAL_ORIGIN))

    def _resend_home_and_mode(self) -> None:
        """Send both with the next heartbeat: a receiver does not know them yet."""
        self._sent_home = self._sent_mode = None

    def _recorded_beat(self) -> None:
        if self._tlog_channel is not None:
            self._record(self.heartbeat())
            self.schedule.at_sim(self.schedule.sim_us + HEARTBEAT_US, self._recorded_beat)

    def _to_all(self, out: Outgoing | None, *, but: Channel | None = None) -> None:
        if out is None or self._link_is_silent():
            return
        now_us = self.schedule.wall_us
        for peer, channel in self._channels.items():
            if channel is not but and peer.may_stream(now_us):
                channel.send(out)

    def _stream(self, channel: Channel, message_ids: list[int]) -> None:
        if not channel.peer.may_stream(self.schedule.wall_us):
            return
        if channel is not self._tlog_channel and self._link_is_silent():
            return
        self._send_heartbeat_early()
        for msg_id in message_ids:
            out = self.packed(msg_id)
            if out is not None:
                channel.send(out)

    def _pack(self, message: Message, *, keep: bool) -> Outgoing | None:
        try:
            return codec.pack(message, keep=keep)
        except EncodeError as error:
            self._count_encode_error(error)
            return None

    def _count_encode_error(self, error: EncodeError) -> None:
        self.shared.counters.encode_errors += 1
        _log.warning("Vehicle %d: %s", self.system_id, error)

    def _rate_of(self, parameter: str) -> float:
        info = self.vehicle.params.by_name(parameter)
        return DEFAULT_RATE_HZ if info is None else info.value

    # --- receiving ------------------------------------------------------------------------------

    def receive(self, raw: bytes, message: Message, peer: Peer) -> None:
        """Handle a message that is meant for this vehicle, or for all."""
        handler = self._handlers.get(message.get_msgId())
        channel = self._channels.get(peer)
        if handler is None or channel is None:
            return
        if getattr(message, "target_component", 0) not in _COMPONENTS:
            return
        if not self._obeys(message.get_srcSystem()):
            return
        # Only the command that switches failures passes a silent link, to end the failure.
        is_switch = getattr(message, "command", None) == mav.MAV_CMD_INJECT_FAILURE
        if self._link_is_silent() and not is_switch:
            return
        if self._tlog is not None:
            self._tlog.write(raw)
        try:
            handler(message, channel)
        except Exception:
            # A message must never end a run; what it provoked is a fault of this code.
            self.shared.counters.handler_errors += 1
            _log.exception("Vehicle %d: handling %s", self.system_id, message.get_type())

    def _obeys(self, sender: int) -> bool:
        """Return whether this sender is accepted: with SYSID_ENFORCE only SYSID_MYGCS."""
        enforce = self.vehicle.params.by_name("SYSID_ENFORCE")
        if enforce is None or not enforce.value:
            return True
        mine = self.vehicle.params.by_name("SYSID_MYGCS")
        return mine is None or sender == mine.value

    # --- presence of ground stations --------------------------------------------------------------

    def _on_heartbeat(self, message: Message, _channel: Channel) -> None:
        system_id, wall_us = message.get_srcSystem(), self.schedule.wall_us
        before = self._gcs_heard_us.get(system_id)
        self._gcs_heard_us[system_id] = wall_us
        self.vehicle.gcs_heartbeat(system_id)
        if before is None or wall_us - before > _ABSENT_US:
            self._resend_home_and_mode()

    # --- a link that fails on purpose -------------------------------------------------------------

    def set_link_failure(self, kind: str) -> None:
        """Fail from the next turn on, so that the command itself is answered.

        ``off`` is silent, ``intermittent`` every other three seconds of simulation time, ``ok``
        ends the failure at once.

        Raises:
            ConfigError: a link cannot fail in this way.
        """
        if kind not in _FAILURE_KINDS:
            raise ConfigError(
                f"A MAVLink link cannot fail as {kind!r}.", hint=did_you_mean(kind, _FAILURE_KINDS)
            )
        if kind == "ok":
            self._failure = kind
        else:
            self.schedule.at_wall(self.schedule.wall_us, lambda: self._start_failure(kind))

    def _start_failure(self, kind: str) -> None:
        self._failure = kind

    def _link_is_silent(self) -> bool:
        if self._failure == "ok":
            return False
        return self._failure == "off" or self.schedule.sim_us // _FAILURE_INTERVAL_US % 2 == 1
