"""What a run was made from comes back from its recording."""

import json

import pytest

from pico_gz.core.rover_spec import PRESETS
from pico_gz.errors import ConfigError
from pico_gz.run.config import default_fleet, load_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.recording.run_folder import (
    config_as_dict,
    config_from_dict,
    read_inputs,
    restore_inputs,
)

SQUARE = """\
QGC WPL 110
0 1 0 16 0 0 0 0 35.681236 139.767125 40 1
1 0 3 16 0 0 0 0 35.681290 139.767125 0 1
"""


def through_json(fleet):
    return config_from_dict(json.loads(json.dumps(config_as_dict(fleet), allow_nan=False)))


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_a_fleet_of_every_rover_comes_back_as_it_was(tmp_path, preset):
    path = tmp_path / "fleet.toml"
    path.write_text(
        f'[fleet]\ncount = 2\n[rover]\npreset = "{preset}"\n'
        '[[obstacle]]\nkind = "box"\nnorth_m = 5.0\n[adapters.mine]\ntype = "lightweight"\n'
    )
    fleet = load_fleet(path)
    assert through_json(fleet) == fleet


def test_figures_of_an_old_recording_are_those_of_every_rover():
    plain = config_as_dict(default_fleet(2))
    for rover in (plain["rover"], *(vehicle["rover"] for vehicle in plain["vehicles"])):
        for name in ("gps_noise_m", "gps_rate_hz"):  # 0.1 knew them for the fleet alone
            del rover[name]
    plain["sensor_noise"] = {"gps_noise_m": 0.25, "gps_rate_hz": 10.0}
    fleet = config_from_dict(plain)
    for rover in (fleet.rover, *(plan.rover for plan in fleet.vehicles)):
        assert (rover.gps_noise_m, rover.gps_rate_hz) == (0.25, 10.0)


def test_another_version_is_told():
    plain = config_as_dict(default_fleet(1))
    del plain["vehicles"]
    with pytest.raises(ConfigError, match="another version"):
        config_from_dict(plain)


def test_files_come_back_with_their_text(tmp_path):
    mission = tmp_path / "square.waypoints"
    mission.write_text(SQUARE)
    fleet = default_fleet(2, FleetOverrides(mission=mission))
    inputs = read_inputs(fleet, tmp_path)
    mission.unlink()
    again = restore_inputs(fleet, inputs, tmp_path / "again")
    assert [plan.mission.read_text() for plan in again.vehicles] == [SQUARE] * 2
    assert all(plan.mission.suffix == ".waypoints" for plan in again.vehicles)
