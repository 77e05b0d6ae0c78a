"""What ``pico-gz status`` says of containers that are not well."""

import pytest

from pico_gz.cli.containers import _trouble
from pico_gz.cli.tools.containers.engine import ContainerState


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
