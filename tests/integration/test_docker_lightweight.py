"""``docker compose up lightweight``, looked at from outside as its users do."""

import contextlib
import json
import os
import time

import pytest
from docker_gcs import await_message, drive_north, ground_station, systems_heard
from docker_images import docker
from docker_stack import Stack
from fleet_process import free_port_run

from pico_gz.simulator import native_build

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]

SERVICE = "lightweight"
CHECK = "python3 -m pico_gz.cli.tools.containers.inside.check_bridge"
LIMIT_MB = 350
FLEET = """\
[fleet]
name = "from_outside"
count = 3
[time]
speed = 3.0
[ports]
mavlink_base = {base}
"""


@pytest.fixture(scope="module")
def start(image, engine, context, tmp_path_factory):
    """Start a stack of a fleet with three rovers, each with a port of its own."""
    started = []

    def up():
        folder = tmp_path_factory.mktemp("fleet")
        fleet, runs = folder / "fleet.toml", folder / "runs"
        base = free_port_run(3)
        fleet.write_text(FLEET.format(base=base))
        runs.mkdir()
        if os.getuid() == 0:  # a caller who is neither root nor the user of the image
            os.chown(runs, 4321, 4321)
        owner = runs.stat()
        stack = Stack(
            context,
            engine,
            PICO_GZ_IMAGE=image,
            FLEET=str(fleet),
            RUNS=str(runs),
            PICO_GZ_USER=f"{owner.st_uid}:{owner.st_gid}",
            RECORD="on",
            GCS="per_vehicle",
            DASHBOARD_PORT="0",
            MAVLINK_TCP_PORT="0",
        )
        stack.gcs_base, stack.runs = base, runs
        started.append(stack)
        stack.compose("up", "-d", "--no-build", "--wait", "--wait-timeout", "90", SERVICE)
        return stack

    try:
        yield up
    finally:
        for stack in started:
            stack.down()


@pytest.fixture(scope="module")
def stack(start):
    """A stack that no test ends: their order is not fixed when they run in parallel."""
    return start()


def test_only_this_service_runs(stack):
    assert stack.compose("ps", "--services").split() == [SERVICE]
    assert stack.health(SERVICE) == "healthy"


def test_heartbeats_arrive_on_the_port_of_each_vehicle(stack):
    with contextlib.ExitStack() as links:
        for number in (1, 2, 3):
            url = f"udpin:0.0.0.0:{stack.gcs_base + number - 1}"
            link = links.enter_context(ground_station(url))
            assert systems_heard(link, {number}) == {number}


def test_a_mission_through_tcp(stack):
    host, port = stack.port(SERVICE, 5760)
    with ground_station(f"tcp:{host}:{port}") as link:
        assert systems_heard(link, {1, 2, 3}) == {1, 2, 3}
        drive_north(link, 2)
        place = await_message(link, "GLOBAL_POSITION_INT", lambda m: m.get_srcSystem() == 2)
    assert place.lat - 356_812_360 > 600  # 1e-7 degrees: 10 m are 900


def test_the_browser_view_answers_on_loopback_only(stack):
    status, text = stack.get(SERVICE, "/healthz")
    assert (status, text.strip()) == (200, "ok")
    bindings = stack.inspect(SERVICE)["NetworkSettings"]["Ports"].values()
    assert {place["HostIp"] for places in bindings if places for place in places} == {"127.0.0.1"}


def test_it_has_no_rights(stack):
    status = stack.run_inside(SERVICE, "cat", "/proc/1/status")
    fields = dict(line.split(":", 1) for line in status.splitlines())
    assert int(fields["Uid"].split()[0]) != 0
    assert {fields[name].strip() for name in ("CapPrm", "CapEff", "CapBnd")} == {"0" * 16}
    assert fields["NoNewPrivs"].strip() == "1"
    assert (
        stack.run_inside(SERVICE, "sh", "-c", "touch /opt/x /etc/x; echo $?", check=False) == "1\n"
    )
    host = stack.inspect(SERVICE)["HostConfig"]
    assert host["ReadonlyRootfs"]
    assert not host["Privileged"]
    assert host["PidsLimit"] > 0
    assert host["Memory"] > 0


def test_a_paused_run_stays_healthy(stack):
    stack.run_inside(SERVICE, "pico-gz", "ctl", "pause")
    try:
        before = _steps(stack)
        for _ in range(3):
            # As in a container that has just started: this check answers at once.
            stack.run_inside(SERVICE, "sh", "-c", f"rm -f /tmp/pico_gz_healthy; {CHECK}")
            time.sleep(0.5)
        assert _steps(stack) == before
    finally:
        stack.run_inside(SERVICE, "pico-gz", "ctl", "resume")


def _steps(stack):
    return json.loads(stack.run_inside(SERVICE, "pico-gz", "ctl", "status", "--json"))["steps"]


def test_restart_of_the_container(stack):
    started_s = time.monotonic()
    stack.compose("restart", SERVICE)
    stack.wait_for_health(SERVICE)
    assert time.monotonic() - started_s < 60
    with ground_station(f"udpin:0.0.0.0:{stack.gcs_base}") as link:
        assert systems_heard(link, {1}) == {1}


def test_the_end_is_quick_and_clean_and_recordings_belong_to_the_caller(start):
    stack = start()
    assert stack.stop(SERVICE) == 143  # by itself, on SIGTERM
    owner = stack.runs.stat()
    (recording,) = stack.runs.glob("from_outside-*/run.json")
    for path in (recording, recording.parent):
        assert (path.stat().st_uid, path.stat().st_gid) == (owner.st_uid, owner.st_gid)
    assert json.loads(recording.read_text())["result"]["steps"] > 0
    stack.down()
    for kind in ("container", "network", "volume"):
        words = (kind, "ls", "-q", "--filter", f"label=com.docker.compose.project={stack.project}")
        assert docker(stack.environ, *words).stdout == ""


def test_the_image_is_small(image, engine, base):
    sizes = [
        int(docker(engine, "image", "inspect", "-f", "{{.Size}}", name).stdout)
        for name in (image, base)
    ]
    assert (sizes[0] - sizes[1]) / 1e6 <= LIMIT_MB


def test_the_image_is_not_root_and_holds_no_build_tools(image, engine):
    user = docker(engine, "image", "inspect", "-f", "{{.Config.User}}", image).stdout.strip()
    assert user == "10001:10001"
    words = (
        "run",
        "--rm",
        "--network",
        "none",
        image,
        "sh",
        "-c",
        "ls /opt/pico-gz/bin; ls /source",
    )
    listing = docker(engine, *words, check=False)
    assert "pico-gz" in listing.stdout.split()
    assert "pip" not in listing.stdout.split()
    assert "No such file" in listing.stderr


def test_the_image_holds_the_compiled_core_and_no_compiler(image, engine):
    if native_build.load() is None:  # built without an index, the image takes the core from here
        pytest.skip(f"not checked: the simulator is {native_build.describe()}")
    words = ("--network", "none", image, "sh", "-c", "command -v cc gcc clang; pico-gz doctor")
    first, *lines = docker(engine, "run", "--rm", *words, check=False).stdout.splitlines()
    assert first.split()[1] == "Python", "the image has a compiler"
    assert "simulator core: native" in lines


def test_a_missing_fleet_file_is_said_plainly(image, engine, context, tmp_path):
    wrong = Stack(context, engine, PICO_GZ_IMAGE=image, FLEET=str(tmp_path / "none.toml"))
    try:
        with pytest.raises(AssertionError, match=r"none\.toml"):
            wrong.compose("up", "-d", "--no-build", SERVICE)
        assert not (tmp_path / "none.toml").exists()
    finally:
        wrong.down()
