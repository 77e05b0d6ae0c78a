"""The checklist for simulators, against simulators that each have one fault; in virtual time."""

import struct
from dataclasses import dataclass, field

import pytest

from pico_gz.errors import ConfigError
from pico_gz.testing.conformance import CheckResult, Outcome
from pico_gz.testing.conformance_simulator import check_simulator
from pico_gz.wire.datagrams import Address
from pico_gz.wire.memory_network import MemoryNetwork

HOST, PORT, OTHER_PORT, CLOCK_PORT = "127.0.0.1", 9002, 9003, 1
STEP_S = 0.01
WORK_S = 0.0005
RESEND_S = 0.111
FULL_RADPS = 2.0


def delayed(_sender: Address, receiver: Address, data: bytes, _now_s: float):
    """Datagrams to the clock arrive when they say."""
    return [(float(data) if receiver[1] == CLOCK_PORT else 0.0, data)]


@dataclass
class Simulator:
    """A vehicle that turns as it is told; the switches are its faults."""

    any_magic: bool = False
    any_size: bool = False
    any_sender: bool = False
    bits: int = 32
    steps_on_repeats: bool = False
    deaf_to_repeats: bool = False
    deaf_to_restarts: bool = False
    deaf_to_gaps: bool = False
    deaf: bool = False
    no_resend: bool = False
    sticky_peer: bool = False
    foreign_port: bool = False
    one_by_one: bool = False
    oldest_first: bool = False
    zero_is_reverse: bool = False
    unlimited: bool = False
    turns_right: bool = False
    immobile: bool = False
    twice: bool = False
    free: bool = False
    uneven: bool = False
    empty: int = 0
    silent_after: int = 1_000_000
    accel_z: str = "-9.8"
    wind: str = ""
    extra: str = ""
    raw: bytes | None = None
    step_s: float = STEP_S

    net: MemoryNetwork = field(default_factory=lambda: MemoryNetwork(disturb=delayed))

    def __post_init__(self) -> None:
        self.socket = self.net.bind(HOST, PORT)
        self.out = self.net.bind(HOST, OTHER_PORT) if self.foreign_port else self.socket
        self.clock = self.net.bind(HOST, CLOCK_PORT)
        self.socket.on_arrival = self.wake
        self.clock.on_arrival = self.ring
        self.busy = False
        self.watching = False
        self.peer: Address | None = None
        self.last: bytes | None = None
        self.frame = -1
        self.replies = 0
        self.time_s = 5.0
        self.rate_radps = 0.0
        self.spoke_s = 0.0

    def wake(self) -> None:
        if not self.busy:
            self.busy = True
            self.set_clock(WORK_S)

    def set_clock(self, delay_s: float) -> None:
        self.socket.send_to(b"%f" % delay_s, self.clock.address)

    def ring(self) -> None:
        item = self.clock.receive()
        if item is not None and float(item[0]) == WORK_S:
            self.work()
        else:
            self.idle()
        if self.peer is not None and not self.watching and not self.no_resend:
            self.watching = True
            self.set_clock(0.01 if self.free else RESEND_S)

    def work(self) -> None:
        """Take what has queued up while it was busy."""
        packets = []
        while (item := self.socket.receive()) is not None:
            packets.append(item)
            if self.one_by_one:
                break
        self.busy = False
        if packets:
            self.take(*packets[0 if self.oldest_first else -1])
        if self.socket.has_datagram():
            self.wake()

    def idle(self) -> None:
        self.watching = False
        if self.free:
            self.advance()
        elif self.net.now_s() - self.spoke_s > 0.9 * RESEND_S:
            self.repeat()

    def take(self, data: bytes, sender: Address) -> None:
        if self.any_sender:
            self.peer = sender
        magic, _, frame, *pwm = struct.unpack("<HHI16H", data[:40].ljust(40, b"\0"))
        if self.deaf or (magic != 18458 and not self.any_magic):
            return
        if len(data) != 40 and not self.any_size:
            return
        frame %= 1 << self.bits
        if self.deaf_to_restarts and frame < self.frame:
            return
        if self.deaf_to_gaps and 0 <= self.frame < frame - 1:
            return
        if self.peer is None or not self.sticky_peer:
            self.peer = sender
        if frame == self.frame and not self.steps_on_repeats:
            if not self.deaf_to_repeats:
                self.repeat()
            return
        self.frame = frame
        self.rate_radps = self.rate(pwm)
        self.advance()
        if self.twice:
            self.advance()

    def rate(self, pwm: list[int]) -> float:
        left, right = (self.command(pwm[0]), self.command(pwm[2]))
        # Full reverse of both wheels shows as a turn too, so that one figure is enough.
        rate = FULL_RADPS * (left - right) + 0.3 * (left + right)
        return 0.0 if self.immobile else -rate if self.turns_right else rate

    def command(self, pwm_us: int) -> float:
        if pwm_us == 0 and not self.zero_is_reverse:
            return 0.0
        share = (pwm_us - 1500) / 1000
        return share if self.unlimited else min(max(share, -0.5), 0.5)

    def advance(self) -> None:
        self.time_s += self.step_s * (3 if self.uneven and self.frame % 5 == 0 else 1)
        self.replies += 1
        self.last = b"" if self.replies <= self.empty else self.record()
        self.repeat()

    def record(self) -> bytes:
        if self.raw is not None:
            return self.raw
        return (
            f'\n{{"timestamp":{self.time_s:.4f},"imu":{{"gyro":[0,0,{self.rate_radps:.4f}],'
            f'"accel_body":[0,0,{self.accel_z}]}},"position":[0,0,0],"quaternion":[1,0,0,0],'
            f'{self.wind}"velocity":[0,0,0]{self.extra}}}\n'
        ).encode()

    def repeat(self) -> None:
        if self.peer is not None and self.last is not None and self.replies < self.silent_after:
            self.spoke_s = self.net.now_s()
            self.out.send_to(self.last, self.peer)

    def check(self, timeout_s: float = 5.0) -> list[CheckResult]:
        return check_simulator(HOST, PORT, timeout_s=timeout_s, network=self.net)


def failed(results: list[CheckResult]) -> dict[int, str]:
    return {r.number: r.detail for r in results if r.outcome is Outcome.FAIL}


def test_a_good_one_passes():
    results = Simulator().check()
    assert failed(results) == {}
    assert [r.number for r in results if r.outcome is Outcome.SKIP] == [21]
    assert [r.number for r in results] == sorted(r.number for r in results)
    assert len(results) == 24


# What is wrong with a simulator -> what the checklist says of it, and nothing else.
FAULTS: list[tuple[dict[str, object], dict[int, str]]] = [
    ({"any_magic": True}, {3: "magic 0 from another port got"}),
    ({"any_sender": True}, {3: "magic 0 from another port got"}),
    ({"any_size": True}, {4: "8 bytes with the right magic moved time"}),
    ({"bits": 16}, {5: "16 bits?"}),
    ({"steps_on_repeats": True}, {7: "a repeated frame moved time", 11: "the newest"}),
    ({"deaf_to_repeats": True, "no_resend": True}, {7: "was not answered"}),
    ({"empty": 5}, {8: "5 replies of 0 bytes"}),
    ({"deaf_to_restarts": True}, {9: "times after a restart", 17: "no record within 5 s"}),
    ({"deaf_to_gaps": True}, {5: "16 bits?", 10: "times after a gap", 11: "no step"}),
    ({"one_by_one": True}, {11: "each was a step"}),
    ({"oldest_first": True}, {11: "the newest of several packets was not taken"}),
    ({"zero_is_reverse": True}, {12: "PWM 0 drives it"}),
    ({"unlimited": True}, {14: "-2.00 and -2.40 rad/s"}),
    ({"foreign_port": True}, {16: "replies come from 127.0.0.1:9003, not from port 9002"}),
    ({"sticky_peer": True}, {17: "no record within 5 s"}),
    ({"wind": '"velocity_wind":[1,0,0],'}, {20: "velocity", 21: "velocity_wind comes first"}),
    ({"accel_z": "0"}, {23: "accel_body z is 0.000, not -9.8"}),
    ({"turns_right": True}, {28: "left turn has gyro z"}),
    ({"uneven": True}, {29: "steps from 0.010000 to 0.030000 s"}),
    ({"step_s": 0.2}, {29: "a step of 0.200 s"}),
    ({"twice": True}, {3: "moved time", 4: "moved time", 7: "moved time", 30: "for 20 frames"}),
    ({"extra": f',"x":"{"y" * 1400}"'}, {31: "bytes"}),
    ({"free": True}, {40: "no lockstep"}),
]


@pytest.mark.parametrize(("fault", "expected"), FAULTS, ids=[next(iter(f)) for f, _ in FAULTS])
def test_a_fault_is_caught_by_its_number(fault, expected):
    found = failed(Simulator(**fault).check())
    assert found.keys() == expected.keys()
    assert all(words in found[number] for number, words in expected.items())


@pytest.mark.parametrize(
    "raw",
    [
        b'\n{"timestamp":1,"x":1.2.3}\n',
        b'\n{"timestamp":-}\n',
        b"\xff\xfe\x00",
        b"\n",
        b"{",
        b"[" * 4000,
        b"\n" + b"9" * 6000,
    ],
)
def test_nonsense_is_a_finding_and_no_crash(raw):
    results = Simulator(raw=raw).check()
    assert failed(results)[20]
    assert {r.detail for r in results if r.number == 7} == {"its records cannot be read, see 20"}


def test_pretty_json_is_caught():
    """Blanks after colons and brackets, and no line feed at the beginning."""
    simulator = Simulator()
    record = simulator.record
    simulator.record = lambda: record()[1:].replace(b":", b": ").replace(b"[", b" [")
    assert {18, 19, 20} == failed(simulator.check()).keys()


@pytest.mark.parametrize(("number", "word"), [("1.2.3", "1.2.3"), ("-", "-"), ("NaN", "NaN")])
def test_a_bad_number_is_named(number, word):
    assert f"'{word}'" in failed(Simulator(extra=f',"x":{number}').check())[22]


def test_one_that_cannot_move_is_not_judged_by_its_motion():
    results = Simulator(immobile=True).check()
    assert failed(results) == {}
    assert {r.number for r in results if r.outcome is Outcome.SKIP} == {12, 14, 21, 28}


def test_empty_replies_for_ever_end_in_time_and_are_named():
    simulator = Simulator(empty=10_000_000)
    results = simulator.check(timeout_s=2.0)
    assert set(failed(results)) == {1, 8}
    assert "no IMU sample" in failed(results)[1]
    assert simulator.net.now_s() < 2.5


def test_the_timeout_is_what_was_asked_for():
    simulator = Simulator(deaf=True)
    results = simulator.check(timeout_s=12.0)
    assert failed(results) == {1: "no record within 12 s"}
    assert 12.0 <= simulator.net.now_s() < 12.6


def test_one_that_falls_silent_ends_the_run_soon():
    simulator = Simulator(silent_after=300)
    results = simulator.check(timeout_s=30.0)
    assert list(failed(results).values()) == ["no record within 5 s"]
    assert any("any more" in r.detail for r in results if r.outcome is Outcome.SKIP)
    assert simulator.net.now_s() < 15.0


def test_waiting_is_told_every_few_seconds():
    simulator = Simulator(deaf=True)
    lines: list[str] = []
    check_simulator(HOST, PORT, timeout_s=10.0, report=lines.append, network=simulator.net)
    assert lines[:3] == [f"Waiting for 127.0.0.1:9002, {s} of 10 s ..." for s in (3, 6, 9)]


@pytest.mark.parametrize("timeout_s", [0.0, -1.0, float("nan"), float("inf")])
def test_odd_timeouts_are_refused(timeout_s):
    with pytest.raises(ConfigError, match="timeout"):
        check_simulator(HOST, PORT, timeout_s=timeout_s, network=MemoryNetwork())
