"""Every mode on the Lightweight simulator and over the wire; on Gazebo: test_gazebo_driving."""

import pytest
from gazebo_support import gazebo_fleet, give_ports_back, on_leased_ports  # noqa: F401 (autouse)
from mode_tour import ModeTour
from twin_process import TwinProcess

from pico_gz.run.config import load_fleet
from pico_gz.run.options import RunOptions
from pico_gz.testing.sitl import Sitl

QUIET = RunOptions(mavlink=False, control=False, check_ports=False)
# The rover of the recorded world: 20 rad/s on wheels of 0.15 m at half command.
TWIN_FLEET = """\
[fleet]
count = 1
adapter = "gazebo"
[rover]
preset = "ideal"
max_speed = 1.5
wheel_base = 0.44
channels = "ardupilot"
[gazebo]
attach = true
physics_step_us = 5000
[time]
speed = "max"
"""


@pytest.mark.slow
def test_lightweight():
    with Sitl(gazebo_fleet(1, adapter="lightweight", autopilot="builtin"), QUIET) as sitl:
        ModeTour(sitl).run()


@pytest.mark.slow
def test_plugin_twin(tmp_path):
    (tmp_path / "fleet.toml").write_text(TWIN_FLEET)
    fleet = on_leased_ports(load_fleet(tmp_path / "fleet.toml", environ={}))
    port = fleet.port_plan().vehicle(1).plugin
    with TwinProcess(port, step_us=5000), Sitl(fleet, QUIET) as sitl:
        ModeTour(sitl).run()
        assert sitl.bridge.stats.lost_steps == 0
