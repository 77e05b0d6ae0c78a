"""The checklist for an autopilot: plays the simulator and judges the packets."""

from __future__ import annotations

import itertools

from pico_gz.codecs.ardupilot_servo import SIZE_16, SIZE_32
from pico_gz.fdm.connection import Arrival, FdmConnection
from pico_gz.fdm.record_writer import RecordWriter
from pico_gz.fdm.vehicle import ArduPilotProfile, ExternalVehicle
from pico_gz.testing.conformance_result import CheckResult, Outcome, require, run_check
from pico_gz.testing.fdm_rig import level_truth
from pico_gz.transports.base import Network
from pico_gz.transports.udp import UdpNetwork

_STEP_US = 2000
_ANSWER_S = 3.0
_WITHHOLD_S = 2.5


def check_autopilot(
    port: int,
    *,
    host: str = "127.0.0.1",
    connect_s: float = 30.0,
    steps: int = 500,
    network: Network | None = None,
) -> list[CheckResult]:
    """Serve an autopilot on ``port`` for a while and judge what it sends.

    Raises:
        PortClashError: the port is taken.
    """
    bench = _Bench(network or UdpNetwork(), host, port)
    try:
        if not bench.wait_for_packet(connect_s):
            detail = f"nobody spoke to port {port} within {connect_s:.0f} s"
            return [CheckResult(1, "an autopilot connects", Outcome.FAIL, detail)]
        answered = sum(bench.step() for _ in range(steps))
        return [
            run_check(1, "packets are of one of the two forms", bench.check_forms),
            run_check(5, "frame_count rises by one per record", bench.check_frames),
            run_check(30, "one packet per record", lambda: bench.check_answers(answered, steps)),
            run_check(7, "a broken record is not taken for a step", bench.check_broken),
            run_check(40, "a withheld record makes it repeat the frame", bench.check_withheld),
        ]
    finally:
        bench.close()


class _Bench:
    """A rover that stands still, served by hand so that every packet is seen."""

    def __init__(self, network: Network, host: str, port: int) -> None:
        vehicle = ExternalVehicle(vehicle_id=1, fdm_port=port)
        self._connection = FdmConnection(vehicle)
        self._writer = RecordWriter(vehicle, ArduPilotProfile.UP_TO_4_6)
        self._poller = network.poller()
        self._socket = network.bind(host, port)
        self._poller.add(self._socket, 1)
        self._time_us = 0
        self._sizes: set[int] = set()
        self._frames: list[int] = []

    def close(self) -> None:
        self._poller.remove(self._socket)
        self._socket.close()
        self._poller.close()

    def wait_for_packet(self, timeout_s: float, *, new: bool = False) -> bool:
        """Wait for a packet, or for one with a new frame."""
        until_s = self._poller.now_s() + timeout_s
        while (left_s := until_s - self._poller.now_s()) > 0.0:
            self._poller.wait(left_s)
            arrivals = self._read()
            wanted = [a for a in arrivals if a is not Arrival.REFUSED]
            if new:
                wanted = [a for a in wanted if a is not Arrival.REPEATED]
            if wanted:
                return True
        return False

    def _read(self) -> list[Arrival]:
        arrivals = []
        while (item := self._socket.receive()) is not None:
            data, sender = item
            arrivals.append(self._connection.take(data, sender, self._poller.now_s()))
            self._sizes.add(len(data))
            if len(data) in (SIZE_16, SIZE_32):
                self._frames.append(int.from_bytes(data[4:8], "little"))
        return arrivals

    def _send(self, data: bytes) -> None:
        if self._connection.peer is not None:
            self._socket.send_to(data, self._connection.peer)

    def step(self) -> bool:
        """Send the next record and wait for the next frame."""
        self._time_us += _STEP_US
        self._send(self._writer.write(level_truth(), None, self._time_us))
        return self.wait_for_packet(_ANSWER_S, new=True)

    def check_forms(self) -> str:
        refused = self._connection.stats.refused
        sizes = ", ".join(map(str, sorted(self._sizes)))
        require(refused == 0, f"{refused} packets refused; sizes {sizes}")
        return f"{sizes} bytes"

    def check_frames(self) -> str:
        jumps = [b - a for a, b in itertools.pairwise(self._frames)]
        require(all(jump in (0, 1) for jump in jumps), f"it rose by {max(jumps, default=0)}")
        return f"{len(self._frames)} packets"

    def check_answers(self, answered: int, steps: int) -> str:
        require(answered == steps, f"{answered} of {steps} records answered")
        return f"{steps} records"

    def check_broken(self) -> str:
        before = self._frames[-1]
        self._send(b'\n{"timestamp":1}\n')
        self.wait_for_packet(0.5)
        require(self._frames[-1] == before, "a record without mandatory keys was accepted")
        require(self.step(), "it does not go on after a broken record")
        return "ignored"

    def check_withheld(self) -> str:
        before = len(self._frames)
        until_s = self._poller.now_s() + _WITHHOLD_S
        while self._poller.now_s() < until_s:
            self.wait_for_packet(until_s - self._poller.now_s())
        repeats = self._frames[before:]
        require(bool(repeats), f"nothing within {_WITHHOLD_S} s")
        require(set(repeats) == {self._frames[before - 1]}, f"frames {sorted(set(repeats))}")
        return f"{len(repeats)} repeats in {_WITHHOLD_S} s"
