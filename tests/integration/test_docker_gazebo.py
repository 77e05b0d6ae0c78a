"""The Gazebo services of ``compose.yaml`` against the Gazebo of this machine.

The image cannot be made where the OSRF packages cannot be reached. So the very same Compose file,
entry points and health checks run in a substitute: the lightweight image, which has the same
package in the same place, with this machine's Gazebo mounted into it, read-only.
"""

import json
import re
import subprocess
import time
from pathlib import Path

import pytest
from docker_gcs import drive_north, ground_station, systems_heard
from docker_images import docker
from docker_stack import Stack
from external_programs import need_ardurover
from fleet_process import free_port_run

from pico_gz.gazebo.install import find_gazebo

pytestmark = [
    pytest.mark.docker,
    pytest.mark.gazebo,
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("gazebo"),
]

FLEET = """\
[fleet]
name = "in_gazebo"
count = 2
[ports]
mavlink_base = {base}
"""
INSIDE = "pico_gz.cli.tools.containers.inside"
_LIBRARY = re.compile(r"(/\S+/)(libpython\S+)")


def gazebo_prefix():
    """Where this machine's Gazebo is installed, from the script that starts it."""
    script = find_gazebo().program.read_text(errors="replace")
    match = re.search(r"^P=(/\S+)$", script, re.M)
    return Path(match.group(1)) if match else None


def mounts():
    """What the substitute needs of this machine: programs, libraries and bindings."""
    prefix = gazebo_prefix()
    # Not all of /usr: the engine puts its init program into /usr/sbin.
    folders = ("/usr/bin", "/usr/lib", "/usr/local", "/usr/share")
    places = [Path(word) for word in (*folders, "/etc/alternatives", "/etc/ld.so.cache")]
    if prefix is not None:
        places.append(prefix)
    found = [f"{place}:{place}:ro" for place in places if place.exists()]
    library = python_library(prefix)
    if library is not None:
        found.append(f"{library.parent}:/opt/libpython:ro")
    return found


def python_library(prefix):
    """The libpython that a Gazebo built from sources is linked to, if it is not the system's."""
    if prefix is None:
        return None
    libraries = sorted((prefix / "lib").glob("libgz-sim8.so*"))
    listing = subprocess.run(["ldd", str(libraries[0])], capture_output=True, text=True).stdout
    match = _LIBRARY.search(listing)
    if match is None or match[1].startswith(("/usr/", "/lib")):
        return None
    return Path(match[1]) / match[2]


def override(folder):
    """A Compose file that puts this machine's Gazebo into the gazebo service."""
    prefix = gazebo_prefix()
    libraries = ":".join(["/opt/libpython", *([f"{prefix}/lib"] if prefix else [])])
    environment = {
        "PATH": "/opt/pico-gz/bin:/usr/local/bin:/usr/bin:/bin",
        "LD_LIBRARY_PATH": libraries,
        "PICO_GZ_PLUGIN_PATH": str(find_gazebo().plugin.parent),
    }
    if prefix:
        environment["PYTHONPATH"] = f"{prefix}/lib/python"
    path = folder / "substitute.yaml"
    service = {"environment": environment, "volumes": mounts()}
    path.write_text(json.dumps({"services": {"gazebo": service}}))
    return path


def same_python(image, engine):
    """Whether the image's environment can use the Python under /usr of this machine."""
    words = ("python3", "-c", "import sys; print(sys.version_info[:2])")
    ours = subprocess.run(["/usr/bin/python3", *words[1:]], capture_output=True, text=True)
    return docker(engine, "run", "--rm", image, *words).stdout == ours.stdout


@pytest.fixture(scope="module")
def stack(image, engine, context, tmp_path_factory):
    """gazebo and bridge, started by the Compose file of the project."""
    if not same_python(image, engine):
        pytest.skip("no Gazebo was tested: its Python and the image's are of different versions")
    folder = tmp_path_factory.mktemp("gazebo")
    fleet = folder / "fleet.toml"
    fleet.write_text(FLEET.format(base=free_port_run(2)))
    found = Stack(
        context,
        engine,
        files=(context / "compose.yaml", override(folder)),
        PICO_GZ_IMAGE=image,
        PICO_GZ_GAZEBO_IMAGE=image,
        FLEET=str(fleet),
        DASHBOARD_PORT="0",
        MAVLINK_TCP_PORT="0",
    )
    found.gcs_port = int(fleet.read_text().split()[-1])
    try:
        found.compose("up", "-d", "--no-build", "--wait", "--wait-timeout", "120")
        yield found
    finally:
        found.down()


def test_gazebo_and_bridge_are_healthy(stack):
    assert sorted(stack.compose("ps", "--services").split()) == ["bridge", "gazebo"]
    assert stack.health("gazebo") == "healthy"
    assert stack.health("bridge") == "healthy"
    assert status(stack)["vehicles"]["1"]["adapter"] == "gazebo"
    assert stack.get("gazebo", "/healthz")[1].strip() == "ok"


def status(stack):
    return json.loads(stack.run_inside("bridge", "pico-gz", "ctl", "status", "--json"))


def test_the_fleet_reaches_the_host_on_the_shared_port(stack):
    with ground_station(f"udpin:0.0.0.0:{stack.gcs_port}") as link:
        assert systems_heard(link, {1, 2}) == {1, 2}


def test_gazebo_has_no_rights_either(stack):
    lines = stack.run_inside("gazebo", "cat", "/proc/1/status").splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    assert int(fields["Uid"].split()[0]) == 10001
    assert fields["CapEff"].strip() == "0" * 16
    assert stack.inspect("gazebo")["HostConfig"]["ReadonlyRootfs"]


def test_a_mission_in_gazebo(stack):
    host, port = stack.port("gazebo", 5760)
    with ground_station(f"tcp:{host}:{port}") as link:
        assert systems_heard(link, {1, 2}) == {1, 2}
        drive_north(link, 1)
    assert status(stack)["vehicles"]["1"]["north_m"] > 7.0


def test_a_paused_run_leaves_both_healthy(stack):
    stack.run_inside("bridge", "pico-gz", "ctl", "pause")
    try:
        time.sleep(3)
        before = status(stack)["steps"]
        gazebo = stack.run_inside("gazebo", *check("gazebo"))
        assert "stands still" in gazebo
        stack.run_inside("bridge", *check("bridge"))
        assert status(stack)["steps"] == before
    finally:
        stack.run_inside("bridge", "pico-gz", "ctl", "resume")
    time.sleep(1)
    assert stack.run_inside("gazebo", *check("gazebo")).strip() == "ok"


def check(service):
    # As a container that has just started: this check answers at once.
    return ("sh", "-c", f"rm -f /tmp/pico_gz_healthy; python3 -m {INSIDE}.check_{service}")


def test_the_bridge_can_be_restarted_alone(stack):
    stack.compose("restart", "--no-deps", "bridge")
    stack.wait_for_health("bridge")
    assert stack.health("gazebo") == "healthy"
    with ground_station(f"udpin:0.0.0.0:{stack.gcs_port}") as link:
        assert systems_heard(link, {1, 2}) == {1, 2}


def test_a_stopped_bridge_is_not_gazebos_fault(stack):
    try:
        stack.compose("stop", "bridge")
        time.sleep(1)
        assert "stands still" in stack.run_inside("gazebo", *check("gazebo"))
        assert stack.stop("gazebo") == 0
    finally:  # for the other tests, whatever their order
        stack.compose("up", "-d", "--no-build", "--wait", "--wait-timeout", "120")


@pytest.mark.ardupilot
def test_ardurovers_drive_in_the_network_of_gazebo(stack, image, engine, context, tmp_path):
    """``AUTOPILOT=external docker compose --profile ardupilot up``, two real ArduRovers."""
    path = override(tmp_path)
    content = json.loads(path.read_text())
    program = f"{need_ardurover()}:/usr/local/bin/ardurover:ro"
    content["services"]["ardurover"] = {"volumes": [program]}
    path.write_text(json.dumps(content))
    base = free_port_run(2)
    fleet = tmp_path / "fleet.toml"
    fleet.write_text(FLEET.format(base=base))
    driven = Stack(
        context,
        engine,
        files=(context / "compose.yaml", path),
        PICO_GZ_IMAGE=image,
        PICO_GZ_GAZEBO_IMAGE=image,
        PICO_GZ_ARDUROVER_IMAGE=image,
        FLEET=str(fleet),
        AUTOPILOT="external",
        GCS="per_vehicle",
        DASHBOARD_PORT="0",
        MAVLINK_TCP_PORT="0",
    )
    try:
        words = ("up", "-d", "--no-build", "--wait", "--wait-timeout", "120")
        driven.compose("--profile", "ardupilot", *words)
        for number in (1, 2):
            with ground_station(f"udpin:0.0.0.0:{base + number - 1}") as link:
                assert systems_heard(link, {number}) == {number}
        assert driven.health("ardurover") == "healthy"
        assert status(driven)["steps"] > 100
        assert driven.stop("ardurover") == 0
    finally:
        driven.down()


def test_a_deaf_world_never_becomes_healthy(stack, image, engine, context, tmp_path):
    """Without the plugin Gazebo runs on, and nobody could drive: the service must end."""
    path = override(tmp_path)
    content = json.loads(path.read_text())
    content["services"]["gazebo"]["environment"]["PICO_GZ_PLUGIN_PATH"] = "/nowhere"
    content["services"]["gazebo"]["tmpfs"] = [str(find_gazebo().plugin.parent)]
    path.write_text(json.dumps(content))
    deaf = Stack(
        context,
        engine,
        files=(context / "compose.yaml", path),
        PICO_GZ_IMAGE=image,
        PICO_GZ_GAZEBO_IMAGE=image,
        DASHBOARD_PORT="0",
        MAVLINK_TCP_PORT="0",
    )
    try:
        with pytest.raises(AssertionError, match="gazebo"):
            deaf.compose("up", "-d", "--no-build", "--wait", "--wait-timeout", "60")
        assert "libArduPilotPlugin.so" in deaf.logs()
    finally:
        deaf.down()
