"""``--until-done`` is pass or fail, with the reason per rover; raised exceptions fail any run."""

import json
import logging
from pathlib import Path

import pytest

from pico_gz.cli.app import main
from pico_gz.core.ground_control import MissionType
from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.missions import example_missions, mission_time_s
from pico_gz.run.options import RunOptions
from pico_gz.vehicle.autopilot.rover_autopilot import RoverAutopilot

LAT_DEG, LON_DEG = 35.681236, 139.767125


def waypoint(north_m: float, east_m: float, command: int = 16, **params: float) -> dict:
    place = [LAT_DEG + north_m / 110949.0, LON_DEG + east_m / 90506.0, 0]
    numbers = [params.get(f"p{number}", 0) for number in (1, 2, 3, 4)]
    return {"type": "SimpleItem", "command": command, "frame": 3, "params": [*numbers, *place]}


def write_plan(*items: dict, home: bool = True) -> str:
    mission = {"items": list(items)}
    if home:
        mission["plannedHomePosition"] = [LAT_DEG, LON_DEG, 40.0]
    Path("own.plan").write_text(json.dumps({"fileType": "Plan", "mission": mission}))
    return "own.plan"


SQUARE = [waypoint(*place) for place in ((6, 0), (6, 6), (0, 6), (0, 0))]


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    kit_log = logging.getLogger("pico_gz")
    handlers = list(kit_log.handlers)
    yield
    kit_log.handlers[:] = handlers


@pytest.fixture
def run(capsys):
    """Runs a command line in this process: exit code, stdout, stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        words = ["run", "--speed", "max", "--port-offset", "auto", "--adapter", "lightweight"]
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in (*words, *arguments)])
        return int(end.value.code or 0), *capsys.readouterr()

    return call


def reasons(out: str) -> dict[str, str]:
    return {problem["name"]: problem["reason"] for problem in json.loads(out)["problems"]}


@pytest.mark.parametrize("home", [True, False])
def test_rovers_that_share_a_mission_drive_it_each_from_its_start(run, home):
    plan = write_plan(*SQUARE, home=home)
    code, out, _ = run("--rovers", 3, "--mission", plan, "--until-done", "--json")
    result = json.loads(out)
    assert (code, result["problems"]) == (0, [])
    assert all(rover["done"] for rover in result["final"].values())
    ends = {i: round(rover["east_m"] / 3.0) for i, rover in result["final"].items()}
    assert ends == {"1": 0, "2": 1, "3": 2}


def test_absolute_places_stay_and_rovers_in_each_others_way_part(run):
    plan = write_plan(*SQUARE)
    words = ("--rovers", 3, "--mission", plan, "--mission-frame", "absolute")
    code, out, _ = run(*words, "--until-done", "--duration", 120, "--json")
    result = json.loads(out)
    assert all(rover["done"] for rover in result["final"].values())
    assert (code, reasons(out)) == (0, {})
    assert result["events"]["contact"] >= 1
    ends = [(rover["north_m"], rover["east_m"]) for rover in result["final"].values()]
    assert all(east_m < 7.5 for _, east_m in ends), ends


def test_a_wall_in_the_way_is_a_failure_with_its_name(run):
    Path("fleet.toml").write_text(
        '[fleet]\ncount = 1\n[[obstacle]]\nkind = "wall"\nnorth_m = 3.0\neast_m = -20.0\n'
        "north2_m = 3.0\neast2_m = 20.0\n"
    )
    plan = write_plan(*SQUARE)
    code, out, _ = run("fleet.toml", "--mission", plan, "--until-done")
    assert code == 1
    assert "Failed: 1 problem" in out
    assert "rover_1: it is stuck at north 2." in out
    assert "on the way to waypoint 1: rover_1 touches wall_1." in out


def test_the_limit_is_three_times_the_mission_and_a_minute_and_it_is_printed(run):
    # 30 m north: at 0.7 m/s 43 s, and 10 s there.
    plan = write_plan(waypoint(30, 0, p1=10.0))
    with FleetRun(
        default_fleet(1, FleetOverrides(mission=Path(plan), adapter="lightweight")),
        RunOptions(until_done=True, mavlink=False, control=False, check_ports=False),
    ) as session:
        cruise_mps = session.bridge.get_vehicle(1).autopilot.params.by_name("CRUISE_SPEED").value
        expected_s = 3.0 * (30.0 / cruise_mps + 10.0) + 60.0
        assert session.limit_s == pytest.approx(expected_s, rel=0.01)
    code, out, _ = run("--rovers", 1, "--mission", plan, "--until-done")
    assert code == 0
    assert f"not done within {expected_s:.0f} s of simulation time (three times" in out


@pytest.mark.parametrize("option", ["--duration", "--timeout"])
def test_an_end_before_all_are_done_is_a_failure(run, option):
    code, out, _ = run("--rovers", 2, "--mission", "square", "--until-done", option, 15, "--json")
    assert code == 1
    assert json.loads(out)["sim_time_s"] == 15.0
    assert "not done within 15 s on the way to waypoint" in reasons(out)["rover_1"]
    assert set(reasons(out)) == {"rover_1", "rover_2"}


def test_a_run_that_was_stopped_says_so_and_not_that_time_was_over():
    with session_of(until_done=True, demo=True) as session:
        result = session.run(until=lambda view: view.time_us >= 5_000_000)
    (problem,) = result.problems
    assert problem.reason.startswith("the run was stopped after 5 s")


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ((), "holds nothing to drive to"),
        ((waypoint(3, 0, 3999),), "3999"),
        ((waypoint(300_000, 0),), "item 1 lies"),
    ],
    ids=["empty", "unknown command", "far away"],
)
def test_a_mission_that_cannot_be_completed_is_a_failure_before_the_start(run, items, words):
    plan = write_plan(*items)
    code, out, err = run("--rovers", 1, "--mission", plan, "--until-done")
    assert (code, out) == (1, "")
    assert "own.plan" in err
    assert words in err
    code, out, _ = run("--rovers", 1, "--mission", plan, "--until-done", "--json")
    assert (code, json.loads(out)["error"]["code"]) == (1, 1)
    assert run("--rovers", 1, "--mission", plan, "--duration", 1)[0] == 2, "bad input otherwise"


def test_a_file_that_is_no_mission_is_bad_input(run):
    Path("own.plan").write_text("{")
    assert run("--rovers", 1, "--mission", "own.plan", "--until-done")[0] == 2
    assert run("--rovers", 1, "--mission", "none.plan", "--until-done")[0] == 2


def test_a_refused_mission_beside_another_mistake_is_bad_input(run):
    Path("fleet.toml").write_text("[fleet]\ncount = 1\n[wind]\ntau_s = -1\n")
    code, _, err = run("fleet.toml", "--mission", write_plan(), "--until-done")
    assert code == 2
    assert "tau_s" in err


def test_a_mission_without_an_end_is_a_failure_at_once(run):
    plan = write_plan(waypoint(3, 0), waypoint(3, 3, 17))
    code, out, _ = run("--rovers", 1, "--mission", plan, "--until-done", "--json")
    assert (code, reasons(out)) == (1, {"rover_1": "what it is to do has no end"})


def test_a_rover_without_a_mission_is_a_failure_at_once(run):
    Path("fleet.toml").write_text("[fleet]\ncount = 1\n")
    code, out, _ = run("fleet.toml", "--until-done", "--json")
    assert (code, reasons(out)) == (1, {"rover_1": "it has no mission"})


def test_steps_in_which_the_autopilot_would_stall_are_refused(run):
    Path("fleet.toml").write_text("[fleet]\ncount = 1\n[time]\nstep_us = 1000000\n")
    code, _, err = run("fleet.toml", "--mission", write_plan(*SQUARE), "--until-done")
    assert code == 2
    assert "line 4" in err
    assert "step_us" in err


def test_a_mission_that_never_starts_says_why(run):
    Path("fleet.toml").write_text('[fleet]\ncount = 1\n[[vehicle]]\nid = 1\nparams = "own.parm"\n')
    Path("own.parm").write_text("RC1_MIN 1500\nRC1_MAX 1501\nSIM_GPS_DISABLE 1\n")
    code, out, _ = run(
        "fleet.toml", "--mission", write_plan(*SQUARE), "--until-done", "--timeout", 30, "--json"
    )
    assert code == 1
    assert reasons(out)["rover_1"].startswith("its mission did not start within 30 s: ")


@pytest.mark.parametrize("words", [("--autopilot", "none"), ("--autopilot", "external")])
def test_what_can_never_be_done_is_refused(run, words):
    code, _, err = run("--rovers", 1, *words, "--until-done")
    assert code == 2
    assert "--until-done" in err


def test_a_timeout_without_until_done_is_refused(run):
    code, _, err = run("--rovers", 1, "--duration", 1, "--timeout", 5)
    assert code == 2
    assert "--timeout belongs to --until-done" in err


def test_a_run_whose_autopilot_raised_ends_with_1(run, monkeypatch):
    calls = 0
    tick = RoverAutopilot.tick

    def raise_once(self, now_us: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise ZeroDivisionError("once")
        tick(self, now_us)

    monkeypatch.setattr(RoverAutopilot, "tick", raise_once)
    code, out, _ = run("--rovers", 1, "--duration", 1, "--json")
    assert code == 1
    assert "ZeroDivisionError raised in the autopilot of rover_1: once" in reasons(out)["rover_1"]


def session_of(**options) -> FleetRun:
    fleet = default_fleet(1, FleetOverrides(adapter="lightweight"))
    return FleetRun(fleet, RunOptions(mavlink=False, control=False, check_ports=False, **options))


def test_a_run_whose_observer_raised_has_failed():
    def observe(view) -> None:
        raise OSError("no room")

    with session_of(duration_s=0.1) as session:
        session.bridge.after_step.add(observe)
        problems = session.run().problems
    assert [problem.name for problem in problems] == ["the run"]
    assert "An observer after a step raised OSError: no room (3 times)" in problems[0].reason


def test_what_raised_after_a_snapshot_is_forgotten_when_it_is_restored():
    with session_of(duration_s=0.1) as session:
        saved = session.bridge.snapshot()
        session.bridge.after_step.add(lambda view: 1 // 0)
        assert session.run().problems
        session.bridge.restore(saved)
        assert session.result().problems == []


def test_a_rover_that_left_the_world_has_failed():
    with session_of(duration_s=0.1) as session:
        session.bridge.set_pose(1, 250_000.0, 0.0, 0.0)
        (problem,) = session.run().problems
    assert problem.reason.startswith("it left the world: north 2.5e+05 m")


def test_a_script_that_gave_up_has_failed(monkeypatch):
    monkeypatch.setattr("pico_gz.vehicle.scripted.DRIVE_LIMIT_S", -100.0)
    fleet = default_fleet(1, FleetOverrides(adapter="lightweight", autopilot="script:line:2"))
    options = RunOptions(until_done=True, mavlink=False, control=False, check_ports=False)
    with FleetRun(fleet, options) as session:
        (problem,) = session.run().problems
    assert problem.reason.startswith("it gave up: move 2 of 2")


@pytest.mark.parametrize("name", sorted(example_missions()))
def test_the_example_missions_can_be_driven_anywhere(run, name):
    Path("fleet.toml").write_text(
        "[fleet]\ncount = 2\n[origin]\nlat_deg = 47.4\nlon_deg = -8.5\n[layout]\nspacing_m = 15.0\n"
    )
    code, out, _ = run("fleet.toml", "--mission", name, "--until-done", "--json")
    assert (code, reasons(out)) == (0, {})


def test_the_time_of_jumps_and_turns_counts():
    items = {"jump": 5, "turns": 3}
    plans = {
        "plain": [waypoint(10, 0), waypoint(0, 0)],
        "jump": [waypoint(10, 0), waypoint(0, 0), waypoint(0, 0, 177, p1=1, p2=4)],
        "turns": [waypoint(10, 0), waypoint(0, 0), waypoint(0, 0, 18, p1=3, p3=2.0)],
    }
    times_s = {}
    for name, plan in plans.items():
        fleet = default_fleet(
            1, FleetOverrides(adapter="lightweight", mission=Path(write_plan(*plan)))
        )
        options = RunOptions(mavlink=False, control=False, check_ports=False)
        with FleetRun(fleet, options) as session:
            pilot = session.bridge.get_vehicle(1).autopilot
            assert len(pilot.missions.items(MissionType.MISSION)) == len(plan) + 1
            times_s[name] = mission_time_s(pilot, session.frame, fleet.vehicles[0].config.pose)
    assert times_s["jump"] == pytest.approx(items["jump"] * times_s["plain"], rel=0.01)
    lap_m = 2.0 * 3.14159 * 2.0
    assert times_s["turns"] == pytest.approx(times_s["plain"] * (1 + 3 * lap_m / 20.0), rel=0.01)
