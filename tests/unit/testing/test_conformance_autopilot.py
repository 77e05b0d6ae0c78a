"""The checklist for autopilots, against autopilots that each have one fault; in virtual time."""

import struct
from dataclasses import dataclass, field

import pytest

from pico_gz.errors import ConfigError, PortClashError
from pico_gz.testing.autopilot_twin import RESEND_S, SubstringParser
from pico_gz.testing.conformance import CheckResult, Outcome
from pico_gz.testing.conformance_autopilot import check_external_autopilot
from pico_gz.wire.datagrams import Address
from pico_gz.wire.memory_network import MemoryNetwork
from pico_gz.wire.servo import encode_servo

HOST, PORT, CLOCK_PORT = "127.0.0.1", 9002, 1
STEPS = 40


def delayed(_sender: Address, receiver: Address, data: bytes, _now_s: float):
    """Datagrams to the clock arrive when they say."""
    return [(float(data) if receiver[1] == CLOCK_PORT else 0.0, data)]


@dataclass
class Autopilot:
    """Answers records with packets; the switches are its faults."""

    first_frame: int = 0
    rise: int = 1
    packets_per_record: int = 1
    copies: int = 1
    takes_anything: bool = False
    never_repeats: bool = False
    counts_repeats: bool = False
    streams: bool = False
    mixes_sizes: bool = False
    changes_port: bool = False
    dies_after: int = 1_000_000
    raw: bytes | None = None

    net: MemoryNetwork = field(default_factory=lambda: MemoryNetwork(disturb=delayed))

    def __post_init__(self) -> None:
        self.socket = self.net.bind(HOST, 0)
        self.other = self.net.bind(HOST, 0)
        self.clock = self.net.bind(HOST, CLOCK_PORT)
        self.socket.on_arrival = self.read
        self.clock.on_arrival = self.ring
        self.parser = SubstringParser()
        self.frame = self.first_frame
        self.records = 0
        self.sent_s = 0.0
        self.set_clock()

    def set_clock(self) -> None:
        self.clock.send_to(b"%f" % (0.01 if self.streams else 0.1), self.clock.address)

    def ring(self) -> None:
        while self.clock.receive() is not None:
            pass
        if self.streams:
            self.frame += 1
            self.send()
        elif self.records == 0 or self.net.now_s() - self.sent_s > RESEND_S:
            if self.counts_repeats:
                self.frame += 1
            if self.records == 0 or not self.never_repeats:
                self.send()
        self.set_clock()

    def read(self) -> None:
        while (item := self.socket.receive()) is not None:
            accepted = self.parser.feed(item[0]) or self.takes_anything
            if not accepted or self.streams or self.records >= self.dies_after:
                continue
            self.records += 1
            for _ in range(self.packets_per_record):
                self.frame += self.rise
                self.send()

    def send(self) -> None:
        odd = self.frame % 2 == 1
        pwm_us = (1500,) * (32 if self.mixes_sizes and odd else 16)
        data = self.raw if self.raw is not None else encode_servo(400, self.frame, pwm_us)
        socket = self.other if self.changes_port and odd else self.socket
        self.sent_s = self.net.now_s()
        for _ in range(self.copies):
            socket.send_to(data, (HOST, PORT))

    def check(self, **options: object) -> list[CheckResult]:
        return check_external_autopilot(PORT, steps=STEPS, network=self.net, **options)  # type: ignore[arg-type]


def failed(results: list[CheckResult]) -> dict[int, str]:
    return {r.number: r.detail for r in results if r.outcome is Outcome.FAIL}


def test_a_good_one_passes():
    results = Autopilot().check()
    assert failed(results) == {}
    assert [r.number for r in results] == [1, 5, 7, 30, 40]
    assert {r.number: r.detail for r in results}[5] == f"rose by {STEPS} over {STEPS} records"


FAULTS: list[tuple[dict[str, object], dict[int, str]]] = [
    ({"packets_per_record": 2}, {5: "rose by 80 over 40", 30: "80 packets for 40 records"}),
    ({"rise": 2}, {5: "it jumped by 2"}),
    ({"rise": -1, "first_frame": 1000}, {5: "fell 40 times: from 1000 to 999"}),
    ({"rise": 0}, {5: "it did not rise", 7: "not continue", 30: "0 of 40", 40: "not continue"}),
    ({"copies": 2}, {30: "packets were sent again"}),
    ({"takes_anything": True}, {7: "an empty datagram was taken for a step"}),
    ({"never_repeats": True}, {40: "nothing within 2.5 s"}),
    ({"counts_repeats": True}, {7: "taken for a step", 40: "had no record"}),
    ({"streams": True}, {5: "rose by", 7: "an empty", 30: "does not wait", 40: "had no record"}),
    ({"mixes_sizes": True}, {1: "32 channels in a connection of 16", 5: "", 30: "", 40: ""}),
    ({"dies_after": 5}, {7: "not continue", 30: "5 of 40 records answered", 40: "not continue"}),
]


@pytest.mark.parametrize(("fault", "expected"), FAULTS, ids=[next(iter(f)) for f, _ in FAULTS])
def test_a_fault_is_caught_by_its_number(fault, expected):
    found = failed(Autopilot(**fault).check())
    assert found.keys() == expected.keys()
    assert all(words in found[number] for number, words in expected.items())


def test_two_senders_are_named():
    assert "packets of 2 senders" in failed(Autopilot(changes_port=True).check())[1]


def test_nobody_is_one_failure():
    (result,) = check_external_autopilot(PORT, connect_s=5.0, network=MemoryNetwork())
    assert result.outcome is Outcome.FAIL
    assert result.detail == "nothing was received on port 9002 within 5 s"


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (struct.pack("<16f", *[0.0] * 16), "64 bytes with unknown magic 0"),
        (b"", "0 bytes"),
        (struct.pack("<HHI", 18458, 400, 1), "8 bytes; magic 18458 needs 40"),
        (b"\xff" * 5000, "unknown magic 65535"),
    ],
)
def test_somebody_who_speaks_another_wire_is_quoted(raw, words):
    (result,) = Autopilot(raw=raw).check(connect_s=5.0)
    assert result.outcome is Outcome.FAIL
    assert result.detail.startswith("127.0.0.1:49152 spoke, but sent no servo packet")
    assert words in result.detail
    assert "--model JSON" in result.detail


def test_waiting_is_told_every_few_seconds():
    lines: list[str] = []
    check_external_autopilot(PORT, connect_s=10.0, report=lines.append, network=MemoryNetwork())
    assert lines == [f"Waiting for an autopilot on port 9002, {s} of 10 s ..." for s in (3, 6, 9)]


def test_waiting_tells_of_a_stranger():
    lines: list[str] = []
    Autopilot(raw=bytes(64)).check(connect_s=4.0, report=lines.append)
    assert "received: " in lines[0]
    assert "magic 0" in lines[0]


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_ports_that_do_not_exist_are_refused(port):
    with pytest.raises(ConfigError, match=f"Port {port} cannot be used"):
        check_external_autopilot(port, network=MemoryNetwork())


@pytest.mark.parametrize("connect_s", [0.0, -1.0, float("nan"), float("inf")])
def test_odd_timeouts_are_refused(connect_s):
    with pytest.raises(ConfigError, match="timeout"):
        check_external_autopilot(PORT, connect_s=connect_s, network=MemoryNetwork())


def test_a_taken_port_is_a_clash():
    net = MemoryNetwork()
    net.bind(HOST, PORT)
    with pytest.raises(PortClashError):
        check_external_autopilot(PORT, network=net)
