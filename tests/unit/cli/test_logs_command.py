"""Following logs of several containers."""

import pytest

from pico_gz.cli.containers import _followed
from pico_gz.cli.tools.containers.engine import ContainerState
from pico_gz.errors import MissingProgramError


class LosesItsConnection:
    def log_stream(self, container_id, **_):
        yield b"2026-01-01T00:00:00Z first\n"
        raise MissingProgramError("No Docker engine answers.")


def test_a_lost_engine_ends_the_following_with_its_error():
    state = ContainerState(id="1", service="bridge", state="running", ports={})
    lines = _followed(LosesItsConnection(), [state], None)
    assert next(lines).text == "first"
    with pytest.raises(MissingProgramError, match="No Docker engine"):
        next(lines)
