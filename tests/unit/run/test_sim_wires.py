"""The port plan shows what a Gazebo adapter really opens."""

import pytest

from pico_gz.core.ports import PortRole
from pico_gz.errors import ConfigError, PortClashError
from pico_gz.run.config import load_fleet
from pico_gz.run.gazebo_setup import gazebo_config


@pytest.fixture
def fleet_of(tmp_path):
    def load(text):
        path = tmp_path / "fleet.toml"
        path.write_text(text)
        return load_fleet(path, environ={})

    return load


def wire_uses(plan):
    """(role, host, port) of what is about the simulator, without duplicates."""
    words = ("Gazebo", "JSON")
    return {
        (use.role, use.host, use.port)
        for use in plan.uses
        if any(word in use.purpose for word in words)
    }


def opened(fleet, name):
    """The same, by the adapter's own account."""
    config = gazebo_config(fleet, fleet.adapter_options(name))
    found = set()
    for plan in fleet.vehicles:
        here, there = config.addresses(plan.config, config.server_host())
        if config.shared_socket and not config.ardupilot_compat:
            host = config.bind_host(config.server_host())
            here, there = (host, config.sensor_port), (config.server_host(), config.actuator_port)
        found |= {(PortRole.BIND, *here), (PortRole.PEER, *there)}
    return found


INSTANCE = '[fleet]\ncount = 2\nadapter = "mine"\n[adapters.mine]\ntype = "gazebo"\n'
JSON = INSTANCE + "ardupilot_compat = false\n"


@pytest.mark.parametrize("offset", [0, 300])
@pytest.mark.parametrize(
    "text",
    [
        INSTANCE,
        INSTANCE + "sensor_port = 29402\n",
        INSTANCE + "sensor_port = 29402\nactuator_port = 29900\n",
        INSTANCE + "actuator_port = 8500\n",
        INSTANCE + "sensor_port = 29402\nfdm_stride = 4\n",
        INSTANCE + "shared_socket = true\n",
        JSON,
        JSON + "sensor_port = 29402\nactuator_port = 29403\n",
        JSON + "shared_socket = true\n",
        JSON + "shared_socket = true\nsensor_port = 29402\nactuator_port = 29500\n",
        JSON + 'bind_addr = "127.0.0.3"\nserver_addr = "127.0.0.2:77"\n',
        JSON + 'server_addr = "192.0.2.7"\n',
        INSTANCE + "[[vehicle]]\nid = 2\nfdm_port = 9500\n",
        INSTANCE + '[[vehicle]]\nid = 2\nautopilot = "external"\n',
        INSTANCE + 'sensor_port = 29402\n[[vehicle]]\nid = 2\nautopilot = "external"\n',
        INSTANCE + 'own_world = false\n[[vehicle]]\nid = 2\nautopilot = "external"\n',
    ],
)
def test_the_plan_is_what_the_run_opens(fleet_of, text, offset):
    fleet = fleet_of(text).with_port_offset(offset)
    assert wire_uses(fleet.port_plan()) == opened(fleet, "mine")


def test_the_json_dialect_is_the_other_way_round(fleet_of):
    fleet = fleet_of('[fleet]\ncount=1\nadapter="gazebo"\n[gazebo]\nardupilot_compat=false\n')
    assert wire_uses(fleet.port_plan()) == {
        (PortRole.BIND, "127.0.0.1", 9002),
        (PortRole.PEER, "127.0.0.1", 9003),
    }


def test_a_shared_socket_is_one_pair_of_the_adapter(fleet_of):
    plan = fleet_of(JSON + "shared_socket = true\nsensor_port = 29402\n").port_plan()
    lines = [(use.owner, use.port) for use in plan.uses if "JSON" in use.purpose]
    assert lines == [("mine", 29402), ("mine", 29403)]


def test_a_shared_socket_on_the_usual_ports_does_not_clash_with_itself(fleet_of):
    fleet_of(JSON + "shared_socket = true\n").port_plan().check()


def test_clashes_on_the_real_ports_are_found(fleet_of):
    with pytest.raises(PortClashError, match="14550"):
        fleet_of(JSON + "shared_socket = true\nsensor_port = 14550\n")
    with pytest.raises(PortClashError, match="29402"):
        fleet_of(
            '[adapters.a]\ntype="gazebo"\nsensor_port=29402\n'
            '[adapters.b]\ntype="gazebo"\nsensor_port=29392\n'
            '[[vehicle]]\nadapter="a"\n[[vehicle]]\nadapter="b"\n'
        )


@pytest.mark.parametrize(
    "text",
    [
        JSON.replace("count = 2", 'count = 2\nautopilot = "external"'),
        JSON + '[[vehicle]]\nid = 2\nautopilot = "external"\n',
        '[fleet]\nautopilot="external"\nadapter="gazebo"\n[gazebo]\nardupilot_compat=false\n',
    ],
)
def test_an_external_autopilot_on_a_wire_without_truth_is_refused(fleet_of, text):
    with pytest.raises(ConfigError, match=r"external.*JSON dialect") as caught:
        fleet_of(text)
    assert str(caught.value).count("JSON dialect") == 1


def test_it_is_the_only_thing_wrong_with_a_shared_socket(fleet_of):
    text = JSON + "shared_socket = true\nsensor_port = 29402\n"
    with pytest.raises(ConfigError) as caught:
        fleet_of(text.replace("count = 2", 'count = 2\nautopilot = "external"'))
    assert "29402" not in str(caught.value)


def test_so_is_one_that_auto_puts_there(fleet_of):
    fleet = fleet_of('[fleet]\nautopilot="external"\n[gazebo]\nardupilot_compat=false\n')
    fleet.with_adapters(dict.fromkeys((1, 2, 3), "lightweight"))
    with pytest.raises(ConfigError, match=r"rover_1.*JSON dialect"):
        fleet.with_adapters(dict.fromkeys((1, 2, 3), "gazebo"))


@pytest.mark.parametrize("value", ['"x"', "0", "true", "1.5"])
def test_a_bad_port_of_an_adapter_is_told_as_such(fleet_of, value):
    with pytest.raises(ConfigError, match=r"adapters.mine.sensor_port = .*expected a whole number"):
        fleet_of(INSTANCE + f"sensor_port = {value}\n")
