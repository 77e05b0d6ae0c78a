"""What the engine tells of a container."""

import pytest

from pico_gz.cli.tools.containers.engine import Usage, container_state, usage_of


def attributes(status="running", health=None, **changes):
    state = {"Status": status, "ExitCode": 0}
    if health:
        state["Health"] = {"Status": health, "Log": [{"Output": "old"}, {"Output": "new\n"}]}
    return {
        "Id": "abc",
        "Name": "/p-bridge-1",
        "State": state,
        "Config": {"Labels": {"com.docker.compose.service": "bridge"}},
        "NetworkSettings": {
            "Ports": {"8085/tcp": [{"HostIp": "127.0.0.1", "HostPort": "9000"}], "1/udp": None}
        },
        **changes,
    }


def test_a_healthy_container():
    state = container_state(attributes(health="healthy"))
    assert state.is_well
    assert (state.service, state.condition, state.last_check) == ("bridge", "healthy", "new")
    assert state.ports == {8085: "127.0.0.1:9000"}


@pytest.mark.parametrize(
    ("attrs", "condition", "well"),
    [
        (attributes(), "running", True),
        (attributes(health="unhealthy"), "unhealthy", False),
        (attributes(health="starting"), "starting", False),
        (attributes(status="exited"), "exited (0)", False),
        (attributes(status="created"), "created", False),
    ],
)
def test_conditions(attrs, condition, well):
    state = container_state(attrs)
    assert (state.condition, state.is_well) == (condition, well)


def test_a_container_that_wanted_too_much_memory():
    killed = {"Status": "exited", "ExitCode": 137, "OOMKilled": True}
    state = container_state(attributes(State=killed, HostConfig={"Memory": 42_000_000}))
    assert state.condition == "out of memory (42 MB)"
    assert state.was_out_of_memory
    # The engine also says so of one whose health check was killed, and which runs on.
    alive = {"Status": "running", "ExitCode": 0, "OOMKilled": True}
    assert container_state(attributes(State=alive)).condition == "running"


def test_a_container_without_labels_has_its_name():
    assert container_state(attributes(Config={"Labels": None})).service == "p-bridge-1"


def test_usage():
    stats = {
        "cpu_stats": {
            "cpu_usage": {"total_usage": 3_000},
            "system_cpu_usage": 20_000,
            "online_cpus": 2,
        },
        "precpu_stats": {"cpu_usage": {"total_usage": 1_000}, "system_cpu_usage": 10_000},
        "memory_stats": {"usage": 500, "stats": {"total_inactive_file": 100}},
    }
    assert usage_of(stats) == Usage(40.0, 400)


def test_usage_of_a_container_that_ended():
    assert usage_of({"cpu_stats": {}, "precpu_stats": {}, "memory_stats": {}}) == Usage(0.0, 0)
