"""Port leases: nobody gets what another holds, in this process or in another."""

import fcntl
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pico_gz.core.ports import PortRole
from pico_gz.errors import PortClashError
from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.testing import port_lease
from pico_gz.testing.port_lease import PortLeases, lock_folders, loopback_use

ROOT = Path(__file__).parents[2]

HOLD = """
import sys
from pathlib import Path
from pico_gz.core.ports import PortRole
from pico_gz.testing.port_lease import PortLeases
with PortLeases(Path(sys.argv[1]) if sys.argv[1] else None) as leases:
    print(*leases.take(3), flush=True)
    sys.stdin.read()
"""

UNREADABLE = """
import os, sys, tempfile
from pathlib import Path
from pico_gz.testing.port_lease import PortLeases
with PortLeases(Path(sys.argv[1])) as leases:
    (port,) = leases.take()  # nothing is left to import
if os.geteuid() == 0:
    os.seteuid(65534)  # root may read everything
with tempfile.TemporaryDirectory() as folder:
    (Path(folder) / f"{port}.lock").touch(mode=0)
    with PortLeases(Path(folder)) as leases:
        print(port, *leases.take())
"""


@pytest.fixture
def hold(tmp_path):
    """A process that has leased three ports; returns them and the process."""
    processes = []

    def start(folder=str(tmp_path), **environ):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, folder],
            env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
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


def test_processes_with_other_temporary_folders_get_other_ports(hold, tmp_path):
    (tmp_path / "theirs").mkdir()
    _, first = hold("")
    _, second = hold("", TMPDIR=str(tmp_path / "theirs"))
    assert not {*first} & {*second}


def test_who_cannot_use_the_folder_of_the_host_meets_others_in_its_own(tmp_path, monkeypatch):
    host, own = tmp_path / "host", tmp_path / "own"
    host.mkdir()
    own.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(own))
    monkeypatch.setattr(port_lease, "HOST_TMP", tmp_path / "missing")
    assert lock_folders() == [own / "pico_gz-ports"]
    monkeypatch.setattr(port_lease, "HOST_TMP", host)
    assert lock_folders() == [host / "pico_gz-ports", own / "pico_gz-ports"]
    with PortLeases() as everywhere, PortLeases(own / "pico_gz-ports") as only_there:
        assert not {*everywhere.take(3)} & {*only_there.take(3)}


def test_locks_can_be_opened_by_all_users(tmp_path):
    folder = tmp_path / "locks"
    before = os.umask(0o077)
    try:
        with PortLeases(folder) as leases:
            leases.take()
    finally:
        os.umask(before)
    # More than one where another program holds a port that was tried first.
    assert {stat.S_IMODE(lock.stat().st_mode) for lock in folder.iterdir()} == {0o644}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o1777


def test_a_lock_that_cannot_be_opened_is_somebody_elses(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", UNREADABLE, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    locked, got = done.stdout.split()
    assert locked != got


def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path):
    with PortLeases(tmp_path / "locks") as leases:
        (port,) = leases.take()
    lock, target = tmp_path / f"locks/{port}.lock", tmp_path / "target"
    target.touch(mode=0o600)
    lock.unlink()
    lock.symlink_to(target)
    with PortLeases(tmp_path / "locks") as leases:
        (other,) = leases.take()
        with target.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # nobody has locked it
    assert other // 100 != port // 100


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
