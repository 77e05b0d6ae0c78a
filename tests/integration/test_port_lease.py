"""Port leases: nobody gets what another holds, in this process or in another."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from pico_gz.config import FleetOverrides, default_fleet
from pico_gz.errors import PortClashError
from pico_gz.ports import PortRole
from pico_gz.testing.port_lease import PortLeases, loopback_use

ROOT = Path(__file__).parents[2]

HOLD = """
import sys
from pathlib import Path
from pico_gz.ports import PortRole
from pico_gz.testing.port_lease import PortLeases
with PortLeases(Path(sys.argv[1])) as leases:
    print(*leases.take(3), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def hold(tmp_path):
    """A process that has leased three ports; returns them and the process."""
    processes = []

    def start():
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(tmp_path)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process, [int(word) for word in process.stdout.readline().split()]

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def test_other_processes_get_other_ports(hold, tmp_path):
    _, first = hold()
    _, second = hold()
    with PortLeases(tmp_path) as leases:
        third = list(leases.take(3))
    assert len({*first, *second, *third}) == 9


def test_a_killed_process_gives_its_ports_back(hold, tmp_path):
    process, theirs = hold()
    process.kill()
    process.wait()
    with PortLeases(tmp_path) as leases:
        assert list(leases.take(3)) == theirs


def test_a_port_that_a_stranger_has_open_is_left_alone(tmp_path):
    with PortLeases(tmp_path) as leases:
        (port,) = leases.take(1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.bind(("127.0.0.1", port))
        with PortLeases(tmp_path) as leases:
            assert port not in leases.take(1)


def test_fleets_get_offsets_of_their_own(tmp_path):
    fleet = default_fleet(30, FleetOverrides(adapter="lightweight"))
    plans = []
    with PortLeases(tmp_path) as one, PortLeases(tmp_path) as other:
        for leases in (one, other):
            offset = leases.offset_for(lambda n: fleet.with_port_offset(n).port_plan())
            plans.append(fleet.with_port_offset(offset).port_plan())
    ports = [
        {(use.protocol, use.port) for use in plan.uses if use.role is not PortRole.RESERVED}
        for plan in plans
    ]
    assert not ports[0] & ports[1]


def test_when_nothing_is_left_it_says_so(tmp_path):
    with PortLeases(tmp_path) as leases:
        wanted = [loopback_use("udp", leases.take(1).start)]
        with pytest.raises(PortClashError):
            leases.take_set(lambda number: wanted, tries=3)
