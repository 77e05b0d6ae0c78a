"""Ground stations may break things only where the fleet file allows it."""

import dataclasses

import pytest

from pico_gz.bridge.published import FleetView
from pico_gz.core.frames import LocalFrame
from pico_gz.run.config import default_fleet, load_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.mavlink_setup import TruthReader, make_mavlink
from pico_gz.vehicle.autopilot.rover_autopilot import RoverAutopilot


def injection(fleet):
    mavlink = make_mavlink(
        fleet,
        fleet.port_plan(),
        {1: RoverAutopilot()},
        truth=TruthReader(FleetView, LocalFrame(35.0, 139.0, 40.0)),
        inject=lambda *_: None,
        tlog_dir=None,
    )
    return mavlink._shared.inject


@pytest.mark.parametrize("allowed", [False, True])
def test_it_is_the_fleets_choice(allowed):
    fleet = default_fleet(overrides=FleetOverrides(rovers=1), environ={})
    assert not fleet.failure_injection
    fleet = dataclasses.replace(fleet, failure_injection=allowed)
    assert (injection(fleet) is not None) == allowed


def test_the_fleet_file_says_so(tmp_path):
    path = tmp_path / "fleet.toml"
    path.write_text("[mavlink]\nfailure_injection = true\n")
    assert load_fleet(path, environ={}).failure_injection
