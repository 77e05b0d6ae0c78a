"""An autopilot and the server on a bad wire: what stays the same, and what need not.

Loss and reordering change nothing but the time it takes: there is one packet in flight. A wire
that doubles datagrams does change the run, whatever the server does: the autopilot cannot tell
records apart and counts the second copy as a frame of its own (no time passes in it), and the
server must answer every repeated frame, because it may be the question for a record that got
lost. What can be asked for there: nobody takes it for a restart, commands stay young, and the
rover drives about the same way.
"""

import math
from collections.abc import Callable

import pytest
from fdm_rig import FdmRig

from pico_gz.testing.autopilot_twin import RESEND_S, AutopilotTwin
from pico_gz.testing.chaos import Chaos, ChaosRules
from pico_gz.vehicle.external.connection import LATE_S, Arrival, FdmConnection
from pico_gz.vehicle.external.external_vehicle import ExternalVehicle
from pico_gz.vehicle.external.fdm_server import FdmServer
from pico_gz.wire.memory_network import MemoryNetwork
from pico_gz.wire.servo import encode_servo

HOST, PORT = "127.0.0.1", 9002
STEP_US = 10_000
# Physics takes a while too; what arrives meanwhile is found together.
THINK_S = 0.0002


def weave(time_s: float, _: object) -> tuple[int, ...]:
    """Wheels that change with every record; channel 5 says which record it was."""
    step = round(time_s * 1e6 / STEP_US)
    return (1600 + step * 7 % 300, 0, 1600 + step * 3 % 300, 0, 1000 + step % 1000) + (0,) * 11


class ChaosBench:
    """One rover, its autopilot and the chaos between them, in virtual time."""

    def __init__(
        self,
        to_server: ChaosRules | None = None,
        to_autopilot: ChaosRules | None = None,
        *,
        seed: int = 1,
    ) -> None:
        self.chaos = Chaos(
            seed=seed,
            to_simulator=to_server or ChaosRules(),
            to_client=to_autopilot or to_server or ChaosRules(),
        )
        self.net = MemoryNetwork(disturb=self.chaos.disturb([PORT]))
        self.events: list[str] = []
        self.server = FdmServer(
            [ExternalVehicle(vehicle_id=1, fdm_port=PORT)],
            network=self.net,
            on_event=lambda kind, text, vehicle_id: self.events.append(kind),
        )
        self.rig = FdmRig(self.server, step_us=STEP_US)
        self.start_autopilot()

    @property
    def stats(self):  # type: ignore[no-untyped-def]
        return self.server.stats()[1]

    def start_autopilot(self) -> None:
        self.autopilot = AutopilotTwin((HOST, PORT), weave, network=self.net)
        self.autopilot.socket.on_arrival = self._read  # type: ignore[attr-defined]
        self.autopilot.send(self.net.now_s())

    def _read(self) -> None:
        self.autopilot.read(self.net.now_s())

    def wait_for(self, met: Callable[[], bool]) -> None:
        """Let time pass; the autopilot asks again when its time has come."""
        give_up_s = self.net.now_s() + 60.0
        while not met():
            assert self.net.now_s() < give_up_s, "the two have lost each other"
            self.autopilot.repeat_if_due(self.net.now_s())

    def connect(self) -> None:
        def is_connected() -> bool:
            self.rig.collect(0.0)
            while self.net.advance_to(self.net.now_s() + 0.01):
                pass
            return self.server.is_connected(1)

        self.wait_for(is_connected)

    def step(self) -> None:
        self.rig.hand_over()
        self.wait_for(lambda: self.rig.collect(0.05))
        self.rig.advance()
        until_s = self.net.now_s() + THINK_S
        while self.net.advance_to(until_s):
            pass

    def run(self, steps: int = 300) -> str:
        self.connect()
        for _ in range(steps):
            self.step()
        assert self.rig.steps == steps
        return self.rig.trace_sha256()

    def command_age(self) -> int:
        """How many steps ago the record was made that the newest command answers."""
        step = self.server._served[1].connection.pwm_us[4] - 1000
        return (self.rig.steps - 1 - step) % 1000

    def place(self) -> tuple[float, float]:
        north, east, _ = self.rig.rover(1).position_ned_m
        return north, east


def quiet_run() -> ChaosBench:
    bench = ChaosBench()
    bench.run()
    return bench


SAME = {
    "loss_1": ChaosRules(loss=0.01),
    "loss_5": ChaosRules(loss=0.05),
    "loss_20": ChaosRules(loss=0.20),
    "reorder_25": ChaosRules(reorder=0.25),
    "late_and_lossy": ChaosRules(loss=0.05, reorder=0.25, delay_s=0.005),
}


@pytest.mark.parametrize("rules", SAME.values(), ids=SAME.keys())
def test_loss_and_reordering_change_no_bit(rules: ChaosRules) -> None:
    quiet = quiet_run()
    # It has driven, and round bends: else any damage to the commands would go unseen.
    assert math.dist(quiet.place(), (0.0, 0.0)) > 0.5
    bench = ChaosBench(rules)
    assert bench.run() == quiet.rig.trace_sha256()
    assert bench.chaos.lost + bench.chaos.delayed > 0
    assert (bench.stats.missed, bench.stats.restarts, bench.stats.late) == (0, 0, 0)
    assert bench.autopilot.core.physics_resets == 0


@pytest.mark.parametrize("seed", range(5))
def test_doubled_packets_are_no_restart_and_commands_stay_young(seed: int) -> None:
    quiet = quiet_run()
    bench = ChaosBench(ChaosRules(duplicate=0.3), seed=seed)
    bench.connect()
    for _ in range(300):
        bench.step()
        assert bench.command_age() <= 2
    assert bench.chaos.duplicated > 100
    assert (bench.stats.restarts, bench.stats.refused) == (0, 0)
    assert bench.autopilot.core.physics_resets == 0
    assert math.dist(bench.place(), quiet.place()) < 0.05
    assert set(bench.events) <= {"connected", "slow"}


@pytest.mark.parametrize("seed", range(5))
def test_doubled_and_overtaken_packets_are_late_not_a_restart(seed: int) -> None:
    quiet = quiet_run()
    bench = ChaosBench(ChaosRules(duplicate=0.3, reorder=0.25), seed=seed)
    bench.run()
    assert bench.stats.late > 0
    assert bench.stats.restarts == 0
    assert set(bench.events) <= {"connected", "slow"}
    assert math.dist(bench.place(), quiet.place()) < 0.3


def test_when_the_wire_is_good_again_nothing_of_it_is_left() -> None:
    bench = ChaosBench(ChaosRules(loss=0.1, duplicate=0.3, reorder=0.25))
    bench.chaos.until_sim_s = 1.0
    bench.run(150)
    before = (bench.stats.missed, bench.stats.repeated, bench.stats.late)
    assert min(before) > 0
    accepted, resets = bench.autopilot.core.accepted, bench.autopilot.core.physics_resets
    for _ in range(100):
        bench.step()
        assert bench.command_age() <= 2
    assert (bench.stats.missed, bench.stats.repeated, bench.stats.late) == before
    assert bench.autopilot.core.accepted - accepted == 100
    assert bench.autopilot.core.physics_resets == resets


def test_a_real_restart_in_the_middle_of_it_is_recognised() -> None:
    """A new process has a new port, and then the first packet that arrives says so."""
    bench = ChaosBench(ChaosRules(duplicate=0.3, reorder=0.25))
    bench.run(50)
    assert bench.stats.restarts == 0
    bench.autopilot.close()
    bench.start_autopilot()
    for _ in range(100):
        bench.step()
    assert bench.stats.restarts == 1
    assert bench.events.count("restarted") == 1


# --- late or restarted: the same address, a lower count ----------------------------------------

HERE = (HOST, 40000)


def servo(frame: int, pwm: int = 1500) -> bytes:
    return encode_servo(1200, frame, (pwm, 0, pwm) + (0,) * 13)


def connection_at(frame: int, first: int = 0) -> FdmConnection:
    connection = FdmConnection(ExternalVehicle(vehicle_id=1, fdm_port=PORT))
    for count in range(first, frame + 1):
        connection.take(servo(count), HERE, 10.0)
    return connection


@pytest.mark.parametrize("frame", [0, 1, 499])
def test_an_overtaken_packet_changes_nothing(frame: int) -> None:
    connection = connection_at(500)
    connection.owed = False
    pwm_us, heard_s = connection.pwm_us, connection.last_heard_s
    assert connection.take(servo(frame, 2000), HERE, 10.0 + 0.9 * LATE_S) is Arrival.LATE
    assert (connection.pwm_us, connection.last_heard_s) == (pwm_us, heard_s)
    assert not connection.owed
    assert connection.take(servo(501), HERE, 10.0) is Arrival.NEW
    assert connection.stats.missed == 0


@pytest.mark.parametrize("frame", [0, 1, 499])
def test_the_same_a_moment_later_is_a_restart(frame: int) -> None:
    connection = connection_at(500)
    assert connection.take(servo(frame), HERE, 10.0 + 1.1 * LATE_S) is Arrival.RESTARTED


def test_a_count_that_this_connection_never_had_is_a_restart_at_once() -> None:
    connection = connection_at(500, first=400)
    assert connection.take(servo(399), HERE, 10.0) is Arrival.RESTARTED
    assert connection.take(servo(400), HERE, 10.0) is Arrival.NEW
    assert connection.take(servo(399), HERE, 10.0) is Arrival.LATE


def test_a_quick_restart_at_the_same_address_is_recognised_when_it_asks_again() -> None:
    """Packets that are taken for late do not prolong the time in which others are."""
    connection = connection_at(500)
    assert connection.take(servo(0), HERE, 10.1) is Arrival.LATE
    assert connection.take(servo(0), HERE, 10.1 + RESEND_S) is Arrival.RESTARTED
    connection = connection_at(500)
    assert connection.take(servo(0), HERE, 10.0 + 0.9 * LATE_S) is Arrival.LATE
    assert connection.take(servo(0), HERE, 10.0 + 1.1 * LATE_S) is Arrival.RESTARTED
