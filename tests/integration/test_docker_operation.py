"""What an operator of ``docker compose`` relies on: ends, logs, tokens, costs, neighbours."""

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from docker_gcs import ground_station
from docker_images import docker
from docker_stack import Stack

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
SERVICE = "lightweight"
UP = ("up", "-d", "--no-build", "--wait", "--wait-timeout", "90", SERVICE)
# Every way to start that the README shows, as the words before and after "up".
WAYS = sorted(
    {
        (before.strip(), after.strip())
        for before, after in re.findall(
            r"docker compose (?:-p \w+ )?((?:--\w+ \w+ )*)up((?: -d --wait)?(?: lightweight)?)\b",
            (ROOT / "README.md").read_text(),
        )
    }
)
# Sends a signal to the run in its container, whose init process is another.
SIGNAL_RUN = """\
import os, pathlib, signal, sys
for process in pathlib.Path("/proc").glob("[0-9]*"):
    try:
        words = (process / "cmdline").read_bytes().split(b"\\0")
    except OSError:  # it ended meanwhile
        continue
    if words[1:2] == [b"-m"] and words[2].endswith(b"inside.bridge"):
        os.kill(int(process.name), signal.Signals[sys.argv[1]])
"""
(END,) = set(re.findall(r"^docker compose (.*\bdown)\b", (ROOT / "README.md").read_text(), re.M))


def free_port(of_udp=lambda port: ()):
    """A free TCP port for which the UDP ports are free as well."""
    for port in range(6000, 9000):
        with contextlib.ExitStack() as probes, contextlib.suppress(OSError):
            probes.enter_context(socket.create_server(("127.0.0.1", port)))
            for number in of_udp(port):
                udp = probes.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
                udp.bind(("0.0.0.0", number))
            return port
    raise AssertionError("no free port")


@pytest.fixture
def stack(image, engine, context):
    """Stacks with settings of the test's own, removed at its end."""
    made = []

    def make(**settings):
        images = dict.fromkeys(
            ("PICO_GZ_IMAGE", "PICO_GZ_GAZEBO_IMAGE", "PICO_GZ_GUI_IMAGE",
             "PICO_GZ_ARDUROVER_IMAGE"), image,
        )  # fmt: skip
        ports = {"DASHBOARD_PORT": "0", "MAVLINK_TCP_PORT": "0"}
        made.append(Stack(context, engine, **{**images, **ports, **settings}))
        return made[-1]

    yield make
    for one in made:
        one.down()


def pico_gz(stack, *words):
    return subprocess.run(
        [sys.executable, "-m", "pico_gz", *words, "--name", stack.project],
        env={**os.environ, **stack.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def left(stack):
    """What of a project the engine still has."""
    kinds = (("container", "-a"), ("network",), ("volume",))
    name = f"label=com.docker.compose.project={stack.project}"
    words = [(*kind[:1], "ls", *kind[1:], "-q", "--filter", name) for kind in kinds]
    return [line for one in words for line in docker(stack.environ, *one).stdout.split()]


def test_the_readme_shows_the_ways_that_are_tested():
    assert ("", "lightweight") in WAYS
    assert {before for before, _ in WAYS} >= {"", "--profile gui", "--profile ardupilot"}


@pytest.mark.parametrize(("before", "after"), WAYS)
def test_the_readmes_own_line_ends_every_way_to_start_that_it_shows(stack, before, after):
    """Gazebo's services are made, not started: their image is a stand-in."""
    one = stack()
    if after.endswith(SERVICE):
        one.compose(*UP)
    else:
        words = [word for word in after.split() if not word.startswith("-")]
        one.compose(*before.split(), "create", "--no-build", *words)
    assert left(one)
    # Without -p, as the README has it: with it Compose does not even read its file.
    environ = {**one.environ, "COMPOSE_PROJECT_NAME": one.project}
    docker(environ, "compose", *END.replace('"', "").split(), "-v", cwd=one.folder)
    assert left(one) == []


def test_the_log_has_the_places_outside_and_no_false_alarm(stack):
    port = free_port()
    one = stack(MAVLINK_TCP_PORT=str(port))
    one.compose(*UP)
    text = one.logs()
    assert "other machines" not in text
    assert "0.0.0.0" not in text
    assert "every other address" not in text
    assert f"whole fleet on TCP 127.0.0.1:{port}" in text
    command = re.search(r"another terminal: (docker compose .* pico-gz ctl) status", text)[1]
    assert one.project in command
    # From any folder, with no Compose file at hand; tests have no terminal.
    words = command.replace(" exec ", " exec -T ").split()[1:]
    answer = docker(one.environ, *words, "status", "--json", cwd="/")
    assert '"state": "running"' in answer.stdout


def test_two_stacks_do_not_mix_on_the_ground_stations_port(stack):
    ports, stacks = [], []
    for _ in range(2):
        port = free_port(lambda port: (14550 + port - 5760,))
        one = stack(MAVLINK_TCP_PORT=str(port))
        one.compose(*UP)
        ports.append(14550 + port - 5760)
        stacks.append(one)
    assert len(set(ports)) == 2
    for one, port in zip(stacks, ports, strict=True):
        assert f"sending to UDP {port} of this machine" in one.logs()
        beats = heartbeats(port, 4.0)
        assert sorted(beats) == [1, 2, 3]
        assert max(beats.values()) <= 6  # one a second of each, not two


def heartbeats(port, seconds):
    """How many heartbeats of each vehicle arrive."""
    found = {}
    with ground_station(f"udpin:0.0.0.0:{port}") as link:
        end_s = time.monotonic() + seconds
        while (left_s := end_s - time.monotonic()) > 0:
            beat = link.recv_match(type="HEARTBEAT", blocking=True, timeout=left_s)
            if beat is not None:
                found[beat.get_srcSystem()] = found.get(beat.get_srcSystem(), 0) + 1
    return found


def test_the_address_of_the_view_survives_a_restart_and_status_prints_it(stack):
    one = stack(DASHBOARD_PORT=str(free_port()), DASHBOARD_INSIDE="")
    one.compose(*UP)
    (address,) = addresses(one.logs())
    one.compose("restart", SERVICE)
    one.wait_for_health(SERVICE)
    assert addresses(one.logs()) == {address}
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with browser.open(address, timeout=10) as answer:
        assert answer.status == 200
    status = pico_gz(one, "status")
    assert f"Browser view: {address}" in status.stdout.splitlines()


def addresses(text):
    return set(re.findall(r"http://\S+", text))


def test_health_checks_are_rare_once_all_is_well_and_see_trouble_soon(stack):
    one = stack()
    one.compose(*UP)
    container, begin = one.container(SERVICE), int(time.time())
    time.sleep(20)
    words = ("events", "--since", str(begin), "--until", str(int(time.time())),
             "--filter", f"container={container}", "--filter", "event=exec_start")  # fmt: skip
    assert len(docker(one.environ, *words).stdout.splitlines()) <= 2
    # The run is stopped, as one that hangs.
    one.run_inside(SERVICE, "python3", "-c", SIGNAL_RUN, "SIGSTOP")
    try:
        deadline_s = time.monotonic() + 20
        while one.inspect(SERVICE)["State"]["Health"]["FailingStreak"] == 0:
            assert time.monotonic() < deadline_s
            time.sleep(0.5)
    finally:
        one.run_inside(SERVICE, "python3", "-c", SIGNAL_RUN, "SIGCONT")
    one.wait_for_health(SERVICE)


def test_an_image_that_is_built_here_is_not_looked_for_elsewhere(stack):
    one = stack(PICO_GZ_IMAGE="pico-gz-image-that-does-not-exist")
    done = docker(
        one.environ, "compose", "-p", one.project, "up", "-d", "--no-build", SERVICE,
        cwd=one.folder, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "No such image" in done.stderr
    assert "Pull" not in done.stderr


def test_a_container_without_memory_is_named(stack):
    one = stack(MEMORY="40m")
    with contextlib.suppress(AssertionError):  # it never becomes healthy
        one.compose(*UP)
    status = pico_gz(one, "status")
    if "exited (0)" in status.stdout or "healthy " in status.stdout:
        pytest.skip("this engine does not limit memory")
    assert status.returncode == 1
    assert re.search(r"lightweight +out of memory \(4\d MB\)", status.stdout)
    assert "lightweight: killed, it wanted more than 4" in status.stdout


def test_a_closed_fleet_file_is_named_as_it_is_outside(stack, tmp_path):
    fleet = tmp_path / "yard.toml"
    fleet.write_text("[fleet]\ncount = 1\n")
    tmp_path.chmod(0o755)
    fleet.chmod(0o600)
    one = stack(FLEET=str(fleet), PICO_GZ_USER="4321:4321")
    with pytest.raises(AssertionError, match=f"{fleet} is closed to user 4321"):
        one.compose(*UP)
