"""The checklist for an autopilot."""

from __future__ import annotations

import itertools

from pico_gz.testing.conformance import (
    MAX_DATAGRAMS,
    SLICE_S,
    CheckResult,
    Outcome,
    Progress,
    Report,
    require,
    require_port,
    require_timeout,
    run_check,
)
from pico_gz.testing.twin_rover import level_truth
from pico_gz.vehicle.external.connection import Arrival, FdmConnection
from pico_gz.vehicle.external.external_vehicle import ArduPilotProfile, ExternalVehicle
from pico_gz.vehicle.external.records import RecordWriter
from pico_gz.wire.datagrams import Address, Network, UdpNetwork

_STEP_US = 2000
_ANSWER_S = 3.0
_WITHHOLD_S = 2.5
_QUIET_S = 0.3
_AGAIN_S = 0.2
_MAX_SENDERS = 100

_BROKEN_RECORDS = (
    (b"", "an empty datagram"),
    (b'\n{"timestamp":1}\n', "a record without mandatory keys"),
    (
        b'\n{"timestamp":1,"imu":{"gyro":[0,0,0],"accel_body":[0,0,-9.8]},'
        b'"position":[0,0,0],"velocity":[0,0,0]}\n',
        "a record without an attitude",
    ),
)


def check_external_autopilot(
    port: int,
    *,
    host: str = "127.0.0.1",
    connect_s: float = 30.0,
    steps: int = 500,
    report: Report | None = None,
    network: Network | None = None,
) -> list[CheckResult]:
    """Serve an autopilot on ``port`` for a while and judge what it sends.

    Args:
        port: that the autopilot sends to.
        host: address to bind.
        connect_s: how long to wait for its first packet.
        steps: how many records to send.
        report: takes a line of progress every few seconds.
        network: to listen on.

    Raises:
        ConfigError: a port or time that cannot be.
        PortClashError: the port is taken.
    """
    require_port(port)
    require_timeout(connect_s)
    bench = _Bench(network or UdpNetwork(), host, port, report)
    try:
        if not bench.connect(connect_s):
            reason = bench.why_not_connected(connect_s)
            return [CheckResult(1, "an autopilot connects", Outcome.FAIL, reason)]
        answered = bench.serve(steps)
        results = [
            run_check(1, "packets are of one of the two forms", bench.check_forms),
            run_check(5, "frame_count rises by one per record", bench.check_frames),
            run_check(30, "one packet per record", lambda: bench.check_answers(answered, steps)),
            run_check(7, "a broken record is not taken for a step", bench.check_broken),
            run_check(40, "a withheld record makes it repeat the frame", bench.check_withheld),
        ]
        return sorted(results, key=lambda result: result.number)
    finally:
        bench.close()


class _Bench:
    """A rover that stands still, served by hand so that every packet is seen."""

    def __init__(self, network: Network, host: str, port: int, report: Report | None) -> None:
        vehicle = ExternalVehicle(vehicle_id=1, fdm_port=port)
        self._port = port
        self._connection = FdmConnection(vehicle)
        self._writer = RecordWriter(vehicle, ArduPilotProfile.UP_TO_4_6)
        self._poller = network.poller()
        self._progress = Progress(report, self._poller.now_s())
        try:
            self._socket = network.bind(host, port)
        except BaseException:
            self._poller.close()
            raise
        self._poller.add(self._socket, 1)
        self._time_us = 0
        self._record = b""
        self._records_sent = 0
        self._again_s = 0.0
        self._sizes: set[int] = set()
        self._senders: list[Address] = []
        self._frames: list[int] = []
        self._served_frames: list[int] = []

    def close(self) -> None:
        self._poller.remove(self._socket)
        self._socket.close()
        self._poller.close()

    # --- exchange -------------------------------------------------------------------------

    def connect(self, timeout_s: float) -> bool:
        """Wait for the first servo packet."""
        return self._wait(timeout_s, {*Arrival} - {Arrival.REFUSED}, "an autopilot")

    def why_not_connected(self, waited_s: float) -> str:
        refusal = self._connection.refusal
        if refusal is None:
            return f"nothing was received on port {self._port} within {waited_s:g} s"
        host, port = self._senders[-1]
        return f"{host}:{port} spoke, but sent no servo packet: {refusal.message} {refusal.hint}"

    def serve(self, steps: int) -> int:
        """Send records and return how many were answered; gives up on a silent autopilot."""
        answered = 0
        for _ in range(steps):
            if not self._step():
                break
            answered += 1
        self._listen(_QUIET_S)
        self._served_frames = list(self._frames)
        return answered

    def _step(self) -> bool:
        """Send the next record and wait for the next frame.

        A repeated frame asks for the record again, as the wire wants it.
        """
        self._time_us += _STEP_US
        self._record = self._writer.write(level_truth(), None, self._time_us)
        self._send_record()
        until_s = self._poller.now_s() + _ANSWER_S
        while (left_s := until_s - self._poller.now_s()) > 0.0:
            arrivals = self._read_within(left_s)
            if arrivals & {Arrival.NEW, Arrival.RESTARTED, Arrival.CONNECTED}:
                return True
            # Not for every copy: a peer that answers each record with its old frame would be
            # asked as fast as the machine goes.
            if Arrival.REPEATED in arrivals and self._poller.now_s() >= self._again_s:
                self._send_record()
            self._progress.note(self._poller.now_s(), "Waiting for the autopilot's answer ...")
        return False

    def _send_record(self) -> None:
        self._records_sent += 1
        self._again_s = self._poller.now_s() + _AGAIN_S
        self._send(self._record)

    def _send(self, data: bytes) -> None:
        if self._connection.peer is not None:
            self._socket.send_to(data, self._connection.peer)

    def _wait(self, timeout_s: float, wanted: set[Arrival], what: str) -> bool:
        """Wait for a datagram that means one of these."""
        until_s = self._poller.now_s() + timeout_s
        while (left_s := until_s - self._poller.now_s()) > 0.0:
            if self._read_within(left_s) & wanted:
                return True
            waited_s = timeout_s - (until_s - self._poller.now_s())
            heard = self._connection.refusal
            self._progress.note(
                self._poller.now_s(),
                f"Waiting for {what} on port {self._port}, {waited_s:.0f} of {timeout_s:g} s"
                + (f"; received: {heard.message}" if heard is not None else " ..."),
            )
        return False

    def _listen(self, seconds: float) -> None:
        """Read what arrives within a time, and answer nothing."""
        until_s = self._poller.now_s() + seconds
        while (left_s := until_s - self._poller.now_s()) > 0.0:
            self._read_within(left_s)

    def _read_within(self, timeout_s: float) -> set[Arrival]:
        """What has come, after a short wait for it."""
        self._poller.wait(min(timeout_s, SLICE_S))
        arrivals: set[Arrival] = set()
        for _ in range(MAX_DATAGRAMS):
            item = self._socket.receive()
            if item is None:
                break
            data, sender = item
            arrival = self._connection.take(data, sender, self._poller.now_s())
            arrivals.add(arrival)
            self._sizes.add(len(data))
            if sender not in self._senders and len(self._senders) < _MAX_SENDERS:
                self._senders.append(sender)
            if arrival is not Arrival.REFUSED:
                self._frames.append(int.from_bytes(data[4:8], "little"))
        return arrivals

    # --- verdicts -------------------------------------------------------------------------

    def check_forms(self) -> str:
        refused, refusal = self._connection.stats.refused, self._connection.refusal
        sizes = ", ".join(map(str, sorted(self._sizes)))
        reason = refusal.message if refusal is not None else ""
        require(refused == 0, f"{refused} packets refused, the last because: {reason}")
        several = ", ".join(f"{host}:{port}" for host, port in self._senders[:3])
        require(len(self._senders) == 1, f"packets of {len(self._senders)} senders: {several}")
        return f"{sizes} bytes"

    def check_frames(self) -> str:
        frames = self._served_frames
        falls = [f"from {a} to {b}" for a, b in itertools.pairwise(frames) if b < a]
        require(not falls, f"it fell {len(falls)} times: {', '.join(falls[:2])}")
        jumps = [b - a for a, b in itertools.pairwise(frames)]
        require(max(jumps, default=0) <= 1, f"it jumped by {max(jumps, default=0)}")
        rise = frames[-1] - frames[0]
        sent = self._records_sent
        require(rise <= sent, f"it rose by {rise} over {sent} records")
        require(rise > 0, f"it did not rise over {sent} records")
        return f"rose by {rise} over {sent} records"

    def check_answers(self, answered: int, steps: int) -> str:
        require(answered == steps, f"{answered} of {steps} records answered, then silence")
        # Time-outs make it repeat a packet now and then; more than that is no answer to a record.
        frames = self._served_frames
        repeats = sum(a == b for a, b in itertools.pairwise(frames))
        packets = len(frames) - 1 - repeats
        sent = self._records_sent
        require(packets <= sent, f"{packets} packets for {sent} records; it does not wait")
        require(2 * repeats <= sent, f"{repeats} packets were sent again, for {sent} records")
        return f"{packets} packets for {sent} records"

    def check_broken(self) -> str:
        for data, what in _BROKEN_RECORDS:
            before = self._frames[-1]
            self._send(data)
            self._listen(_QUIET_S)
            require(self._frames[-1] == before, f"{what} was taken for a step")
        require(self._step(), "it does not continue after a broken record")
        return "ignored"

    def check_withheld(self) -> str:
        self._listen(_QUIET_S)
        before = len(self._frames)
        self._listen(_WITHHOLD_S)
        repeats = self._frames[before:]
        require(bool(repeats), f"nothing within {_WITHHOLD_S} s")
        frame = self._frames[before - 1]
        others = ", ".join(str(other) for other in sorted(set(repeats) - {frame})[:3])
        require(not others, f"sent frame {others} although {frame} had no record")
        require(self._step(), "it does not continue after a withheld record")
        return f"{len(repeats)} repeats in {_WITHHOLD_S} s"
