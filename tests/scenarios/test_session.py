"""A whole run in this process: determinism, observers, snapshots, nothing left behind."""

import gc
import json
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest

from pico_gz import LightweightAdapter, Pose, SitlBridge, VehicleConfig
from pico_gz.bridge.observers import TraceDigest
from pico_gz.errors import ConfigError
from pico_gz.run.config import default_fleet, load_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.simulator.world import World
from pico_gz.testing import PortLeases
from pico_gz.vehicle.scripted import make_script

ROOT = Path(__file__).parents[2]
# Other workers run sessions at the same moment: what merely is free now may be taken at once.
LEASES = PortLeases()


@pytest.fixture(autouse=True)
def give_ports_back():
    yield
    LEASES.release()


def make_fleet(rovers: int = 2, **overrides):
    fleet = default_fleet(
        overrides=FleetOverrides(rovers=rovers, adapter="lightweight", speed="max", **overrides)
    )
    offset = LEASES.offset_for(lambda offset: fleet.with_port_offset(offset).port_plan())
    return fleet.with_port_offset(offset)


def make_session(rovers: int = 2, **options) -> FleetRun:
    return FleetRun(make_fleet(rovers), RunOptions(demo=True, control=False, **options))


def run_digest(**options) -> str:
    with make_session(**options) as session:
        return session.run().trace_sha256


def test_observers_change_no_byte(tmp_path):
    """D3: MAVLink, a recording and a control socket leave the run as it is."""
    alone = run_digest(duration_s=5.0, mavlink=False)
    assert run_digest(duration_s=5.0, mavlink=True) == alone
    assert run_digest(duration_s=5.0, mavlink=True, record_dir=tmp_path) == alone


def test_the_demo_square_is_driven_and_done():
    with make_session(until_done=True, mavlink=False) as session:
        result = session.run(until=lambda view: view.time_us > 150_000_000)
    for vehicle_id, vehicle in result.final.items():
        start_east_m = 3.0 * (int(vehicle_id) - 1)
        assert vehicle.done, vehicle.last_message
        assert abs(vehicle.north_m) < 2.5
        assert abs(vehicle.east_m - start_east_m) < 2.5


def test_a_vehicle_that_is_gone_or_that_nobody_drives_does_not_keep_the_others_from_being_done():
    fleet = make_fleet(3, autopilot="script:line:0.5")
    options = RunOptions(until_done=True, control=False, duration_s=60.0)
    with FleetRun(fleet, options) as session:
        session.bridge.get_vehicle(2).autopilot = None
        session.bridge.after_step.add(
            lambda view: session.bridge.despawn_vehicle(3) if view.step == 5 else None
        )
        result = session.run()
    assert result.final["1"].done
    assert result.sim_time_s < 30.0


CONTINUE = """
import sys
from pathlib import Path
sys.path.insert(0, {here!r})
from test_session import make_session, state_bytes
with make_session(duration_s=4.0, mavlink=False) as session:
    session.bridge.restore(Path({snapshot!r}).read_bytes())
    session.run()
    sys.stdout.buffer.write(state_bytes(session))
"""


def state_bytes(session: FleetRun) -> bytes:
    view = session.bridge.view
    return msgspec.msgpack.encode(
        [view.time_us, list(view.truth.values()), list(view.sensors.values()),
         list(view.commands.values())]
    )  # fmt: skip


def test_a_snapshot_goes_on_in_another_process(tmp_path):
    """D7: 4 s + save + load in a new process + 4 s is the same as 8 s."""
    with make_session(duration_s=8.0, mavlink=False) as session:
        session.run()
        whole = state_bytes(session)
    with make_session(duration_s=4.0, mavlink=False) as session:
        session.run()
        (tmp_path / "run.snapshot").write_bytes(session.bridge.snapshot())
    code = CONTINUE.format(here=str(Path(__file__).parent), snapshot=str(tmp_path / "run.snapshot"))
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, timeout=120, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == whole


def test_a_run_that_is_taken_back_goes_the_same_way_again(tmp_path):
    """Also what is outside the vehicles goes back: radio script, mission start."""
    script = tmp_path / "rc.txt"
    script.write_text("0.0 1500 1500 1500\n0.6 1700\n1.0 lost\n1.5 1600\n")
    options = {"duration_s": 1.0, "mavlink": False, "rc": f"script:{script}"}
    with make_session(**options) as session:
        session.bridge.run(300_000)
        saved = session.bridge.snapshot()
        ends = []
        for _ in range(2):
            session.run()
            frames = [vehicle.platform.rc_read() for vehicle in session.bridge.vehicles]
            ends.append((state_bytes(session), frames))
            session.bridge.restore(saved)
    assert ends[0] == ends[1]
    assert ends[0][1][0].timestamp_us > 900_000


def test_recorded_actuators_give_the_same_truth():
    """D8: the simulator alone, fed the commands of a run, moves the same way."""
    commands, truths = [], []
    with make_session(duration_s=4.0, mavlink=False) as session:
        session.bridge.after_step.add(lambda view: commands.append(view.commands))
        session.bridge.after_step.add(lambda view: truths.append(dict(view.truth)))
        session.run()
        fleet = session.fleet
    replayed = []
    from pico_gz.run.simulators import make_adapters

    (adapter,) = make_adapters(fleet, RunOptions())
    for plan in fleet.vehicles:
        adapter.add_vehicle(plan.config)
    with adapter:
        for step in commands:
            adapter.send_actuators(step)
            adapter.step(10_000)
            replayed.append(dict(adapter.receive_truth()))
    assert msgspec.msgpack.encode(replayed) == msgspec.msgpack.encode(truths)


def drive_with_parameter(folder, value: float | None, **overrides) -> tuple[str, list[str]]:
    """One short run of a fleet file in ``folder``; its digest, and what it says at the start."""
    (folder / "yard.toml").write_text("[fleet]\ncount = 1\nadapter = 'lightweight'\n")
    fleet = load_fleet(folder / "yard.toml", FleetOverrides(speed="max", **overrides))
    options = RunOptions(
        duration_s=20.0, demo=True, mavlink=False, control=False, check_ports=False,
        record_dir=folder / "recordings",
    )  # fmt: skip
    with FleetRun(fleet, options) as session:
        if value is not None:
            session.bridge.get_vehicle(1).autopilot.params.set("WP_SPEED", value)
        result = session.run()
        said = [*session.notes, *session.connection_lines()]
    return result.trace_sha256, said


def test_parameters_set_from_the_ground_change_no_later_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    digest, said = drive_with_parameter(tmp_path, None)
    other, _ = drive_with_parameter(tmp_path, 0.3)
    assert other != digest
    assert drive_with_parameter(tmp_path, None)[0] == digest
    assert not (tmp_path / "runs").exists()
    assert not any(".parm" in line for line in said)


def test_parameters_are_kept_for_the_next_run_where_that_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    digest, said = drive_with_parameter(tmp_path, 0.3, keep_params=True)
    file = "runs/yard/rover_1.parm"
    assert (tmp_path / file).read_text() == "WP_SPEED,0.3\n"
    assert said == [f"Parameters set by a ground station are kept in {file}"]
    again, said = drive_with_parameter(tmp_path, None, keep_params=True)
    assert f"rover_1 starts with the parameters kept in {file}" in said
    kept = [json.loads(path.read_text()) for path in (tmp_path / "recordings").glob("*/run.json")]
    assert [facts["kept_params"] for facts in kept] == [{"1": file}] * 2
    assert sum("WP_SPEED" in facts["inputs"].get("1/kept", "") for facts in kept) == 1
    assert drive_with_parameter(tmp_path, None)[0] not in (digest, again)


def test_what_of_a_kept_file_is_not_used_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plain, _ = drive_with_parameter(tmp_path, None, keep_params=True)
    file = tmp_path / "runs/yard/rover_1.parm"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("WP_SPEED,abc\nFOO,1\nWP_RADIUS,1e9\n")
    digest, said = drive_with_parameter(tmp_path, None, keep_params=True)
    assert digest == plain
    (line,) = [line for line in said if line.startswith("rover_1 starts with")]
    assert "but for: line 1: " in line
    assert "line 3: WP_RADIUS 1000000000 (" in line
    assert line.endswith(", FOO.")


def test_the_fleet_file_can_ask_for_kept_parameters(tmp_path):
    (tmp_path / "yard.toml").write_text("[mavlink]\nkeep_params = true\n")
    assert load_fleet(tmp_path / "yard.toml", environ={}).keep_params


def test_a_simulation_parameter_reaches_the_simulator():
    with make_session(1, duration_s=6.0, mavlink=False) as session:
        fixes = []
        session.bridge.after_step.add(lambda view: fixes.append(view.sensors[1].gps))
        session.bridge.run(3_000_000)
        assert any(fixes)
        session.bridge.get_vehicle(1).autopilot.params.set("SIM_GPS_DISABLE", 1)
        session.bridge.run(1_000_000)
        fixes.clear()
        session.bridge.run(2_000_000)
        assert not any(fix and fix.fix_type for fix in fixes)


def test_contacts_are_told_as_events(tmp_path):
    (tmp_path / "wall.toml").write_text(
        "[fleet]\ncount = 1\nadapter = 'lightweight'\nautopilot = 'script:line:5'\n"
        "[[obstacle]]\nkind = 'disc'\nnorth_m = 2.0\neast_m = 0.0\nradius_m = 0.5\n"
    )
    fleet = load_fleet(tmp_path / "wall.toml", FleetOverrides(speed="max"))
    options = RunOptions(duration_s=10.0, mavlink=False, control=False, check_ports=False)
    with FleetRun(fleet, options) as session:
        result = session.run()
    assert result.events["contact"] >= 1
    assert result.final["1"].north_m < 1.5


def open_files() -> int:
    LEASES.release()  # locks of the tests, not of a run
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("runs", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_nothing_is_left_after_many_runs(runs):
    """L7: no socket, thread or file stays."""
    run_digest(duration_s=0.1)
    gc.collect()
    files, threads = open_files(), threading.active_count()
    for _ in range(runs):
        run_digest(duration_s=0.1)
        LEASES.release()  # there are not enough ports for all runs
    gc.collect()
    assert open_files() == files
    assert threading.active_count() == threads


def test_a_failed_start_leaves_nothing_open(monkeypatch):
    files = open_files()

    def broken(*_args, **_kwargs):
        raise OSError("planted")

    monkeypatch.setattr("pico_gz.run.fleet_run.MissionStarter", broken)
    with pytest.raises(OSError, match="planted"), make_session(duration_s=0.1):
        pass
    gc.collect()
    assert open_files() == files


def test_a_start_that_fails_leaves_no_recording_folder(tmp_path):
    options = {"rc": f"script:{tmp_path}/nowhere", "record_dir": tmp_path / "runs"}
    with pytest.raises(ConfigError, match="nowhere"), make_session(**options):
        pass
    assert not (tmp_path / "runs").exists()


def lone_bridge() -> SitlBridge:
    bridge = SitlBridge()
    bridge.register_adapter(LightweightAdapter(seed=5, world=World(contacts=False)))
    return bridge


def vehicle(vehicle_id: int) -> VehicleConfig:
    return VehicleConfig(id=vehicle_id, pose=Pose(east_m=3.0 * vehicle_id))


@pytest.mark.parametrize("changes", [150, pytest.param(1000, marks=pytest.mark.slow)])
def test_arrivals_and_departures_disturb_nobody(changes):
    """F39: the stream of vehicle 100 is that of vehicle 100 alone."""

    def digest(disturb: bool) -> str:
        bridge, trace, draw = lone_bridge(), TraceDigest(), random.Random(1)
        bridge.spawn_vehicle(vehicle(100), make_script("square:5"))
        bridge.after_step.add(
            lambda view: trace(
                msgspec.structs.replace(
                    view, sensors={100: view.sensors[100]}, commands={100: view.commands[100]}
                )
            )
        )
        for _ in range(changes):
            if disturb:
                other = draw.randint(1, 8)
                if other in bridge.list_vehicles():
                    bridge.despawn_vehicle(other)
                else:
                    bridge.spawn_vehicle(vehicle(other))
            bridge.step()
        bridge.close()
        return trace.hexdigest()

    assert digest(disturb=True) == digest(disturb=False)


def test_the_order_of_registration_changes_no_byte():
    """D4: only ids count."""

    def digest(ids: list[int]) -> str:
        bridge, trace = lone_bridge(), TraceDigest()
        for vehicle_id in ids:
            bridge.spawn_vehicle(vehicle(vehicle_id), make_script("circle:3"))
        bridge.after_step.add(trace)
        bridge.step(200)
        bridge.close()
        return trace.hexdigest()

    ids = list(range(1, 25))
    assert digest(ids) == digest(ids[::-1])


@pytest.mark.slow
def test_memory_stays_flat(endurance):
    """L6: after warming up, a minute of a full run of 20 rovers leaves no more than 5 %."""

    def resident_kb() -> int:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1])
        raise AssertionError("no VmRSS")

    with make_session(20, mavlink=True) as session:
        session.bridge.run(10_000_000)
        gc.collect()
        before_kb, files = resident_kb(), open_files()
        session.bridge.run(round(endurance(60.0, 8 * 3600.0) * 1e6))
        gc.collect()
        assert resident_kb() <= before_kb * 1.05
        assert open_files() == files


@pytest.mark.slow
def test_a_full_fleet_runs_without_losing_a_step():
    with FleetRun(
        make_fleet(255, allow_gcs_sysid=True, layout="grid"),
        RunOptions(duration_s=3.0, demo=True, control=False),
    ) as session:
        result = session.run()
    assert (result.rovers, result.lost_steps, result.steps) == (255, 0, 300)


def frozen_in_a_run():
    """How many objects are kept from the search for cycles: before, during and after a run."""
    seen = [gc.get_freeze_count()]
    fleet = default_fleet(1, FleetOverrides(adapter="lightweight"), environ={})
    options = RunOptions(duration_s=0.01, mavlink=False, control=False, check_ports=False)
    with FleetRun(fleet, options) as session:
        session.bridge.after_step.add(lambda view: seen.append(gc.get_freeze_count()))
        session.run()
    return [*seen, gc.get_freeze_count()]


def test_what_lives_as_long_as_the_run_is_not_searched_for_cycles():
    gc.unfreeze()  # what other tests left
    before, during, after = frozen_in_a_run()
    assert (before, after) == (0, 0)
    assert during > 10_000


def test_a_program_that_freezes_objects_itself_is_left_alone():
    gc.freeze()
    try:
        before, during, after = frozen_in_a_run()
    finally:
        gc.unfreeze()
    assert 0 < after <= during <= before  # some of them are gone
