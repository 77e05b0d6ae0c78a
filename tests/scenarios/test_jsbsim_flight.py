"""Aircraft of JSBSim in whole runs: a circuit beside rovers, the wire, real ArduPlane."""

import json
import math
import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from pico_gz import SitlBridge, VehicleConfig
from pico_gz.adapters.registry import describe_adapters
from pico_gz.core.frames import euler_from_quat
from pico_gz.core.units import pwm_from_normalized
from pico_gz.core.vehicle_config import AircraftChannels
from pico_gz.run.config import default_fleet, load_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.run.recording.recorded_run import RecordedRun
from pico_gz.run.rerun import rerun
from pico_gz.testing import PortLeases
from pico_gz.vehicle.circuit import CircuitPilot
from pico_gz.vehicle.external.program import AutopilotProcess
from pico_gz.view.live import LiveSource
from pico_gz.view.welcome import STATES
from pico_gz.wire.servo import encode_servo

pytestmark = [pytest.mark.jsbsim, pytest.mark.timeout(240)]
pytest.importorskip("jsbsim", reason="the extra jsbsim is not installed")

PAGE = (Path(__file__).parents[2] / "docs/jsbsim.md").read_text()
MUJOCO = '\n[[vehicle]]\nid = 3\nadapter = "mujoco"\nautopilot = "script:square:4"\neast_m = 30.0\n'
AIRCRAFT = 4


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """The run of the documentation, with a rover on MuJoCo where there is one: one clock."""
    folder = tmp_path_factory.mktemp("mixed")
    text = re.search(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)[1]
    usable = [info.name for info in describe_adapters() if info.usable]
    (folder / "mixed.toml").write_text(text + (MUJOCO if "mujoco" in usable else ""))
    fleet = load_fleet(folder / "mixed.toml", FleetOverrides(speed="max"), environ={})
    shown = []

    def show(handle):
        source = LiveSource(handle)
        source.set_watchers(1, (AIRCRAFT,))

        def look(view):
            if view.step % 2500 == 0:
                source.refresh(view.time_us / 1e6)
                shown.append((view, source.frame))

        handle.bridge.after_step.add(look)
        return SimpleNamespace(close=source.close, line="")

    options = RunOptions(
        until_done=True, record_dir=folder, dashboard=show, mavlink=False, control=False,
        check_ports=False,
    )  # fmt: skip
    with FleetRun(fleet, options) as session:
        result = session.run()
    return SimpleNamespace(result=result, shown=shown, fleet=fleet)


@pytest.fixture(scope="module")
def flight(mixed):
    """(time [s], along, aside, height [m], truth) in the runway's frame, ten times a second."""
    found = []
    with RecordedRun(mixed.result.recording) as run:
        for view in run.steps():
            truth = view.truth[AIRCRAFT]
            north, east = truth.north_m, truth.east_m - 40.0
            cosine, sine = math.cos(math.radians(30.0)), math.sin(math.radians(30.0))
            along, aside = cosine * north + sine * east, sine * north - cosine * east
            found.append((view.time_us / 1e6, along, aside, -truth.down_m, truth))
    return found[::10]


def test_all_are_done_in_one_run(mixed):
    assert not mixed.result.problems
    assert {1, 2, AIRCRAFT} <= set(map(int, mixed.result.final))
    assert all(vehicle.done for vehicle in mixed.result.final.values())
    assert mixed.result.lost_steps == 0


def test_the_circuit_is_flown_and_ends_on_the_runway(flight):
    highest_m = max(height for *_, height, _ in flight)
    assert highest_m == pytest.approx(150.0, abs=10.0)
    downwind = [row for row in flight if row[2] > 900.0 and -1500.0 < row[1] < 500.0]
    assert len(downwind) > 300
    assert max(abs(aside - 1000.0) for _, _, aside, _, _ in downwind) < 60.0
    assert all(abs(height - 150.0) < 8.0 for *_, height, _ in downwind)
    final = [row for row in flight if row[0] > 180.0 and -1000.0 < row[1] < 0.0]
    assert max(abs(aside) for _, _, aside, _, _ in final) < 30.0
    _, along, aside, height, truth = flight[-1]
    assert 200.0 < along < 1000.0
    assert abs(aside) < 30.0
    assert height < 2.0
    assert math.hypot(*truth.velocity_ned_mps) < 1.0
    sink = [row[4].velocity_ned_mps[2] for row in flight if 1.3 < row[3] < 2.0 and row[0] > 200.0]
    assert max(sink) < 1.5


def test_the_view_shows_an_aircraft_as_high_and_fast_as_it_is(mixed):
    moving = [(view, frame) for view, frame in mixed.shown if -view.truth[AIRCRAFT].down_m > 100.0]
    assert len(moving) >= 3
    for view, frame in moving:
        truth, rows = view.truth[AIRCRAFT], (len(frame) - 16) // 20
        assert frame[1] == STATES.index("running")
        place = 16 + 20 * (rows - 1)
        speed, height = (
            int.from_bytes(frame[place + at : place + at + 4], "little", signed=True)
            for at in (12, 16)
        )
        assert height == pytest.approx(-truth.down_m * 100.0, abs=1.0)
        assert speed / 1000.0 == pytest.approx(math.hypot(*truth.velocity_ned_mps), abs=3.0)


def test_a_recording_flies_again_to_the_same_bits(tmp_path):
    fleet = default_fleet(2, FleetOverrides(adapter="jsbsim", speed="max"), environ={})
    options = RunOptions(
        duration_s=8.0, record_dir=tmp_path, mavlink=False, control=False, check_ports=False
    )
    with FleetRun(fleet, options) as session:
        recording = session.run().recording
    with RecordedRun(recording) as run:
        assert rerun(run).same


def test_a_snapshot_of_a_flight_continues_to_the_same_bits():
    from pico_gz.adapters.jsbsim.adapter import JsbsimAdapter

    bridge = SitlBridge()
    bridge.register_adapter(JsbsimAdapter(seed=5))
    config = VehicleConfig(id=1, aircraft_channels=AircraftChannels())
    bridge.spawn_vehicle(config, CircuitPilot("circuit:150,-1000"))
    bridge.run(40_000_000)
    assert -bridge.view.truth[1].down_m > 30.0
    saved = bridge.snapshot()
    bridge.run(10_000_000)
    expected = bridge.view
    bridge.restore(saved)
    bridge.run(10_000_000)
    assert bridge.view.truth == expected.truth
    assert bridge.view.sensors == expected.sensors
    bridge.close()


def test_the_command_prints_one_json_object(tmp_path):
    arguments = ["--adapter", "jsbsim", "--duration", "1", "--speed", "max", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "pico_gz", "run", *arguments, "--port-offset", "auto"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["adapter"] == "jsbsim"


@pytest.fixture
def external(tmp_path):
    """An open run with one external aircraft, on ports of its own."""
    fleet = default_fleet(
        1, FleetOverrides(adapter="jsbsim", autopilot="external", speed="max"), environ={}
    )
    leases = PortLeases()
    offset = leases.offset_for(lambda offset: fleet.with_port_offset(offset).port_plan())
    options = RunOptions(run_folder=tmp_path, control=False)
    with FleetRun(fleet.with_port_offset(offset), options) as session:
        yield session
    leases.release()


def take_off(record):
    """Pulses of servo 1 to 16 that keep the wings level, the heading north and the nose up."""
    roll, pitch, yaw = euler_from_quat(tuple(record["quaternion"]))
    p, q, r = record["imu"]["gyro"]
    rises = record["airspeed"] > 30.0
    wanted = (
        -1.5 * roll - 0.4 * p,
        2.5 * (math.radians(7.0 if rises else 0.0) - pitch) - 0.8 * q,
        -10.0 * yaw - 3.0 * r if not rises else -0.5 * r,
    )
    aileron, elevator, rudder = map(pwm_from_normalized, wanted)
    return aileron, elevator, 2000, rudder, *(0,) * 12


def test_an_external_autopilot_flies_over_the_wire(external, tmp_path):
    """Straight ahead and up, by the records alone."""
    assert any("arduplane --model JSON" in line for line in external.connection_lines())
    parameters = (tmp_path / "aircraft_1/rover.parm").read_text()
    assert "SERVO2_FUNCTION 19\n" in parameters
    pulses = (1500, 1500, 1000, 1500, *(0,) * 12)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as autopilot:
        autopilot.settimeout(5.0)
        address = ("127.0.0.1", external.ports.vehicle(1).server)
        for frame in range(4500):
            autopilot.sendto(encode_servo(100, frame, pulses), address)
            external.bridge.step()
            if frame > 3:
                record = json.loads(autopilot.recv(3000))
                pulses = take_off(record)
    truth = external.bridge.view.truth[1]
    assert -truth.down_m > 30.0
    assert record["position"][2] == pytest.approx(truth.down_m, abs=1.0)
    assert record["airspeed"] == pytest.approx(math.hypot(*truth.velocity_ned_mps), rel=0.1)


@pytest.mark.ardupilot
def test_arduplane_connects_and_gets_its_airspeed(external, tmp_path):
    program = os.environ.get("PICO_GZ_ARDUPLANE", "")
    if not Path(program).is_file():
        pytest.skip("PICO_GZ_ARDUPLANE names no ArduPlane SITL program")
    line = next(text for text in external.connection_lines() if "arduplane" in text)
    words = shlex.split(line)
    command = words[words.index("arduplane") + 1 :]
    connected = []
    external.bridge.events.listen(lambda event: connected.append(event.kind))
    with AutopilotProcess([program, *command], tmp_path / "aircraft_1"):
        external.bridge.run(20_000_000)
    assert "connected" in connected
    assert external.bridge.view.time_us >= 20_000_000
