"""Requested messages and status texts: once, or at a rate."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from pico_gz.core.ground_control import Result
from pico_gz.mavlink import service, telemetry
from pico_gz.mavlink.codec import Message, mav
from pico_gz.mavlink.service import Context, Handler
from pico_gz.mavlink.signing import Channel
from pico_gz.mavlink.streams import OFF, STREAMABLE

if TYPE_CHECKING:
    from pico_gz.mavlink.commands import Command


_CHUNK_BYTES = 50
_MAX_CHUNKS = 5
_text_numbers = count(1)


def status_messages(severity: int, text: str) -> list[Message]:
    """Build STATUSTEXT messages; a long text gets an id and numbered chunks.

    Control characters become "?": a terminal at the other end may obey them.
    """
    clean = "".join(letter if letter.isprintable() else "?" for letter in text)
    data = clean.encode("ascii", "replace")[: _CHUNK_BYTES * _MAX_CHUNKS]
    level = min(max(severity, 0), 7)
    if len(data) <= _CHUNK_BYTES:
        return [mav.MAVLink_statustext_message(level, data)]
    number = next(_text_numbers) % 0xFFFF + 1
    chunks = [data[at : at + _CHUNK_BYTES] for at in range(0, len(data), _CHUNK_BYTES)]
    if len(chunks[-1]) == _CHUNK_BYTES:
        # The receiver knows the end by a chunk that is not full.
        chunks.append(b"")
    return [
        mav.MAVLink_statustext_message(level, chunk, number, index)
        for index, chunk in enumerate(chunks)
    ]


_MAX_MESSAGE_ID = 0xFF_FFFF
_MAX_INTERVAL_US = 2**31 - 1
_SEVERITY_INFO = 6


class RequestService:
    """Answers requests of one vehicle's receivers."""

    def __init__(self, context: Context, own_identity: service.Identity) -> None:
        self._context = context
        self._identity = own_identity

    def handlers(self) -> dict[int, Handler]:
        """Return what this service answers."""
        return {
            mav.MAVLINK_MSG_ID_REQUEST_DATA_STREAM: self._on_data_stream,
            mav.MAVLINK_MSG_ID_AUTOPILOT_VERSION_REQUEST: self._on_version_request,
            mav.MAVLINK_MSG_ID_LOG_REQUEST_LIST: self._on_log_list,
            mav.MAVLINK_MSG_ID_TIMESYNC: self._on_timesync,
            mav.MAVLINK_MSG_ID_SET_GPS_GLOBAL_ORIGIN: self._on_set_origin,
        }

    # --- messages ---------------------------------------------------------------------------

    def _on_data_stream(self, message: Message, channel: Channel) -> None:
        rate_hz = message.req_message_rate if message.start_stop else 0
        self._context.streams_of(channel).set_group(message.req_stream_id, rate_hz)

    def _on_version_request(self, _message: Message, channel: Channel) -> None:
        self._context.reply(channel, service.autopilot_version(self._context.system_id))

    def _on_log_list(self, _message: Message, channel: Channel) -> None:
        self._context.reply(channel, mav.MAVLink_log_entry_message(0, 0, 0, 0, 0))

    def _on_timesync(self, message: Message, channel: Channel) -> None:
        if message.tc1 == 0:
            own_ns = max(1, self._context.schedule.sim_us * 1000)
            self._context.reply(channel, mav.MAVLink_timesync_message(own_ns, message.ts1))

    def _on_set_origin(self, _message: Message, channel: Channel) -> None:
        """Answer with the origin there is: the estimator has set its own."""
        self._send_packed(mav.MAVLINK_MSG_ID_GPS_GLOBAL_ORIGIN, channel)

    # --- commands ---------------------------------------------------------------------------

    def request_message(self, command: Command) -> Result:
        """Run REQUEST_MESSAGE."""
        msg_id = command.whole(1, 0, _MAX_MESSAGE_ID)
        if msg_id is None:
            return Result.DENIED
        if msg_id == mav.MAVLINK_MSG_ID_AVAILABLE_MODES:
            return self._available_modes(command)
        if msg_id == mav.MAVLINK_MSG_ID_AUTOPILOT_VERSION:
            self._on_version_request(None, command.channel)
            return Result.ACCEPTED
        if msg_id == mav.MAVLINK_MSG_ID_HEARTBEAT:
            beat = service.heartbeat(self._identity, self._context.telemetry())
            self._context.reply(command.channel, beat)
            return Result.ACCEPTED
        if msg_id == mav.MAVLINK_MSG_ID_AVAILABLE_MODES_MONITOR:
            self._context.reply(command.channel, mav.MAVLink_available_modes_monitor_message(0))
            return Result.ACCEPTED
        if msg_id not in telemetry.BUILDERS:
            return Result.UNSUPPORTED
        return Result.ACCEPTED if self._send_packed(msg_id, command.channel) else Result.FAILED

    def _available_modes(self, command: Command) -> Result:
        modes = service.available_modes()
        index = command.whole(2, 0, len(modes))
        if index is None:
            return Result.DENIED
        for message in modes if index == 0 else modes[index - 1 : index]:
            self._context.reply(command.channel, message)
        return Result.ACCEPTED

    def home_position(self, command: Command) -> Result:
        """Run GET_HOME_POSITION."""
        sent = self._send_packed(mav.MAVLINK_MSG_ID_HOME_POSITION, command.channel)
        return Result.ACCEPTED if sent else Result.FAILED

    def capabilities(self, command: Command) -> Result:
        """Run REQUEST_AUTOPILOT_CAPABILITIES."""
        if command.whole(1, 1, 1) is None:
            return Result.DENIED
        self._on_version_request(None, command.channel)
        return Result.ACCEPTED

    def banner(self, command: Command) -> Result:
        """Run DO_SEND_BANNER."""
        for line in service.banner():
            for message in status_messages(_SEVERITY_INFO, line):
                self._context.reply(command.channel, message)
        return Result.ACCEPTED

    def set_message_interval(self, command: Command) -> Result:
        """Run SET_MESSAGE_INTERVAL; 0 is the default rate, -1 stops the message."""
        msg_id = command.whole(1, 0, _MAX_MESSAGE_ID)
        if msg_id is None:
            return Result.DENIED
        if msg_id not in STREAMABLE:
            return Result.UNSUPPORTED
        interval_us = command.params[1]
        if not -1.0 <= interval_us <= _MAX_INTERVAL_US:
            return Result.DENIED
        streams = self._context.streams_of(command.channel)
        wanted_us = streams.default_interval(msg_id) if interval_us == 0 else int(interval_us)
        streams.set_interval(msg_id, wanted_us)
        return Result.ACCEPTED

    def get_message_interval(self, command: Command) -> Result:
        """Run GET_MESSAGE_INTERVAL; the answer is 0 for a message that does not exist here."""
        msg_id = command.whole(1, 0, 0xFFFF)
        if msg_id is None:
            return Result.DENIED
        streams = self._context.streams_of(command.channel)
        interval_us = streams.interval(msg_id) if msg_id in STREAMABLE else 0
        if msg_id == mav.MAVLINK_MSG_ID_HEARTBEAT:
            interval_us = 1_000_000
        self._context.reply(
            command.channel,
            mav.MAVLink_message_interval_message(msg_id, max(OFF, interval_us)),
        )
        return Result.ACCEPTED

    def _send_packed(self, msg_id: int, channel: Channel) -> bool:
        out = self._context.packed(msg_id)
        if out is None:
            return False
        channel.send(out)
        return True
