"""Which release of ArduPilot the records of external vehicles are written for."""

import pytest

from pico_gz.errors import ConfigError
from pico_gz.run import external_setup
from pico_gz.run.config import load_fleet
from pico_gz.run.simulators import local_frame


def fleet_with(folder, *lines):
    path = folder / "fleet.toml"
    path.write_text("\n".join(("[fleet]", "count = 1", 'autopilot = "external"', *lines)))
    return load_fleet(path, environ={})


@pytest.mark.parametrize(("lines", "release"), [((), "4.6"), (('ardupilot = "4.7"',), "4.7")])
def test_it_reaches_the_server(lines, release, tmp_path, monkeypatch):
    seen = {}
    monkeypatch.setattr(
        external_setup, "FdmServer", lambda vehicles, **options: seen.update(options)
    )
    fleet = fleet_with(tmp_path, *lines)
    external_setup.make_fdm_server(
        fleet, fleet.port_plan(), local_frame(fleet), lockstep=True, on_event=print
    )
    assert seen["profile"] == release


def test_another_release_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="ardupilot"):
        fleet_with(tmp_path, 'ardupilot = "5.0"')
