"""The board of the fleet file is the one that an autopilot runs on."""

import pytest

from pico_gz.run.config import load_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.run.vehicle_setup import make_pilot

BOARD = """
[board]
accel_convention = "gravity_positive"
axis_remap = ["-z", "+x", "-y"]
compass_unit = "microtesla"
pressure_unit = "hectopascal"
battery_divider = 11.0
serial = [{ uart = 2, format = "nmea" }]
"""
QUIET = RunOptions(duration_s=4.0, demo=True, mavlink=False, control=False, check_ports=False)


@pytest.fixture
def fleet_of(tmp_path):
    def fleet_of(text, autopilot="builtin"):
        path = tmp_path / "fleet.toml"
        path.write_text(text)
        overrides = FleetOverrides(
            rovers=1, adapter="lightweight", autopilot=autopilot, speed="max"
        )
        return load_fleet(path, overrides, environ={})

    return fleet_of


def test_every_platform_gets_its_board(fleet_of):
    fleet = fleet_of(BOARD)
    with FleetRun(fleet, QUIET) as session:
        session.run()
        platform = session.bridge.get_vehicle(1).platform
        assert platform.options == fleet.vehicle(1).board
        assert b"$GPGGA" in platform.create_uart(2).read()


@pytest.mark.parametrize("autopilot", ["builtin", "script:square"])
def test_the_kits_own_drivers_drive_the_same_on_every_board(fleet_of, autopilot):
    ends = []
    for text in ("", BOARD):
        with FleetRun(fleet_of(text, autopilot), QUIET) as session:
            ends.append(session.run().final["1"])
    plain, remapped = ends
    assert plain == remapped
    assert abs(plain.north_m) > 0.1


def test_the_divider_is_known_to_the_built_in_autopilot(fleet_of):
    for text, expected in (("", 3.95), (BOARD, 11.0)):
        fleet = fleet_of(text)
        pilot = make_pilot(fleet, fleet.vehicle(1))
        assert pilot.params.by_name("BATT_VOLT_MULT").value == expected
