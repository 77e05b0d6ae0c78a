"""Which ports ``pico-gz up`` takes, and what it does when somebody is quicker."""

import pytest

from pico_gz.cli import containers
from pico_gz.cli.tools.containers.stack import Addresses, StackSettings
from pico_gz.errors import PortClashError

FOUND = Addresses(view="", mavlink_tcp="")


class Engine:
    """Refuses the first ``clashes`` attempts, as one whose ports somebody has just taken."""

    def __init__(self, clashes):
        self.clashes = clashes
        self.offsets = []

    def __call__(self, settings):
        self.offsets.append(settings.port_offset)
        if len(self.offsets) <= self.clashes:
            raise PortClashError("Port 5760 on this machine is taken by another program.")
        return FOUND


@pytest.fixture(autouse=True)
def free_offsets(monkeypatch):
    offsets = iter(range(0, 10_000, 100))
    monkeypatch.setattr(containers, "free_offset", lambda plan_at: next(offsets))


def test_auto_looks_again_when_a_port_was_taken_meanwhile(capsys):
    engine = Engine(clashes=2)
    settings, found = containers._start_on_ports(StackSettings(), "auto", engine)
    assert engine.offsets == [0, 100, 200]
    assert settings.port_offset == 200
    assert found is FOUND
    assert capsys.readouterr().err.count("Looking for others") == 2


def test_auto_gives_up_in_the_end():
    engine = Engine(clashes=99)
    with pytest.raises(PortClashError):
        containers._start_on_ports(StackSettings(), "auto", engine)
    assert len(engine.offsets) == 4


def test_a_chosen_offset_is_not_changed():
    engine = Engine(clashes=1)
    with pytest.raises(PortClashError):
        containers._start_on_ports(StackSettings(), "300", engine)
    assert engine.offsets == [300]


def test_auto_keeps_away_from_the_udp_ports_of_other_runs():
    """Their TCP ports may be elsewhere, so that this offset looks free."""
    engine = Engine(clashes=0)
    settings, _ = containers._start_on_ports(StackSettings(), "auto", engine, {14550, 14750})
    assert settings.gcs_port not in {14550, 14750}
    assert settings.port_offset > 0
