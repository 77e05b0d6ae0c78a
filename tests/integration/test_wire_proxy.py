"""Determinism D5 on real sockets: whole runs against the plugin's twin, a chaos proxy between.

What is compared is ``trace_sha256`` of the run: truth, sensors and commands of every step. The
rovers drive by what their sensors say, so that anything lost, doubled or out of order would go
into the commands and grow from there.

Two habits of the real plugin make equal bits impossible, whatever its client does. Only the
tests that are about equal bits all the same switch them off, and say so; what is left of the
promise is tested with the habits on.

* ``lower_frame_steps``: a packet that was overtaken counts as a new one, so the world makes a
  step that nobody asked for. Its client can only skip the record.
* ``serial_world``: of several plugins one waits for its next packet while the others read
  nothing. When a reply of one of those is lost it cannot be asked for again; the first must be
  sent on its way before, with a command that is one physics step old (a nudge).
"""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from pico_gz.bridge.published import FleetView
from pico_gz.gazebo.adapter import GazeboAdapter
from pico_gz.run.config import load_fleet
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.testing.chaos import Chaos, ChaosProxy, ChaosRules
from pico_gz.testing.harness import fleet_toml
from pico_gz.testing.plugin_twin import PluginTwin, TwinTraps
from pico_gz.testing.port_lease import PortLeases
from pico_gz.testing.twin_rover import TwinPose

# The drivers stand for two seconds first. Coarse steps keep it short: two packets in each.
DURATION_S = 3.6
STEP_US, PHYSICS_STEP_US = 20_000, 10_000
REAL = TwinTraps()
NO_LATE_STEPS = TwinTraps(lower_frame_steps=False)
FAIR = TwinTraps(lower_frame_steps=False, serial_world=False)
QUIET = ChaosRules()


class ProxiedFleet:
    """One fleet of drivers; each run is against a new world behind a proxy.

    Attributes:
        undisturbed: the trace of a run without chaos.
        undisturbed_path: where the rovers were, step by step, then.
        path: where they were in the last run.
        times_us: after every step of the last run.
        chaos: what the last run went through, one per rover.
        wire: its counters, one per rover.
    """

    def __init__(self, fleet: FleetConfig) -> None:
        self._fleet = fleet
        self._count = len(fleet.vehicles)
        self.undisturbed = self.trace(REAL)
        self.undisturbed_path = self.path
        self.check_drive()

    def trace(
        self, traps: TwinTraps, to_simulator: ChaosRules = QUIET, to_client: ChaosRules = QUIET
    ) -> str:
        self.chaos = [
            Chaos(seed=17 + i, to_simulator=to_simulator, to_client=to_client)
            for i in range(self._count)
        ]
        ports = [vehicle.plugin for vehicle in self._fleet.port_plan().vehicles]
        poses = [TwinPose(x_m=3.0 * i) for i in range(self._count)]
        with (
            PluginTwin(
                [0] * self._count, step_us=PHYSICS_STEP_US, traps=traps, poses=poses
            ) as world,
            ChaosProxy(world.ports, self.chaos, listen_ports=ports),
        ):
            return self._run()

    def trace_without_nudges(
        self, traps: TwinTraps, to_simulator: ChaosRules, to_client: ChaosRules
    ) -> str:
        """The trace of a run in which nobody waited so long that a nudge was sent.

        A machine that stands still for 0.3 s looks like a lost reply. That is an event, and
        equal bits are promised for runs without events.
        """
        trace = self.trace(traps, to_simulator, to_client)
        for _ in range(2):
            if sum(stats.nudges for stats in self.wire) == 0:
                break
            trace = self.trace(traps, to_simulator, to_client)
        return trace

    def _run(self) -> str:
        self.times_us: list[int] = []
        self.path: list[list[tuple[float, float]]] = []
        options = RunOptions(duration_s=DURATION_S, mavlink=False, control=False)
        with FleetRun(self._fleet, options) as session:
            session.bridge.after_step.add(self._look)
            result = session.run()
            adapter = session.bridge.get_adapter("gazebo")
            assert isinstance(adapter, GazeboAdapter)
            self.wire = list(adapter.wire_stats().values())
        assert result.lost_steps == 0
        return result.trace_sha256

    def _look(self, view: FleetView) -> None:
        self.times_us.append(view.time_us)
        self.path.append([(truth.north_m, truth.east_m) for truth in view.truth.values()])

    def check_drive(self) -> None:
        """All of them have driven, and every step is there once."""
        assert self.times_us == list(range(STEP_US, round(DURATION_S * 1e6) + 1, STEP_US))
        for start, end in zip(self.path[0], self.path[-1], strict=True):
            assert math.dist(start, end) > 0.5

    def check_near(self, limit_m: float) -> None:
        """They have driven where they drive without chaos, about."""
        self.check_drive()
        for here, there in zip(self.path, self.undisturbed_path, strict=True):
            for rover, twin in zip(here, there, strict=True):
                assert math.dist(rover, twin) < limit_m


def make_fleet(folder: Path, leases: PortLeases, rovers: int) -> ProxiedFleet:
    file = folder / "fleet.toml"
    file.write_text(
        fleet_toml(
            count=rovers,
            adapter="gazebo",
            autopilot="script:circle",
            rover={"preset": "ardupilot_skid"},
            # A machine that stands still for a while must not look like a simulator that is gone.
            gazebo={"attach": True, "physics_step_us": PHYSICS_STEP_US, "timeout_ms": 20_000},
            time={"speed": "max", "step_us": STEP_US},
        )
    )
    fleet = load_fleet(file)
    offset = leases.offset_for(lambda offset: fleet.with_port_offset(offset).port_plan())
    return ProxiedFleet(fleet.with_port_offset(offset))


@pytest.fixture(scope="module")
def leases() -> Iterator[PortLeases]:
    with PortLeases() as leases:
        yield leases


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory, leases: PortLeases) -> ProxiedFleet:
    return make_fleet(tmp_path_factory.mktemp("one"), leases, 1)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory, leases: PortLeases) -> ProxiedFleet:
    return make_fleet(tmp_path_factory.mktemp("three"), leases, 3)


LOSS = {f"loss_{percent}": ChaosRules(loss=percent / 100) for percent in (1, 5, 20)}
DOUBLE = ChaosRules(duplicate=0.30)
REORDER = ChaosRules(reorder=0.25, reorder_s=0.02)
MIXED = ChaosRules(loss=0.05, duplicate=0.30, reorder=0.25, reorder_s=0.02)
ONE_BOTH_WAYS = {**LOSS, "double": DOUBLE, "both": ChaosRules(loss=0.05, duplicate=0.30)}


def check_chaos(fleet: ProxiedFleet, rules: ChaosRules) -> None:
    """What should have happened to datagrams has happened."""
    for chaos in fleet.chaos:
        assert (chaos.lost > 0) is (rules.loss > 0.0)
        assert (chaos.duplicated > 0) is (rules.duplicate > 0.0)
        assert (chaos.delayed > 0) is (rules.reorder > 0.0)


@pytest.mark.parametrize("rules", ONE_BOTH_WAYS.values(), ids=ONE_BOTH_WAYS.keys())
def test_d05_one_rover_loss_and_duplication(one: ProxiedFleet, rules: ChaosRules) -> None:
    """The plugin with all its habits."""
    assert one.trace(REAL, rules, rules) == one.undisturbed
    check_chaos(one, rules)
    one.check_drive()


@pytest.mark.alone
def test_d05_one_rover_replies_out_of_order(one: ProxiedFleet) -> None:
    """The plugin with all its habits; packets to it stay in order."""
    assert one.trace(REAL, DOUBLE, MIXED) == one.undisturbed
    check_chaos(one, MIXED)
    assert one.wire[0].old > 0
    assert one.wire[0].restarts == 0


@pytest.mark.alone
@pytest.mark.parametrize("rules", [REORDER, MIXED], ids=["reorder", "mixed"])
def test_d05_one_rover_all_out_of_order(one: ProxiedFleet, rules: ChaosRules) -> None:
    """Without ``lower_frame_steps``: the real one makes a step for a packet that comes late."""
    assert one.trace(NO_LATE_STEPS, rules, rules) == one.undisturbed
    check_chaos(one, rules)
    assert one.wire[0].restarts == 0


@pytest.mark.alone
def test_d05_one_rover_all_out_of_order_on_the_real_plugin(one: ProxiedFleet) -> None:
    """Equal bits are impossible; time, order and about the way are left."""
    one.trace(REAL, REORDER, REORDER)
    check_chaos(one, REORDER)
    one.check_near(0.1)
    assert one.wire[0].restarts == 0


@pytest.mark.alone
@pytest.mark.slow
def test_d05_three_rovers_with_packets_lost_and_replies_out_of_order(three: ProxiedFleet) -> None:
    """The plugins with all their habits; no reply gets lost."""
    to_client = ChaosRules(duplicate=0.30, reorder=0.25, reorder_s=0.02)
    to_simulator = ChaosRules(loss=0.05, duplicate=0.30)
    assert three.trace_without_nudges(REAL, to_simulator, to_client) == three.undisturbed
    check_chaos(three, MIXED)


@pytest.mark.alone
@pytest.mark.slow
def test_d05_three_rovers_with_everything(three: ProxiedFleet) -> None:
    """Plugins that read while another waits, and make no step for late packets."""
    assert three.trace_without_nudges(FAIR, MIXED, MIXED) == three.undisturbed
    check_chaos(three, MIXED)


@pytest.mark.alone
def test_d05_three_rovers_with_lost_replies_on_the_real_plugin(three: ProxiedFleet) -> None:
    """Equal bits are impossible, each nudge is a physics step too many; the way is left."""
    rules = ChaosRules(loss=0.01)
    three.trace(REAL, rules, rules)
    check_chaos(three, rules)
    assert sum(stats.nudges for stats in three.wire) > 0
    three.check_near(0.1)
