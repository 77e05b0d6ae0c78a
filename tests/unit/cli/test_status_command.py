"""What ``pico-gz status`` says of containers that are not well."""

import contextlib
from types import SimpleNamespace

import pytest

from pico_gz.cli import containers
from pico_gz.cli.containers import _trouble
from pico_gz.cli.tools.containers.engine import ContainerState, Usage
from pico_gz.cli.tools.containers.stack import ServiceStatus


@pytest.mark.parametrize(
    ("state", "health", "words"),
    [
        ("running", "healthy", ""),
        ("running", "unhealthy", "bridge: the last check"),
        ("exited", "unhealthy", "bridge: pico-gz logs bridge --name second shows more."),
        ("paused", "healthy", "bridge: pico-gz logs bridge --name second shows more."),
    ],
)
def test_trouble(state, health, words):
    container = ContainerState(
        id="1", service="bridge", state=state, health=health, last_check="the last check", ports={}
    )
    assert _trouble(container, "second") == words


def test_a_container_that_was_out_of_memory_is_named_with_the_setting():
    container = ContainerState(
        id="1", service="bridge", state="exited", exit_code=137, ports={},
        was_out_of_memory=True, memory_limit_bytes=40_000_000,
    )  # fmt: skip
    assert _trouble(container, "pico-gz") == (
        "bridge: killed, it wanted more than 40 MB: set MEMORY."
    )


@pytest.fixture
def found(monkeypatch):
    """What ``status`` finds."""
    services = []
    engine = SimpleNamespace(__enter__=None)
    monkeypatch.setattr(containers, "look", lambda name, engine: services)
    monkeypatch.setattr(containers, "Engine", lambda: contextlib.nullcontext(engine))
    return services


def test_status_prints_the_address_of_the_view(found, capsys):
    container = ContainerState(id="1", service="bridge", state="running", ports={})
    found.append(ServiceStatus(container=container, usage=Usage(0.0, 0), view="http://x/?token=t"))
    assert containers.status() == 0
    assert capsys.readouterr().out.splitlines()[-1] == "Browser view: http://x/?token=t"


def test_status_of_nothing_names_the_command_for_a_run_without_containers(found, capsys):
    assert containers.status() == 1
    assert "A run without containers: pico-gz ctl status" in capsys.readouterr().out
