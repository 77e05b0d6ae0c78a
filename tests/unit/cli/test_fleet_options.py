"""What commands that take a fleet share."""

import pytest

from pico_gz.cli.fleet_options import move_ports, open_fleet, parse_speed
from pico_gz.errors import ConfigError
from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides


def test_without_a_file_the_default_fleet_is_taken():
    assert len(open_fleet(None, FleetOverrides()).vehicles) == 3
    assert len(open_fleet(None, FleetOverrides(rovers=5)).vehicles) == 5


@pytest.mark.parametrize(
    ("text", "speed"), [(None, None), ("max", "max"), ("2", 2.0), ("0.5", 0.5)]
)
def test_speed(text, speed):
    assert parse_speed(text) == speed


def test_bad_speed():
    with pytest.raises(ConfigError, match="--speed mx: expected a number, or max"):
        parse_speed("mx")


def test_moving_ports():
    fleet = default_fleet(environ={})
    assert move_ports(fleet, "0") is fleet
    assert move_ports(fleet, "100").rules.offset == 100


def test_a_port_of_the_browser_view_that_is_named_stays():
    fleet = default_fleet(overrides=FleetOverrides(dashboard="127.0.0.1:28090"), environ={})
    moved = move_ports(fleet, "20000")
    assert moved.dashboard == ("127.0.0.1", 28090)
    assert 28090 in {use.port for use in moved.port_plan().uses}
    usual = move_ports(default_fleet(environ={}), "20000")
    assert usual.dashboard[1] == default_fleet(environ={}).dashboard[1] + 20000


def test_a_warning_names_the_file_and_the_line(tmp_path, capsys):
    (tmp_path / "its.parm").write_text("EK3_ENABLE 1\n")
    path = tmp_path / "yard.toml"
    path.write_text("[[vehicle]]\nparams = 'its.parm'\n")
    open_fleet(path, FleetOverrides())
    assert capsys.readouterr().err.startswith(f"Warning: {path}: line 2: ")
