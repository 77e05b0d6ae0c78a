"""The default fleet, and what can be asked of a fleet."""

import subprocess
import sys

import pytest

from pico_gz.core.vehicle_config import Pose
from pico_gz.errors import ConfigError, PortClashError, UnknownVehicleError
from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.config.problems import FleetFileError


def fleet_of(rovers=3, **overrides):
    return default_fleet(rovers, FleetOverrides(**overrides), environ={})


def test_without_a_file_there_are_three_rovers_and_seed_42():
    fleet = fleet_of()
    assert (fleet.name, fleet.seed, fleet.source) == ("three_rovers", 42, None)
    assert [config.id for config in fleet.vehicle_configs()] == [1, 2, 3]
    assert [config.name for config in fleet.vehicle_configs()] == ["rover_1", "rover_2", "rover_3"]
    assert [config.fdm_port for config in fleet.vehicle_configs()] == [9002, 9012, 9022]
    assert [config.mavlink_port for config in fleet.vehicle_configs()] == [14550, 14551, 14552]
    assert fleet.vehicle(3).config.pose == Pose(east_m=6.0)
    assert fleet.vehicle(1).config.preset == "pico_trail_freenove"


def test_more_rovers_leave_the_others_alone():
    assert fleet_of(6).vehicles[:5] == fleet_of(5).vehicles


@pytest.mark.parametrize("rovers", [0, -1, 255, 256])
def test_impossible_numbers_of_rovers(rovers):
    with pytest.raises(FleetFileError):
        fleet_of(rovers)


def test_254_is_the_most_without_leave_for_255():
    assert len(fleet_of(254).vehicles) == 254
    assert len(fleet_of(255, allow_gcs_sysid=True).vehicles) == 255


def test_unknown_vehicle():
    with pytest.raises(UnknownVehicleError, match="vehicle 9"):
        fleet_of().vehicle(9)


def test_moving_all_ports():
    fleet = fleet_of(2).with_port_offset(200)
    assert [config.fdm_port for config in fleet.vehicle_configs()] == [9202, 9212]
    assert fleet.vehicle(2).config.mavlink_port == 14751
    assert fleet.dashboard == ("127.0.0.1", 8285)
    assert fleet.port_plan().tcp_port == 5960
    assert fleet.with_port_offset(0) == fleet_of(2)


def test_ports_cannot_be_moved_out_of_the_world():
    with pytest.raises(ConfigError, match="out of 1"):
        fleet_of().with_port_offset(60000)


def test_deciding_adapters():
    fleet = fleet_of(2).with_adapters({1: "gazebo", 2: "lightweight"})
    assert fleet.on_gazebo() == {1}
    assert fleet.port_plan().vehicle(1).plugin == 9002
    assert fleet.port_plan().vehicle(2).plugin == 0


def test_gazebo_needs_a_whole_number_of_its_steps(tmp_path):
    from pico_gz.run.config import load_fleet

    path = tmp_path / "fleet.toml"
    path.write_text("[time]\nstep_us = 3000\n")
    fleet = load_fleet(path, environ={})
    with pytest.raises(ConfigError, match="3000 us"):
        fleet.with_adapters({1: "gazebo"})


def test_shared_ground_station():
    fleet = fleet_of(gcs="shared")
    assert {config.mavlink_port for config in fleet.vehicle_configs()} == {14550}


def test_environment_is_checked_too():
    with pytest.raises(PortClashError):
        default_fleet(environ={"PICO_GZ_DASHBOARD": "127.0.0.1:5760"})


def test_the_default_fleet_is_light():
    code = (
        "import sys; from pico_gz.run.config import default_fleet; default_fleet(environ={})\n"
        "print(sorted({'pydantic', 'numpy', 'typer', 'rich'} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )
    assert result.stdout.strip() == "[]"
