"""An unmodified ArduRover on the kit's physics: boots, navigates, restarts.

Marked ``ardupilot``; the binary is found through PICO_GZ_ARDUROVER or on the PATH, and without
one every test is skipped with that reason.
"""

import contextlib
import itertools
import logging
import math
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ardurover_rig import (
    FIRST_ID,
    HOME,
    MODES,
    STEP_US,
    ArduRoverRig,
    ground_port,
)
from external_programs import need_ardurover

from pico_gz.bridge.published import FleetView
from pico_gz.cli.tools.bench.echo_peer import RECORD
from pico_gz.core.ports import PortRules
from pico_gz.core.rover_spec import PRESETS
from pico_gz.testing.conformance import Outcome
from pico_gz.testing.conformance_autopilot import check_external_autopilot
from pico_gz.vehicle.autopilot.parameters import scan_parameter_file
from pico_gz.vehicle.autopilot.rover_autopilot import RoverAutopilot
from pico_gz.vehicle.external.program import (
    PARAMETER_FILE,
    ArduRoverStart,
    AutopilotProcess,
    parameter_file,
)

log = logging.getLogger(__name__)

pytestmark = [
    pytest.mark.ardupilot,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("ardurover_release"),
]

WP_RADIUS_M = {"ardupilot_skid": 2.0, "ardupilot_car": 3.0}
WARM_UP_STEPS, ROUND_S, ROUNDS = 1000, 0.04, 100
KIT_SHARE = 0.30
# A run of ``--speed 10`` must be possible: so fast is the fastest stretch of a mission at least.
MISSION_FACTOR = 10.0
STRETCH_US = 100_000
# ArduRover has about a thousand parameters; the built-in autopilot has 230, most of them from it.
LEAST_PARAMETERS, LEAST_SHARED = 800, 150
MakeRig = Callable[..., ArduRoverRig]


@pytest.fixture
def make_rig(tmp_path: Path) -> Iterator[MakeRig]:
    rigs: list[ArduRoverRig] = []

    def make(preset: str, **settings: object) -> ArduRoverRig:
        rigs.append(ArduRoverRig(tmp_path, preset, **settings))  # type: ignore[arg-type]
        return rigs[-1]

    yield make
    for rig in rigs:
        rig.close()


def square(side_m: float, east_m: float = 0.0) -> list[tuple[float, float]]:
    return [(side_m, east_m), (side_m, east_m + side_m), (0.0, east_m + side_m), (0.0, east_m)]


def drive_mission(rig: ArduRoverRig, side_m: float) -> None:
    """Boot, EKF, AUTO round a square, RTL: every waypoint judged on truth."""
    radius_m = WP_RADIUS_M[rig.spec.preset]
    rig.start_autopilots()
    rig.wait_for_ekf()
    missions = {i: square(side_m, 30.0 * n) for n, i in enumerate(rig.ids)}
    rig.fly_mission(missions)
    rig.run_until(
        lambda: all(4 in ground.reached for ground in rig.grounds.values()), 400.0, "mission"
    )
    for i, waypoints in missions.items():
        for waypoint in waypoints:
            assert rig.nearest_m(i, waypoint) <= radius_m, f"vehicle {i}, {waypoint}"
    rig.return_home()
    # Home is the place where each was armed, not the origin of the fleet.
    homes = {i: (0.0, 30.0 * n) for n, i in enumerate(rig.ids)}
    rig.run_until(
        lambda: all(math.dist(rig.position(i), homes[i]) <= radius_m for i in rig.ids),
        200.0,
        "RTL",
    )
    assert all(stats.missed == 0 for stats in rig.server.stats().values())


class SpeedWatch:
    """Simulated over wall time of a run, stretch by stretch, while a condition holds.

    Attributes:
        best: of the fastest stretch; the others were disturbed by what else runs here.
        stretches: how many were measured.
    """

    def __init__(self, counts: Callable[[], bool]) -> None:
        self._counts = counts
        self._began: tuple[int, float] | None = None
        self._wall_s = 0.0
        self.best = 0.0
        self.stretches = 0

    @property
    def mean(self) -> float:
        return self.stretches * STRETCH_US / 1e6 / self._wall_s

    def __call__(self, view: FleetView) -> None:
        now = view.time_us, time.monotonic()
        if self._began is None or not self._counts():
            self._began = now
            return
        if now[0] - self._began[0] >= STRETCH_US:
            lasted_s = now[1] - self._began[1]
            self.best = max(self.best, (now[0] - self._began[0]) / 1e6 / lasted_s)
            self._wall_s += lasted_s
            self.stretches += 1
            self._began = now


@pytest.mark.alone
@pytest.mark.parametrize(("preset", "side_m"), [("ardupilot_skid", 20.0), ("ardupilot_car", 40.0)])
def test_mission_and_rtl(preset: str, side_m: float, make_rig: MakeRig) -> None:
    rig = make_rig(preset)
    ground = rig.grounds[FIRST_ID]
    watch = SpeedWatch(lambda: ground.armed and ground.mode == MODES["AUTO"])
    rig.bridge.after_step.add(watch)
    drive_mission(rig, side_m)
    assert ground.ekf_flags & 19 == 19
    log.info("real-time factor on the mission: %.1f, mean %.1f", watch.best, watch.mean)
    assert watch.stretches >= 10
    assert watch.best >= MISSION_FACTOR


def test_the_built_in_autopilot_reads_its_whole_parameter_list(
    make_rig: MakeRig, tmp_path: Path
) -> None:
    rig = make_rig("ardupilot_skid")
    rig.start_autopilots()
    ground = rig.grounds[FIRST_ID]
    rig.run_until(lambda: ground.heartbeats > 0, 60.0, "no heartbeat")
    ground.link.mav.param_request_list_send(FIRST_ID, 1)
    rig.run_until(
        lambda: len(ground.parameters) >= (ground.parameter_count or LEAST_PARAMETERS),
        240.0,
        "parameters",
    )
    path = tmp_path / "all.parm"
    lines = (f"{name} {value!r}" for name, value in ground.parameters.items())
    path.write_text("\n".join(lines))
    found = scan_parameter_file(path)
    assert found.problems == ()
    assert len(found.values) > LEAST_SHARED
    RoverAutopilot(found.values)
    log.info("taken: %d, not taken: %s", len(found.values), found.out_of_range)


def test_three_at_once(make_rig: MakeRig) -> None:
    drive_mission(make_rig("ardupilot_skid", count=3), 15.0)


def test_the_autopilot_restarts_in_the_middle(make_rig: MakeRig) -> None:
    rig = make_rig("ardupilot_skid")
    rig.start_autopilots()
    rig.wait_for_ekf()
    rig.fly_mission({FIRST_ID: square(20.0)})
    rig.run_until(lambda: 1 in rig.grounds[FIRST_ID].reached, 120.0, "first waypoint")
    rig.autopilots[FIRST_ID].stop()
    before_us = rig.bridge.view.time_us
    rig.start_autopilot(FIRST_ID)
    deadline_s = time.monotonic() + 30.0
    while not rig.server.stats()[FIRST_ID].restarts and time.monotonic() < deadline_s:
        rig.server.service()
        time.sleep(0.01)
    assert rig.server.stats()[FIRST_ID].restarts == 1
    rig.grounds[FIRST_ID].ekf_flags = 0
    rig.wait_for_ekf()
    assert rig.bridge.view.time_us > before_us
    rig.fly_mission({FIRST_ID: [rig.position(FIRST_ID), (5.0, 5.0)]})
    rig.grounds[FIRST_ID].reached.clear()
    rig.run_until(lambda: 2 in rig.grounds[FIRST_ID].reached, 200.0, "mission after a restart")


def test_the_kit_restarts_in_the_middle(make_rig: MakeRig) -> None:
    rig = make_rig("ardupilot_skid")
    rig.start_autopilots()
    rig.wait_for_ekf()
    rig.stop_kit()
    time.sleep(0.3)
    rig.start_kit()
    rig.wait_for_connections()
    rig.grounds[FIRST_ID].ekf_flags = 0
    rig.wait_for_ekf()
    assert rig.autopilots[FIRST_ID].is_running()


def test_conformance_of_the_real_autopilot(tmp_path: Path) -> None:
    vehicle_id = FIRST_ID + 5
    port = PortRules().fdm_port(vehicle_id)
    with make_ardurover(vehicle_id, tmp_path):
        results = check_external_autopilot(port, steps=300)
    assert [r for r in results if r.outcome is Outcome.FAIL] == []
    assert len(results) == 5


def make_ardurover(vehicle_id: int, folder: Path, speedup: float = 1000.0) -> AutopilotProcess:
    start = ArduRoverStart(
        vehicle_id=vehicle_id,
        fdm_port=PortRules().fdm_port(vehicle_id),
        home=HOME,
        gcs_port=ground_port(vehicle_id),
        speedup=speedup,
        program=need_ardurover(),
    )
    (folder / PARAMETER_FILE).write_text(parameter_file(PRESETS["ardupilot_skid"]))
    return AutopilotProcess(start.command(), folder)


@pytest.mark.alone
def test_real_time_factor_beside_a_minimal_echo_server(make_rig: MakeRig, tmp_path: Path) -> None:
    """The same ArduRover on the least possible server and on the kit's physics, in turns."""
    vehicle_id = FIRST_ID + 6
    folder = tmp_path / "echo"
    folder.mkdir()
    rig = make_rig("ardupilot_skid", speedup=1000.0)
    rig.grounds[FIRST_ID].close()
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server,
        make_ardurover(vehicle_id, folder),
        ground_sink(vehicle_id) as echo_sink,
        ground_sink(FIRST_ID) as kit_sink,
    ):
        server.bind(("127.0.0.1", PortRules().fdm_port(vehicle_id)))
        server.settimeout(10.0)
        rig.start_autopilots()
        echo_factor, kit_factor = best_factors(
            echo_steps(server, echo_sink), kit_steps(rig, kit_sink)
        )
    log.info("real-time factor: echo %.1f, kit %.1f", echo_factor, kit_factor)
    # The goal is 80 % on a quiet machine.
    assert kit_factor >= KIT_SHARE * echo_factor


def ground_sink(vehicle_id: int) -> socket.socket:
    """A ground station that reads and forgets."""
    sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.bind(("127.0.0.1", ground_port(vehicle_id)))
    sink.setblocking(False)
    return sink


def drain(sink: socket.socket) -> None:
    with contextlib.suppress(BlockingIOError):
        while True:
            sink.recv(2048)


def best_factors(*steppers: Iterator[None]) -> list[float]:
    """Simulated over wall time of each in its fastest round; the others were disturbed.

    Rounds are equally long for all: a longer one would be disturbed more often.
    """
    best = [0.0] * len(steppers)
    for stepping in steppers:
        take(stepping, WARM_UP_STEPS)
    for _ in range(ROUNDS):
        for index, stepping in enumerate(steppers):
            steps = 0
            started_s = time.monotonic()
            while (lasted_s := time.monotonic() - started_s) < ROUND_S:
                take(stepping, 10)
                steps += 10
            best[index] = max(best[index], steps * STEP_US / 1e6 / lasted_s)
    return best


def take(stepping: Iterator[None], steps: int) -> None:
    for _ in itertools.islice(stepping, steps):
        pass


def echo_steps(server: socket.socket, sink: socket.socket) -> Iterator[None]:
    """Answer every packet with the next record."""
    for step in itertools.count(1):
        _, peer = server.recvfrom(100)
        server.sendto(RECORD % (step * STEP_US / 1e6), peer)
        if step % 10 == 0:
            drain(sink)
        yield


def kit_steps(rig: ArduRoverRig, sink: socket.socket) -> Iterator[None]:
    """Step the whole kit, several steps at a time as a run does."""
    while True:
        rig.bridge.step(10)
        drain(sink)
        yield from (None for _ in range(10))
