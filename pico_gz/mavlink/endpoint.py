"""One vehicle over all its links.

An autopilot counts the silence of its ground station in simulation time. At fifty times real
time a heartbeat per second is one per fifty simulated seconds, and the failsafe would trip
with the ground station in perfect health. So while a run is fast, heartbeats are repeated to
the autopilot until the ground station has really been silent for ``FS_GCS_TIMEOUT``.
"""

from __future__ import annotations

import logging

from pico_gz.core.ground_control import GcsVehicle, Telemetry
from pico_gz.errors import ConfigError, EncodeError, did_you_mean
from pico_gz.mavlink import codec
from pico_gz.mavlink import service as identity
from pico_gz.mavlink.codec import Message, Outgoing, mav
from pico_gz.mavlink.commands import CommandService
from pico_gz.mavlink.links import Peer
from pico_gz.mavlink.missions import MissionService
from pico_gz.mavlink.params import FtpService, ParamService, param_value
from pico_gz.mavlink.requests import RequestService, status_messages
from pico_gz.mavlink.service import FleetShared, Handler
from pico_gz.mavlink.setpoints import GuidedService, ManualService
from pico_gz.mavlink.signing import Channel
from pico_gz.mavlink.streams import DEFAULT_RATE_HZ, GROUPS, Schedule, StreamTable
from pico_gz.mavlink.telemetry import BUILDERS, TelemetrySource
from pico_gz.mavlink.tlog import TlogWriter

REPEAT_US = 1_000_000
_DEFAULT_TIMEOUT_US = 5_000_000
# A run at real time jitters; only one that is clearly faster needs repetitions.
_FAST = 1.5
_FORGET_US = 60_000_000
# After such a silence a ground station is taken for one that has started anew.
_ABSENT_US = 10_000_000


class GcsPresence:
    """The ground stations one vehicle has heard."""

    def __init__(self, vehicle: GcsVehicle) -> None:
        self._vehicle = vehicle
        self._heard: dict[int, tuple[int, int]] = {}

    def heartbeat(self, system_id: int, sim_us: int, wall_us: int) -> bool:
        """Take a heartbeat of ground station ``system_id``; return whether it has just come."""
        before = self._heard.get(system_id)
        self._heard[system_id] = (sim_us, wall_us)
        self._vehicle.gcs_heartbeat(system_id)
        return before is None or wall_us - before[1] > _ABSENT_US

    def repeat(self, sim_us: int, wall_us: int) -> None:
        """Repeat the heartbeats that are late only because the run is fast."""
        for system_id, (heard_sim_us, heard_wall_us) in list(self._heard.items()):
            silent_sim_us = sim_us - heard_sim_us
            silent_wall_us = wall_us - heard_wall_us
            if silent_wall_us > _FORGET_US:
                del self._heard[system_id]
            elif silent_sim_us > _FAST * silent_wall_us + REPEAT_US // 2 and (
                silent_wall_us < self._timeout_us()
            ):
                self._vehicle.gcs_heartbeat(system_id)

    def _timeout_us(self) -> int:
        info = self._vehicle.params.by_name("FS_GCS_TIMEOUT")
        return _DEFAULT_TIMEOUT_US if info is None else int(info.value * 1e6)


KINDS = ("ok", "off", "intermittent")
_INTERVAL_US = 3_000_000


class LinkFailure:
    """Whether a vehicle's ground link is silent now.

    ``off`` is silent, ``intermittent`` every other three seconds of simulation time. Only the
    command that switches failures gets through a silent link, or nobody could end it.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._kind = "ok"

    def set(self, kind: str) -> None:
        """Fail like this from the next turn on, so that the command itself is answered.

        Raises:
            ConfigError: a link cannot fail in this way.
        """
        if kind not in KINDS:
            raise ConfigError(
                f"A MAVLink link cannot fail as {kind!r}.", hint=did_you_mean(kind, KINDS)
            )
        if kind == "ok":
            self._kind = kind
        else:
            self._schedule.at_wall(self._schedule.wall_us, lambda: self._begin(kind))

    def _begin(self, kind: str) -> None:
        self._kind = kind

    @property
    def silent(self) -> bool:
        """Whether nothing gets through now."""
        if self._kind == "ok":
            return False
        return self._kind == "off" or self._schedule.sim_us // _INTERVAL_US % 2 == 1


def is_switch(message: Message) -> bool:
    """Return whether a message is the command that switches failures."""
    return bool(getattr(message, "command", None) == mav.MAV_CMD_INJECT_FAILURE)


_log = logging.getLogger(__name__)

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


class VehicleEndpoint:
    """Answers, streams and tells for one vehicle; everything on the simulation thread.

    Attributes:
        handled_ids: the messages that are worth decoding for it.
        failure: makes its ground link fail on purpose.
    """

    def __init__(
        self,
        system_id: int,
        vehicle: GcsVehicle,
        shared: FleetShared,
        *,
        surroundings: TelemetrySource | None = None,
        tlog: TlogWriter | None = None,
    ) -> None:
        self.system_id = system_id
        self.vehicle = vehicle
        self.schedule = shared.schedule
        self.fleet_param_budget = shared.param_budget
        self._shared = shared
        self._surroundings = surroundings or TelemetrySource()
        self._phase = (system_id * _GOLDEN) % 1.0
        self._channels: dict[Peer, Channel] = {}
        self._streams: dict[Channel, StreamTable] = {}
        self.failure = LinkFailure(shared.schedule)
        self._closed = False
        self._turn = -1
        self._belief: Telemetry | None = None
        self._packed: dict[int, Outgoing | None] = {}
        self._told_home: tuple[int, int, float] | None = None
        self._told_mode: int | None = None
        self._presence = GcsPresence(vehicle)
        self._params = ParamService(self)
        self._missions = MissionService(self)
        self._handlers = self._all_handlers()
        self.handled_ids = frozenset(self._handlers)
        self._next_beat_us = self.schedule.wall_us + int(self._phase * HEARTBEAT_US)
        self.schedule.at_wall(self._next_beat_us, self._beat)
        self._tlog = tlog
        self._tlog_channel: Channel | None = None
        if tlog is not None:
            self._start_recording(tlog)

    def _all_handlers(self) -> dict[int, Handler]:
        requests = RequestService(self, self._shared.identity)
        table: dict[int, Handler] = {mav.MAVLINK_MSG_ID_HEARTBEAT: self._on_heartbeat}
        for service in (
            self._params,
            self._missions,
            requests,
            CommandService(self, requests, self._shared.inject),
            FtpService(self),
            GuidedService(self),
            ManualService(self),
        ):
            table.update(service.handlers())
        return table

    # --- receivers ----------------------------------------------------------------------------

    def attach(self, peer: Peer) -> None:
        """Start sending to a receiver."""
        signer = self._shared.signer
        channel = Channel(self.system_id, peer, self._shared.counters, signer)
        self._channels[peer] = channel
        self._streams[channel] = StreamTable(
            self.schedule,
            lambda message_ids: self._stream(channel, message_ids),
            self._rate_of,
            phase=self._phase,
        )
        self._greet()

    def detach(self, peer: Peer) -> None:
        """Stop sending to a receiver and forget what was under way for it."""
        channel = self._channels.pop(peer, None)
        if channel is not None:
            self._streams.pop(channel).close()
            self._params.forget(channel)
            self._missions.forget(channel)

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
        channel = Channel(self.system_id, tlog, self._shared.counters)
        self._tlog_channel = channel
        streams = self._streams[channel] = StreamTable(
            self.schedule,
            lambda message_ids: self._stream(channel, message_ids),
            self._rate_of,
            limit_wall=False,
        )
        for msg_id in _RECORDED_FASTER:
            streams.set_interval(msg_id, _RECORDED_FASTER_US)
        count = self.vehicle.params.count()
        for index in range(count):
            info = self.vehicle.params.by_index(index)
            if info is not None:
                self._send(channel, param_value(info, count))
        self._recorded_beat()

    # --- the services' context ------------------------------------------------------------------

    def telemetry(self) -> Telemetry:
        """What the autopilot believes now; one snapshot per turn."""
        if self._belief is None or self._turn != self.schedule.turn:
            self._turn = self.schedule.turn
            self._packed.clear()
            self._belief = self.vehicle.telemetry()
        return self._belief

    def packed(self, msg_id: int) -> Outgoing | None:
        """Return a telemetry message, packed once per turn for all receivers."""
        belief = self.telemetry()
        if msg_id not in self._packed:
            self._packed[msg_id] = self._build(msg_id, belief)
        return self._packed[msg_id]

    def _build(self, msg_id: int, belief: Telemetry) -> Outgoing | None:
        try:
            return BUILDERS[msg_id](belief, self._surroundings)
        except EncodeError as error:
            self._count_encode_error(error)
            return None

    def reply(self, channel: Channel, message: Message) -> None:
        """Answer one receiver; kept when its queue overflows."""
        out = self._pack(message, keep=True)
        if out is not None and not self.failure.silent:
            channel.send(out)
            if self._tlog_channel is not None:
                self._tlog_channel.send(out)

    def broadcast(self, message: Message, *, but: Channel | None = None) -> None:
        """Tell every receiver, except perhaps one; kept when a queue overflows."""
        out = self._pack(message, keep=True)
        self._to_all(out, but=but)
        # What one receiver was answered is in the recording already.
        if out is not None and self._tlog_channel is not None and but is None:
            self._tlog_channel.send(out)

    def streams_of(self, channel: Channel) -> StreamTable:
        """Return the streams of one receiver."""
        return self._streams[channel]

    def vehicle_changed(self, *, answered: tuple[Channel, str] | None = None) -> None:
        """Forget the snapshot and tell everybody what the autopilot has to say."""
        self._belief = None
        self.tell_news(answered=answered)

    # --- sending --------------------------------------------------------------------------------

    def tell_news(self, *, answered: tuple[Channel, str] | None = None) -> None:
        """Send what the autopilot has to say since the last call."""
        for text in self.vehicle.drain_texts():
            for message in status_messages(text.severity, text.text):
                self.broadcast(message)
        for seq in self.vehicle.drain_reached():
            self.broadcast(mav.MAVLink_mission_item_reached_message(seq & 0xFFFF))
        for info in self.vehicle.params.drain_changes():
            knows = answered[0] if answered is not None and answered[1] == info.name else None
            self.broadcast(param_value(info, self.vehicle.params.count()), but=knows)
            if info.name in _STREAM_BY_PARAM:
                for streams in self._streams.values():
                    streams.reset_group(_STREAM_BY_PARAM[info.name])

    def repeat_presence(self) -> None:
        """Keep ground stations alive for the autopilot while a run is fast."""
        self._presence.repeat(self.schedule.sim_us, self.schedule.wall_us)

    def _beat(self) -> None:
        if self._closed:
            return
        now_us = self.schedule.wall_us
        if now_us >= self._next_beat_us:
            self._next_beat_us = max(self._next_beat_us + HEARTBEAT_US, now_us + HEARTBEAT_US // 2)
            self._send_beat()
        self.schedule.at_wall(self._next_beat_us, self._beat)

    def _beat_along(self) -> None:
        """Send a heartbeat early, with a stream; the next stream finds it nearly due again."""
        now_us = self.schedule.wall_us
        if self._next_beat_us - now_us <= _BEAT_EARLY_US:
            self._next_beat_us = now_us + HEARTBEAT_US + _BEAT_SPARE_US
            self._send_beat()

    def _send_beat(self) -> None:
        if self._tlog is not None:
            self._tlog.flush()
        if not self._channels:
            return
        belief = self.telemetry()
        beat = identity.heartbeat(self._shared.identity, belief)
        self._to_all(self._pack(beat, keep=False))
        self._tell_changes(belief)

    def _recorded_beat(self) -> None:
        if self._tlog_channel is None:
            return
        self._send(self._tlog_channel, identity.heartbeat(self._shared.identity, self.telemetry()))
        self.schedule.at_sim(self.schedule.sim_us + HEARTBEAT_US, self._recorded_beat)

    def _tell_changes(self, belief: Telemetry) -> None:
        """Send home and mode when they are new."""
        if self._told_mode != belief.mode:
            self._told_mode = belief.mode
            self._to_all(self.packed(mav.MAVLINK_MSG_ID_CURRENT_MODE))
        home = (belief.home_lat_e7, belief.home_lon_e7, belief.home_alt_m)
        if belief.home_valid and home != self._told_home:
            self._told_home = home
            self._to_all(self.packed(mav.MAVLINK_MSG_ID_HOME_POSITION))
            self._to_all(self.packed(mav.MAVLINK_MSG_ID_GPS_GLOBAL_ORIGIN))

    def _to_all(self, out: Outgoing | None, *, but: Channel | None = None) -> None:
        if out is None or self.failure.silent:
            return
        now_us = self.schedule.wall_us
        for peer, channel in self._channels.items():
            if channel is not but and peer.may_stream(now_us):
                channel.send(out)

    def _stream(self, channel: Channel, message_ids: list[int]) -> None:
        if not channel.peer.may_stream(self.schedule.wall_us):
            return
        if self.failure.silent and channel is not self._tlog_channel:
            return
        self._beat_along()
        for msg_id in message_ids:
            out = self.packed(msg_id)
            if out is not None:
                channel.send(out)

    def _send(self, channel: Channel, message: Message) -> None:
        out = self._pack(message, keep=True)
        if out is not None:
            channel.send(out)

    def _pack(self, message: Message, *, keep: bool) -> Outgoing | None:
        try:
            return codec.pack(message, keep=keep)
        except EncodeError as error:
            self._count_encode_error(error)
            return None

    def _count_encode_error(self, error: EncodeError) -> None:
        self._shared.counters.encode_errors += 1
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
        if self.failure.silent and not is_switch(message):
            return
        if self._tlog is not None:
            self._tlog.write(raw)
        try:
            handler(message, channel)
        except Exception:
            # A message must never end a run; whatever it provoked is ours to mend.
            self._shared.counters.handler_errors += 1
            _log.exception("Vehicle %d: handling %s", self.system_id, message.get_type())

    def _obeys(self, sender: int) -> bool:
        """Return whether this sender may speak: with SYSID_ENFORCE only SYSID_MYGCS."""
        enforce = self.vehicle.params.by_name("SYSID_ENFORCE")
        if enforce is None or not enforce.value:
            return True
        mine = self.vehicle.params.by_name("SYSID_MYGCS")
        return mine is None or sender == mine.value

    def _on_heartbeat(self, message: Message, _channel: Channel) -> None:
        sender = message.get_srcSystem()
        if self._presence.heartbeat(sender, self.schedule.sim_us, self.schedule.wall_us):
            self._greet()

    def _greet(self) -> None:
        """Tell home and mode again with the next heartbeat: somebody does not know them yet."""
        self._told_home = self._told_mode = None
