"""What the health checks conclude from what they see."""

import pytest

from pico_gz.cli.tools.containers.inside.check_bridge import judge
from pico_gz.cli.tools.containers.inside.check_gazebo import (
    WorldState,
    bound_udp_ports,
    deaf_vehicles,
    examine,
    read_state,
    write_state,
)
from pico_gz.cli.tools.containers.inside.check_process import running

UDP_TABLE = """\
   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
  912: 0100007F:232A 00000000:0000 07 00000000:00000000 00:00000000 00000000 10001        0 5 2 0 0
  922: 0100007F:2334 00000000:0000 07 00000000:00000000 00:00000000 00000000 10001        0 6 2 0 0
"""


def answer(**changes):
    return {
        "state": "running",
        "steps": 10,
        "sim_time_s": 0.1,
        "vehicles": {"1": {"north_m": 0.0}},
        **changes,
    }


@pytest.mark.parametrize(
    ("after", "problem"),
    [
        (answer(steps=11), None),
        (answer(), "the run stands still at 0.1 s"),
        (answer(state="paused"), None),
        (answer(state="failed", steps=11), "the run is failed"),
        (answer(steps=11, vehicles={"2": {"north_m": None}}), "vehicles without any state: 2"),
    ],
)
def test_bridge(after, problem):
    assert judge(answer(), after) == problem


def test_ports_of_plugins_are_read_from_the_kernels_table():
    bound = bound_udp_ports([UDP_TABLE, UDP_TABLE.splitlines()[0]])
    assert bound == {9002, 9012}
    state = WorldState(name="w", plugin_ports={"1": 9002, "2": 9012, "3": 9022}, has_begun=True)
    assert deaf_vehicles(state, bound) == ["3"]


def test_a_world_that_has_not_begun_is_not_healthy():
    assert examine(None) == (False, "the world has not begun yet")
    state = WorldState(name="w", plugin_ports={})
    assert examine(state) == (False, "the world has not begun yet")


def test_state_file(tmp_path):
    path = tmp_path / "state.json"
    assert read_state(path) is None
    state = WorldState(name="yard", plugin_ports={"1": 9002}, has_begun=True)
    write_state(state, path)
    assert read_state(path) == state
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]


def test_processes_are_counted_by_their_program(tmp_path):
    for pid, (words, state) in {
        "1": (b"/sbin/docker-init\0--\0python3\0", "S"),
        "7": (b"ardurover\0--model\0JSON\0", "R"),
        "8": (b"/usr/local/bin/ardurover\0-I\0", "S"),
        "9": (b"ardurover\0", "Z"),
        "10": (b"gz sim -g\0", "S"),
        "11": (b"/usr/bin/ruby\0/usr/bin/gz\0sim\0", "S"),
        "12": (b"sh\0-c\0ardurover\0", "S"),
    }.items():
        folder = tmp_path / pid
        folder.mkdir()
        (folder / "cmdline").write_bytes(words)
        (folder / "stat").write_text(f"{pid} (a (b) c) {state} 1 1")
    (tmp_path / "self").mkdir()
    (tmp_path / "13").mkdir()  # ended while it was looked at
    assert running("ardurover", tmp_path) == 2
    assert running("gz", tmp_path) == 2
