"""A rover in a test: commands wait in simulation time, failures tell what is known."""

import pytest

from pico_gz.core.vehicle_config import Pose, VehicleConfig
from pico_gz.errors import ConfigError, UnknownVehicleError
from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.options import RunOptions
from pico_gz.testing import (
    SimulationTimeoutError,
    Sitl,
    assert_min_separation,
    assert_mode_sequence,
    assert_never,
    assert_no_contact,
    assert_path_within,
    assert_reached,
)
from pico_gz.testing.assertions import distance_to_line
from pico_gz.vehicle.scripted import make_script


@pytest.fixture
def sitl(tmp_path):
    fleet = default_fleet(2, FleetOverrides(adapter="lightweight", speed="max"))
    options = RunOptions(mavlink=False, control=False, check_ports=False, run_folder=tmp_path)
    with Sitl(fleet, options) as sitl:
        yield sitl


@pytest.fixture
def rover(sitl):
    return sitl[1]


def test_time_stands_still_until_it_is_asked_for(sitl):
    assert sitl.time_s == 0.0
    sitl.run(0.5)
    assert sitl.time_s == 0.5
    assert len(sitl.history.truth[1]) == 50


def test_before_the_first_step_a_rover_is_where_it_starts(sitl):
    assert (sitl[2].truth.north_m, sitl[2].truth.east_m) == (0.0, 3.0)
    assert sitl[2].name == "rover_2"


def test_it_drives_where_it_is_sent(rover):
    rover.arm()
    rover.goto(north_m=3, east_m=0)
    rover.wait_until(lambda r: r.distance_to(3, 0) < 1.5, timeout_sim_s=30)
    assert rover.armed
    assert rover.mode == "GUIDED"
    assert_reached(rover, 3, 0)
    assert_path_within(rover, [(0, 0), (3, 0)], max_m=1.5)
    assert_mode_sequence(rover, ["GUIDED"])
    assert abs(rover.estimate.ground_speed_mps - rover.speed_mps) < 0.3


def test_what_does_not_happen_in_time_fails_with_words(rover):
    with pytest.raises(SimulationTimeoutError, match=r"within 0.5 s .* at 0.50 s:\n  rover_1 at"):
        rover.wait_until(lambda r: False, timeout_sim_s=0.5)


def test_an_error_in_a_condition_comes_through(rover):
    with pytest.raises(ZeroDivisionError):
        rover.wait_until(lambda r: 1 / (r.sitl.time_s < 0.1) < 0, timeout_sim_s=1)
    rover.run(0.1)


def test_invariants_are_checked_in_every_step(rover):
    assert_never(rover, lambda r: r.sitl.time_s >= 0.25, "too late")
    with pytest.raises(AssertionError, match=r"too late: so at 0.25 s: rover_1 at"):
        rover.run(1.0)


def test_a_mission_is_taken_from_points(rover):
    rover.upload_mission([(2, 0), (2, 2)])
    assert len(rover.pilot.missions.items(0)) == 3
    rover.arm()
    rover.start_mission()
    assert rover.mode == "AUTO"


def test_a_refused_mission_names_file_item_and_command(rover, tmp_path):
    path = tmp_path / "m.waypoints"
    path.write_text(
        "QGC WPL 110\n0 1 0 16 0 0 0 0 35.681236 139.767125 40 1\n"
        "1 0 3 81 0 0 0 0 35.68129 139.767125 5 1\n2 0 3 16 0 0 0 0 95.0 139.767125 0 1\n"
        "3 0 3 178 0 1000 0 0 0 0 0 1\n"
    )
    with pytest.raises(ConfigError) as caught:
        rover.upload_mission(path)
    for words in (
        str(path),
        "item 1, NAV_PATHPLANNING (81)",
        "item 2, NAV_WAYPOINT (16): latitude 95",
        "item 3, DO_CHANGE_SPEED (178): param2 = 1000: allowed are -1 (no change)..100 m/s",
    ):
        assert words in caught.value.message
    assert "NAV_LOITER_TIME (19)" in caught.value.hint


def test_a_mission_without_a_place_is_refused(rover):
    with pytest.raises(ConfigError, match="at least one point"):
        rover.upload_mission([])


@pytest.mark.parametrize("mode", ["GUIDDED", 99])
def test_an_unknown_mode_is_refused(rover, mode):
    with pytest.raises(ConfigError, match="no mode"):
        rover.set_mode(mode)


def test_an_unknown_parameter_is_refused(rover):
    rover.set_param("CRUISE_SPEED", 0.5)
    with pytest.raises(ConfigError, match="NO_SUCH"):
        rover.set_param("NO_SUCH", 1)


def test_a_misspelt_parameter_and_a_wrong_value_are_explained(rover):
    with pytest.raises(ConfigError, match="no parameter 'WP_SPEEDD'") as misspelt:
        rover.set_param("WP_SPEEDD", 1)
    assert "'WP_SPEED'" in misspelt.value.hint
    with pytest.raises(ConfigError, match="does not take WP_SPEED = 1000") as too_much:
        rover.set_param("WP_SPEED", 1000)
    assert too_much.value.hint == "It takes a number, 0..100."
    with pytest.raises(ConfigError) as fixed:
        rover.set_param("MIS_TOTAL", 5)
    assert fixed.value.hint == "It is read-only."


def test_a_rover_that_is_not_there_is_an_error_that_names_those_that_are(sitl):
    with pytest.raises(UnknownVehicleError) as caught:
        sitl[0]
    assert caught.value.hint == "Vehicles here: 1, 2."


def test_what_cannot_be_is_refused_at_once(rover):
    for refused, why in (
        (lambda: rover.set_mode("AUTO"), "has no mission"),
        (rover.start_mission, "has no mission"),
        (lambda: rover.upload_mission([]), "at least one point"),
        (lambda: rover.goto(5, 0), "is disarmed"),
        (lambda: rover.set_mode("INITIALISING"), "no mode"),
    ):
        with pytest.raises(ConfigError, match=why) as caught:
            refused()
        assert "INITIALISING" not in caught.value.hint
    assert rover.sitl.time_s == 0.0


def test_waiting_gives_what_the_condition_gave(rover):
    assert rover.wait_until(lambda r: True) is True
    assert rover.wait_until(lambda r: r.sitl.time_s >= 0.25 and r.sitl.time_s) == 0.25
    assert rover.sitl.wait_until(lambda s: s.time_s >= 0.75 and s) is rover.sitl


class ExternalAutopilots:
    """Stands for the server of external autopilots: of rover 1, which gets nothing but an IMU."""

    def __init__(self) -> None:
        self.imu_failing = {}

    def vehicle_ids(self):
        return [1]

    def sends(self, vehicle_id, field):
        return field == "imu"

    def set_imu_failing(self, vehicle_id, failing):
        self.imu_failing[vehicle_id] = failing


def test_failures_reach_external_autopilots_as_in_any_run(sitl):
    server = sitl.session.fail.external = ExternalAutopilots()
    sitl[1].fail("imu")
    sitl.run(0.1)
    assert server.imu_failing == {1: True}
    sitl[1].fail("imu", "ok")
    sitl.run(0.1)
    assert server.imu_failing == {1: False}
    with pytest.raises(ConfigError, match="makes up 'gps' itself"):
        sitl[1].fail("gps")


def test_rovers_that_meet_are_told(sitl):
    for rover, east_m in ((sitl[1], 3.0), (sitl[2], 0.0)):
        rover.arm()
        rover.goto(north_m=0, east_m=east_m)
    sitl.run(0.1)
    assert_no_contact(sitl)
    sitl.wait_until(lambda s: s.history.contacts, timeout_sim_s=60)
    with pytest.raises(AssertionError, match="touches"):
        assert_no_contact(sitl)
    with pytest.raises(AssertionError, match="rover_1 and rover_2 were"):
        assert_min_separation(sitl, 1.0)


def test_assertions_fail_with_numbers(rover):
    rover.run(0.1)
    with pytest.raises(AssertionError, match=r"nearest was 9\.\d+ m"):
        assert_reached(rover, 9.5, 0)
    with pytest.raises(AssertionError, match=r"off its path at 0\.01 s"):
        assert_path_within(rover, [(5, 0), (9, 0)], max_m=1)
    with pytest.raises(AssertionError, match=r"went .* not AUTO"):
        assert_mode_sequence(rover, ["AUTO"])


@pytest.mark.parametrize(
    "look",
    [
        lambda rover: assert_path_within(rover, [(99, 99)], max_m=0.1),
        lambda rover: assert_no_contact(rover),
        lambda rover: assert_no_contact(rover.sitl),
        lambda rover: assert_min_separation(rover.sitl, min_m=99),
    ],
)
def test_a_run_without_a_step_proves_nothing(rover, look):
    with pytest.raises(ConfigError, match="Nothing is known of where rover_1 has been"):
        look(rover)


def test_one_rover_alone_is_no_distance(rover):
    rover.run(0.1)
    with pytest.raises(ConfigError, match="One rover alone"):
        assert_min_separation([rover], min_m=1.0)


def test_a_path_that_begins_after_the_run_proves_nothing(rover):
    rover.run(0.5)
    assert_path_within(rover, [(0, 0)], max_m=1, from_sim_s=0.5)
    with pytest.raises(ConfigError, match=r"has been since 0\.6 s"):
        assert_path_within(rover, [(0, 0)], max_m=1, from_sim_s=0.6)


def test_without_contacts_nobody_says_that_there_was_none(tmp_path):
    fleet = default_fleet(1, FleetOverrides(adapter="lightweight", speed="max"))
    options = RunOptions(
        mavlink=False, control=False, check_ports=False, run_folder=tmp_path, contacts=False
    )
    with Sitl(fleet, options) as sitl:
        sitl.run(0.1)
        with pytest.raises(ConfigError, match="switched off"):
            assert_no_contact(sitl)


def test_a_simulator_that_reports_no_contacts_is_named(sitl, monkeypatch):
    sitl.run(0.1)
    elsewhere = sitl.fleet.with_adapters({2: "gazebo"})
    monkeypatch.setattr(sitl.session, "fleet", elsewhere)
    assert_no_contact(sitl[1])
    for subject in (sitl, sitl[2]):
        with pytest.raises(ConfigError, match=r"simulator of rover_2 \(gazebo\) does not report"):
            assert_no_contact(subject)


def test_distance_to_a_line():
    corner = [(0.0, 0.0), (10.0, 0.0), (10.0, 10.0)]
    assert distance_to_line((5.0, 2.0), corner) == 2.0
    assert distance_to_line((13.0, 14.0), corner) == 5.0
    assert distance_to_line((3.0, 4.0), [(0.0, 0.0)]) == 5.0


def test_a_vehicle_without_the_built_in_autopilot_says_so(tmp_path):
    fleet = default_fleet(1, FleetOverrides(adapter="lightweight", autopilot="none"))
    options = RunOptions(mavlink=False, control=False, check_ports=False)
    with Sitl(fleet, options) as sitl, pytest.raises(ConfigError, match="takes no commands"):
        sitl[1].arm()


def test_a_vehicle_may_join_with_the_rover_of_the_fleet(sitl):
    bridge = sitl.bridge
    bridge.spawn_vehicle(VehicleConfig(id=9, pose=Pose(north_m=5.0)), make_script("line:1"))
    sitl.run(5.0)
    assert bridge.view.truth[9].north_m > 5.5
