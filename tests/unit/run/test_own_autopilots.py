"""An autopilot of one's own in a fleet: found, made, refused, isolated, recorded, repeated."""

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import wall_pilot
from wall_pilot import Crawler, StopAtWall

from pico_gz import Fleet
from pico_gz.bridge.published import BridgeEvent
from pico_gz.core.ground_control import Mode, Result
from pico_gz.errors import AutopilotError, ConfigError, SimulationTimeoutError
from pico_gz.run.config import load_fleet
from pico_gz.run.config.problems import FleetFileError
from pico_gz.run.options import RunOptions
from pico_gz.run.recording.recorded_run import RecordedRun
from pico_gz.run.rerun import RerunBy, rerun
from pico_gz.testing import assert_no_contact, assert_reached
from pico_gz.vehicle import own_autopilots
from pico_gz.view.live import LiveSource

RANGES = {"rangefinders_deg": [0.0], "noise": "off"}
WALL = {"kind": "wall", "north_m": 4, "east_m": -9, "north2_m": 4, "east2_m": 9}
MODULE = Path(wall_pilot.__file__).read_text()


def written(tmp_path, text):
    path = tmp_path / "fleet.toml"
    path.write_text(text)
    return path


# --- finding and making -----------------------------------------------------------------------


@pytest.fixture
def module(tmp_path):
    """A module that only the folder of the fleet file holds; it is forgotten afterwards."""
    (tmp_path / "pilot_beside.py").write_text(MODULE)
    yield "pilot_beside"
    sys.modules.pop("pilot_beside", None)
    sys.path[:] = [entry for entry in sys.path if entry != str(tmp_path)]


def test_a_module_beside_the_fleet_file_drives_with_its_options(tmp_path, module):
    fleet = load_fleet(
        written(
            tmp_path,
            f"""
            [fleet]
            count = 2
            adapter = "lightweight"
            autopilot = "{module}:StopAtWall"
            [[vehicle]]
            id = 2
            autopilot = "careful"
            [autopilots.careful]
            type = "{module}:StopAtWall"
            distance_m = 2.0
            [rover]
            noise = "off"
            rangefinders_deg = [0.0]
            [[obstacle]]
            kind = "wall"
            north_m = 4
            east_m = -9
            north2_m = 4
            east2_m = 9
            """,
        )
    )
    assert module not in sys.modules, "nothing is imported to read a file"
    with Fleet(fleet) as run:
        run.wait_until(lambda f: all(rover.status.done for rover in f), timeout_sim_s=30)
        run.run(1.0)
        assert 2.8 < run[1].truth.north_m < 3.2
        assert 1.8 < run[2].truth.north_m < 2.2


def test_an_installed_one_goes_by_its_name(monkeypatch):
    point = EntryPoint("wall", "wall_pilot:StopAtWall", own_autopilots.ENTRY_POINT_GROUP)
    monkeypatch.setattr(own_autopilots, "entry_points", lambda group: [point])
    with Fleet(autopilot="wall", rover=RANGES) as fleet:
        fleet.run(1.0)
        assert fleet[1].mode == "WALL"
    point = EntryPoint("wall", "no_such_module:Wall", own_autopilots.ENTRY_POINT_GROUP)
    with pytest.raises(ConfigError, match="'wall' of an unknown package cannot be loaded"):
        Fleet(autopilot="wall").__enter__()


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("wall_pilot:Nothing", ConfigError, "wall_pilot has no class or function Nothing"),
        ("no_such_pilot:Wall", ConfigError, "rover_1: there is no module 'no_such_pilot'"),
        ("wall_pilot:NoAutopilot", ConfigError, "no autopilot: it has no start, tick, status"),
        ("wall_pilot:NoPeriod", ConfigError, "period_us of wall_pilot:NoPeriod is 0.02"),
        ("wall_pilot:RaisesWhenMade", AutopilotError, "RaisesWhenMade raised KeyError"),
        ("wall_pilot:RaisesAtStart", AutopilotError, "RuntimeError in start.*RaisesAtStart"),
        ("broken_pilot:X", ConfigError, "importing broken_pilot raised ZeroDivisionError"),
        ("needs_more:X", ConfigError, "needs_more needs the module not_here_at_all"),
    ],
)
def test_what_cannot_be_made_is_named(name, error, words, tmp_path, monkeypatch):
    (tmp_path / "broken_pilot.py").write_text("1 / 0")
    (tmp_path / "needs_more.py").write_text("import not_here_at_all")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(error, match=words):
        Fleet(autopilot=name).__enter__()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[fleet]\nautopilot = "wal"', "line 2: fleet.autopilot = .wal.: there is no such"),
        ('[autopilots.a]\nx = 1', "autopilots.a.*its type is missing"),
        ('[autopilots.a]\ntype = "b"', "line 2: autopilots.a.type = .b.: there is no such"),
        ('[autopilots.a]\ntype = 3', "autopilots.a.type.*expected a text"),
        ('[autopilots.builtin]\ntype = "m:C"', "name of a built-in"),
    ],
)  # fmt: skip
def test_mistakes_in_the_file_are_told_with_their_line(text, words, tmp_path):
    with pytest.raises(FleetFileError, match=words):
        load_fleet(written(tmp_path, text))


def test_options_that_the_class_does_not_take_are_named(tmp_path):
    text = '[fleet]\nautopilot = "a"\n[autopilots.a]\ntype = "wall_pilot:StopAtWall"\nspeed = 3'
    with pytest.raises(ConfigError, match=r"cannot be made with speed: .*'speed'"):
        Fleet(load_fleet(written(tmp_path, text))).__enter__()


# --- in a fleet -------------------------------------------------------------------------------


def test_one_that_raises_is_isolated_and_named(sitl):
    fleet = sitl(
        rovers=2, vehicle=[{"id": 1, "autopilot": wall_pilot.Raises}, {"id": 2}], rover=RANGES
    )
    fleet[2].arm()
    fleet.run(2.0)
    assert fleet[1].mode == "FAILED"
    assert fleet[2].armed
    (problem,) = fleet.session.result().problems
    assert (problem.vehicle_id, "boom" in problem.reason) == (1, True)


@pytest.mark.parametrize("broken", [wall_pilot.RaisesInStatus, wall_pilot.SaysNothing])
def test_a_status_that_fails_fails_the_vehicle_and_no_observer(sitl, broken):
    fleet = sitl(autopilot=broken)
    fleet.run(1.0)
    assert fleet[1].mode == "FAILED"
    (problem,) = fleet.session.result().problems
    assert problem.vehicle_id == 1
    assert not [e for e in fleet.bridge.events.recent if "observer" in e.text]


def test_the_fixture_takes_a_class_a_function_and_options(sitl):
    fleet = sitl(
        rovers=3,
        autopilot=StopAtWall,
        vehicle=[{"id": 2, "autopilot": lambda: StopAtWall(2.0)}],
        rover=RANGES,
        obstacle=[WALL],
    )
    fleet.wait_until(lambda f: all(rover.status.done for rover in f), timeout_sim_s=30)
    assert fleet[1].modes == ["WALL"]
    assert_reached(fleet[3], 3, 6, radius_m=0.5)
    assert_no_contact(fleet)
    assert fleet[2].truth.north_m < fleet[1].truth.north_m - 0.8


def test_a_snapshot_continues_bit_for_bit(sitl):
    fleet = sitl(autopilot=StopAtWall, rover={"rangefinders_deg": [0.0]}, obstacle=[WALL])
    fleet.run(2.0)
    taken = fleet.bridge.snapshot()
    fleet.run(8.0)
    expected = fleet.history.truth[1][-1]
    fleet.bridge.restore(taken)
    fleet.run(8.0)
    assert fleet.history.truth[1][-1] == expected


def test_one_without_a_state_refuses_a_snapshot_by_name(sitl):
    class Stateless:
        period_us = 20_000
        start = tick = lambda self, _: None
        status = StopAtWall.status
        blocked = False

    fleet = sitl(autopilot=Stateless)
    fleet.run(0.1)
    with pytest.raises(ConfigError, match="cannot hold a Stateless") as caught:
        fleet.bridge.snapshot()
    assert "save_state" in caught.value.hint


def test_a_recorded_class_is_imported_again_only_when_trusted(sitl, tmp_path):
    options = RunOptions(record_dir=tmp_path, mavlink=False, control=False, check_ports=False)
    with Fleet(options=options, autopilot=StopAtWall, rover=RANGES) as fleet:
        fleet.run(1.0)
        folder = fleet.recording
    with RecordedRun(folder) as run:
        assert rerun(run, RerunBy.ACTUATORS).same
        with pytest.raises(ConfigError, match=r"wall_pilot:StopAtWall.*would be imported"):
            rerun(run, RerunBy.SEED)
    with RecordedRun(folder, trust=True) as run:
        assert rerun(run, RerunBy.SEED).same


def test_files_for_one_that_takes_none_are_refused(tmp_path):
    (tmp_path / "a.parm").write_text("CRAWL_POWER 0.3\n")
    text = '[[vehicle]]\nautopilot = "wall_pilot:{}"\nparams = "a.parm"\n'
    with Fleet(load_fleet(written(tmp_path, text.format("Crawler")))) as fleet:
        assert fleet[1].pilot.params.by_name("CRAWL_POWER").value == pytest.approx(0.3)
    with pytest.raises(ConfigError, match="rover_1 has a parameter file, and its autopilot has no"):
        Fleet(load_fleet(written(tmp_path, text.format("StopAtWall")))).__enter__()
    (tmp_path / "a.parm").write_text("NO_SUCH 0.3\n")
    with pytest.raises(ConfigError, match="rover_1 has no parameter NO_SUCH"):
        Fleet(load_fleet(written(tmp_path, text.format("Crawler")))).__enter__()


# --- with a ground link -----------------------------------------------------------------------


def test_a_ground_link_is_commanded_like_the_built_in_one(sitl):
    fleet = sitl(autopilot=Crawler, rover={"noise": "off"})
    rover = fleet[1]
    assert rover.pilot.arm() is Result.FAILED
    assert rover.status.last_message == "Arm: no fix"
    rover.arm()
    rover.set_mode("MANUAL")
    fleet.run(5.0)
    slow_m = rover.truth.north_m
    assert slow_m > 0.3
    rover.set_param("CRAWL_POWER", 0.6)
    fleet.run(5.0)
    assert rover.truth.north_m - slow_m > 2.0 * slow_m
    assert rover.estimate.lat_e7 != 0
    with pytest.raises(ConfigError, match="no parameter 'CRAWL_POWE'") as caught:
        rover.set_param("CRAWL_POWE", 1)
    assert "CRAWL_POWER" in caught.value.hint
    assert rover.pilot.set_mode(Mode.AUTO) is Result.FAILED
    assert rover.pilot.missions.replace(0, []) == 3  # unsupported
    with pytest.raises(ConfigError, match="has no mission"):
        rover.start_mission()


def test_what_it_says_becomes_events(sitl):
    fleet = sitl(autopilot=Crawler)
    heard: list[BridgeEvent] = []
    fleet.bridge.events.listen(heard.append)
    fleet[1].pilot.say("Hello", 4)
    assert [event.text for event in heard] == ["rover_1: Hello"]


def test_a_wrong_estimate_is_refused():
    with pytest.raises(ConfigError, match="no estimate 'latt'"):
        Crawler().report(latt=3)


def test_without_a_ground_link_a_command_says_so(sitl):
    fleet = sitl(autopilot=StopAtWall)
    with pytest.raises(ConfigError, match="autopilot of rover_1 takes no commands") as caught:
        fleet[1].arm()
    assert "GroundLink" in caught.value.hint


# --- a fleet in a program ---------------------------------------------------------------------


def test_waiting_returns_what_the_condition_returned():
    with Fleet() as fleet:
        assert fleet.wait_until(lambda f: "now") == "now"
        assert fleet.wait_until(lambda f: f.time_s >= 0.25 and f.time_s) == 0.25
        assert fleet[1].wait_until(lambda r: [r.id] if r.fleet.time_s > 0.3 else []) == [1]
        with pytest.raises(SimulationTimeoutError, match=r"within 0\.5 s"):
            fleet.wait_until(lambda f: 0, timeout_sim_s=0.5)


def test_actions_happen_at_their_simulated_time():
    with Fleet(rovers=2) as fleet:
        seen = []
        fleet.at(0.5, lambda: seen.append(("b", fleet.time_s)))
        fleet.at(0.2, lambda: seen.append(("a", fleet.time_s)))
        fleet.run(0.3)
        assert seen == [("a", 0.2)]
        fleet.run(0.4)
        assert seen[1:] == [("b", 0.5)]
        with pytest.raises(ConfigError, match=r"0\.1 s is over"):
            fleet.at(0.1, seen.clear)


def test_vehicles_join_and_leave_with_any_autopilot():
    with Fleet(rovers=2, rover={"noise": "off"}) as fleet:
        fleet.arm()
        fleet.run(1.0)
        own = fleet.spawn(autopilot=StopAtWall, north_m=5.0, yaw_deg=90.0)
        built_in = fleet.spawn(id=9, north_m=-5.0, name="late", preset="pico_trail_ackermann")
        script = fleet.spawn(autopilot="script:line:2", north_m=10.0)
        linked = fleet.spawn(autopilot=Crawler, north_m=15.0)
        assert [rover.id for rover in fleet] == [1, 2, 3, 4, 5, 9]
        assert (own.id, script.id, linked.id, built_in.name) == (3, 4, 5, "late")
        built_in.arm()
        built_in.goto(-2.0, 0.0)
        linked.arm()
        linked.set_mode("MANUAL")
        fleet.run(8.0)
        assert own.truth.east_m > 2.0
        assert built_in.truth.north_m > -4.0
        assert linked.truth.north_m > 15.3
        assert script.truth.north_m > 11.0
        own.remove()
        built_in.remove()
        fleet.run(0.1)
        assert [rover.id for rover in fleet] == [1, 2, 4, 5]
        assert sorted(fleet.bridge.view.truth) == [1, 2, 4, 5]
        again = fleet.spawn(north_m=-9.0)
        again.arm()
        assert again.id == 3
        kinds = [event.kind for event in fleet.bridge.events.recent]
        assert (kinds.count("join"), kinds.count("leave")) == (5, 2)


class OpenView:
    """What the run takes for a browser view."""

    line = ""

    def __init__(self, run):
        self.live = LiveSource(run)

    def close(self):
        self.live.close()


def test_the_browser_view_gets_a_new_fleet_when_one_joins_or_leaves():
    opened = []
    options = RunOptions(
        mavlink=False,
        control=False,
        check_ports=False,
        dashboard=lambda run: opened.append(OpenView(run)) or opened[0],
    )
    with Fleet(options=options) as fleet:
        live = opened[0].live

        def shown():
            return [(one["id"], one["commandable"]) for one in live.hello()["vehicles"]]

        assert (shown(), live.restarts) == ([(1, True)], 0)
        fleet.spawn(autopilot=StopAtWall, north_m=5.0)
        linked = fleet.spawn(autopilot=Crawler, north_m=9.0)
        assert (shown(), live.restarts) == ([(1, True), (2, False), (3, True)], 2)
        fleet.run(0.5)
        linked.remove()
        assert (shown(), live.restarts) == ([(1, True), (2, False)], 3)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"north_m": 0.05}, "would stand inside rover_1"),
        ({"id": 1}, "id 1 is taken"),
        ({"id": 300}, "outside 1..255"),
        ({"speed": 1}, "no 'speed'"),
        ({"preset": "nope"}, "no preset 'nope'"),
        ({"adapter": "gazebo"}, "called 'gazebo'"),
        ({"autopilot": "nope"}, "no such autopilot"),
        ({"autopilot": wall_pilot.RaisesAtStart}, "RuntimeError in start"),
        ({"autopilot": "external"}, "only a run that began with one"),
        ({"name": "rover_1", "north_m": 5}, "has that name"),
        ({"mission": "no.plan", "autopilot": StopAtWall, "north_m": 5}, "takes none"),
    ],
)
def test_one_that_cannot_join_leaves_the_fleet_as_it_was(keys, words):
    with Fleet() as fleet:
        fleet.run(0.1)
        before = fleet.config
        with pytest.raises((ConfigError, AutopilotError, ValueError), match=words):
            fleet.spawn(**{"north_m": 9.0, **keys})
        assert fleet.bridge.list_vehicles() == [1]
        assert fleet.config == before
        fleet.run(0.1)
        assert len(fleet) == 1


def test_another_seed_draws_other_numbers_and_the_same_again(sitl):
    def drive(seed):
        with Fleet(rovers=1, seed=5) as fleet:
            fleet.run(1.0)
            if seed is not None:
                fleet.reseed(seed)
            fleet.run(1.0)
            return fleet.seed, fleet.bridge.view.sensors[1].imu

    assert drive(None) == drive(None)
    (seed, first), (_, second) = drive(8), drive(8)
    assert seed == 8
    assert first == second
    assert first != drive(None)[1]


def test_a_pose_is_set_and_truth_has_a_heading():
    with Fleet(rover={"noise": "off"}) as fleet:
        fleet[1].set_pose(3.0, 4.0, yaw_deg=-90.0)
        fleet.run(0.05)
        assert fleet[1].truth.yaw_deg == pytest.approx(-90.0, abs=0.1)
        fleet[1].set_pose(5.0, 4.0)
        fleet.run(0.05)
        assert fleet[1].yaw_deg == pytest.approx(-90.0, abs=0.1)
        assert fleet[1].distance_to(5.0, 4.0) < 0.1


def test_a_fleet_takes_a_file_or_keywords(tmp_path):
    with pytest.raises(ConfigError, match="not both"):
        Fleet(written(tmp_path, "[fleet]\ncount = 2"), rovers=3)
    with Fleet(written(tmp_path, "[fleet]\ncount = 2\nadapter = 'lightweight'")) as fleet:
        assert len(fleet) == 2
        fleet.run(20.0)  # flat out: with speed 1 the test would time out
