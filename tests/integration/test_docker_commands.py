"""``pico-gz up|status|logs|down|compose`` against a real engine."""

import json
import os
import re
import secrets
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from docker_gcs import ground_station, systems_heard
from docker_images import docker
from docker_stack import Stack
from fleet_process import free_port_run

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
FLEET = """\
[fleet]
count = 2
adapter = "lightweight"
[ports]
mavlink_base = {base}
mavlink_tcp = {tcp}
"""


@pytest.fixture(scope="module")
def pico_gz(image, engine, tmp_path_factory):
    """Run the command in an empty folder, with the image that was just built."""
    folder = tmp_path_factory.mktemp("work")
    folder.chmod(0o755)  # a container is never root

    def call(*words, timeout_s=180, **environ):
        return subprocess.run(
            [sys.executable, "-m", "pico_gz", *words],
            cwd=folder,
            env={
                **os.environ,
                **engine,
                "PYTHONPATH": str(ROOT),
                "PICO_GZ_IMAGE": image,
                "PICO_GZ_GAZEBO_IMAGE": "pico-gz-image-that-nobody-made",
                **environ,
            },
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    call.folder = folder
    return call


@pytest.fixture(scope="module")
def start(pico_gz):
    """Start a run with ``pico-gz up``; gives what it printed."""
    names = []

    def up():
        name = f"picogz{secrets.token_hex(4)}"
        names.append(name)
        base, tcp = free_port_run(2), free_port_run(1, socket.SOCK_STREAM)
        (pico_gz.folder / f"{name}.toml").write_text(FLEET.format(base=base, tcp=tcp))
        done = pico_gz(
            "up", f"{name}.toml", "--lightweight", "--name", name, "--record", "--json",
            "--runs", f"runs_{name}", "--port-offset", "auto", "--gcs", "per_vehicle",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return {"gcs": base, "progress": done.stderr, **json.loads(done.stdout)}

    try:
        yield up
    finally:
        for name in names:
            pico_gz("down", "--name", name, "--volumes")


@pytest.fixture(scope="module")
def run(start):
    """A run that no test ends: their order is not fixed when they run in parallel."""
    return start()


def test_up_says_where_to_connect(run):
    assert run["services"] == ["lightweight"]
    assert "Healthy" in run["progress"]
    # As a browser does: the token in the address is swapped for a cookie.
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with browser.open(run["view"], timeout=10) as answer:
        assert answer.status == 200
        assert "token" not in answer.url
    host, port = run["mavlink_tcp"].split(":")
    with ground_station(f"tcp:{host}:{port}") as link:
        assert systems_heard(link, {1, 2}) == {1, 2}
    with ground_station(f"udpin:0.0.0.0:{run['gcs'] + 1}") as link:
        assert systems_heard(link, {2}) == {2}


def test_the_view_wants_the_token_of_its_run(run):
    bare = run["view"].partition("?")[0]
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(bare, timeout=10)
    with refused.value as answer:
        assert answer.code == 403


def test_status_as_a_table_and_as_json(pico_gz, run):
    table = pico_gz("status", "--name", run["run"])
    assert table.returncode == 0, table.stderr
    row = next(line for line in table.stdout.splitlines() if line.startswith("lightweight"))
    assert re.search(r"healthy +\d+ % +\d+ MB +[\d.]+x +2 running +127\.0\.0\.1:\d+", row)
    (service,) = json.loads(pico_gz("status", "--name", run["run"], "--json").stdout)["services"]
    assert service["run"]["lost_steps"] == 0
    assert service["memory_bytes"] > 10e6


def test_logs(pico_gz, run):
    text = pico_gz("logs", "--name", run["run"]).stdout
    assert re.search(r"^lightweight \| .*2 rovers on lightweight", text, re.M)
    assert "\x1b" not in text
    assert len(pico_gz("logs", "--name", run["run"], "--tail", "1").stdout.splitlines()) == 1
    wrong = pico_gz("logs", "gazbo", "--name", run["run"])
    assert wrong.returncode == 2
    assert "gazbo" in wrong.stderr


def test_followed_logs_end_with_the_containers_and_down_removes_the_rest(
    pico_gz, start, engine, image
):
    run = start()
    _stop_while_followed(pico_gz, run, engine)
    status = pico_gz("status", "--name", run["run"])
    assert status.returncode == 1
    assert "exited (143)" in status.stdout
    _down_beside_a_stranger(pico_gz, run, engine, image)
    assert len(list((pico_gz.folder / f"runs_{run['run']}").glob("*/run.json"))) == 1


def _stop_while_followed(pico_gz, run, engine):
    environ = {**os.environ, **engine, "PYTHONPATH": str(ROOT)}
    following = subprocess.Popen(
        [sys.executable, "-m", "pico_gz", "logs", "-f", "--name", run["run"]],
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert following.stdout.readline().startswith("lightweight |")
        (state,) = json.loads(pico_gz("status", "--name", run["run"], "--json").stdout)["services"]
        docker(engine, "stop", "--time", "60", state["container"])
        rest, _ = following.communicate(timeout=30)
    finally:
        following.kill()
    assert following.returncode == 0
    assert "Trace:" in rest


def _down_beside_a_stranger(pico_gz, run, engine, image):
    stranger = docker(
        engine, "run", "-d", "--label", "pico_gz.run=somebody_else", image, "sleep", "60"
    ).stdout.strip()
    try:
        removed = json.loads(pico_gz("down", "--name", run["run"], "--json").stdout)["removed"]
        assert sorted(word.split()[0] for word in removed) == ["container", "network"]
        assert docker(engine, "inspect", "-f", "{{.State.Status}}", stranger).stdout.strip() == (
            "running"
        )
        again = pico_gz("down", "--name", run["run"])
        assert "Nothing of" in again.stdout
        assert pico_gz("status", "--name", run["run"]).returncode == 1
    finally:
        docker(engine, "rm", "-f", stranger)


def test_a_stopped_up_leaves_nothing_that_goes_on(pico_gz, engine, image):
    name = f"picogz{secrets.token_hex(4)}"
    words = ("up", "--lightweight", "--name", name, "--port-offset", "auto")
    with subprocess.Popen(
        [sys.executable, "-m", "pico_gz", *words],
        cwd=pico_gz.folder,
        env={**os.environ, **engine, "PYTHONPATH": str(ROOT), "PICO_GZ_IMAGE": image},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert any(" Created" in line for line in process.stderr)  # the network is the first
            process.terminate()
            rest = process.stderr.read()
            assert process.wait(timeout=60) == 143
            assert f"pico-gz down --name {name} removes what was started" in rest
            assert name not in _commands_of_others()
        finally:
            process.kill()
            removed = json.loads(pico_gz("down", "--name", name, "--json").stdout)["removed"]
    assert f"network {name}_default" in removed
    kept = docker(engine, "ps", "-a", "-q", "--filter", f"label=pico_gz.run={name}").stdout
    assert kept == ""


def _commands_of_others():
    return subprocess.run(["ps", "-e", "-o", "args"], capture_output=True, text=True).stdout


def test_a_taken_port_is_named(pico_gz, ports):
    (port,) = ports.take(1)  # low enough that the offset moves no port beyond 65535
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        offset = port - 8085
        done = pico_gz("up", "--lightweight", "--port-offset", str(offset), "--name", "picogzport")
    assert done.returncode == 3
    assert str(8085 + offset) in done.stderr
    assert "--port-offset auto" in done.stderr


@pytest.mark.skipif(os.getuid() != 0, reason="others run containers as themselves")
def test_a_closed_folder_is_named(pico_gz, tmp_path):
    fleet = tmp_path / "fleet.toml"
    fleet.write_text("")
    tmp_path.chmod(0o700)
    done = pico_gz("up", str(fleet), "--lightweight", "--port-offset", "auto", "--name", "picogzc")
    assert done.returncode == 2
    assert f"chmod o+rx {tmp_path}" in done.stderr


def test_a_missing_image_is_named(pico_gz):
    done = pico_gz("up", "--no-build", "--port-offset", "auto", "--name", "picogznoimage")
    assert done.returncode == 4
    assert "pico-gz-image-that-nobody-made is not here" in done.stderr


def test_an_unhealthy_service_is_named_with_its_reason(pico_gz, image):
    """The image is there, but its Gazebo is not."""
    name = f"picogz{secrets.token_hex(4)}"
    try:
        done = pico_gz(
            "up", "--no-build", "--port-offset", "auto", "--name", name,
            PICO_GZ_GAZEBO_IMAGE=image,
        )  # fmt: skip
        assert done.returncode == 1
        assert "gazebo is exited (2)" in done.stderr
        assert f"pico-gz logs --name {name}" in done.stderr
        logs = pico_gz("logs", "--name", name).stdout
        assert "there is no gz program on the PATH" in logs
    finally:
        pico_gz("down", "--name", name, "--volumes")


def test_no_engine_is_said_plainly(pico_gz):
    for command in (("up", "--lightweight"), ("status",), ("logs",), ("down",)):
        done = pico_gz(*command, DOCKER_HOST="unix:///nowhere/docker.sock")
        assert done.returncode == 4, command
        assert done.stderr.startswith("Error: No Docker engine answers.")
        assert "Traceback" not in done.stderr


def test_a_written_compose_file_runs_two_bridges(pico_gz, image, engine, tmp_path_factory):
    fleet = pico_gz.folder / "parts.toml"
    fleet.write_text('[fleet]\ncount = 5\nadapter = "lightweight"\n')
    project = f"picogz{secrets.token_hex(4)}"
    done = pico_gz("compose", "parts.toml", "-o", "parts.yaml", "--per-bridge", "3",
                   "--name", project, "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["checked"]
    assert [part["vehicles"] for part in answer["parts"]] == [[1, 2, 3], [4, 5]]
    # It can be shared: it runs in another folder, at any free ports.
    folder = tmp_path_factory.mktemp("elsewhere")
    folder.chmod(0o755)
    fleet.rename(folder / fleet.name)
    text = (pico_gz.folder / "parts.yaml").read_text()
    assert str(pico_gz.folder) not in text
    file = folder / "parts.yaml"
    file.write_text(re.sub(r'"127\.0\.0\.1:\d+:', '"127.0.0.1::', text))
    stack = Stack(folder, engine, files=(file,), PICO_GZ_IMAGE=image)
    stack.project = project
    try:
        stack.compose("up", "-d", "--no-build", "--wait", "--wait-timeout", "90")
        for service, ids in (("lightweight_1", {1, 2, 3}), ("lightweight_2", {4, 5})):
            host, port = stack.port(service, 5760)
            with ground_station(f"tcp:{host}:{port}") as link:
                assert systems_heard(link, ids) == ids
        assert pico_gz("status", "--name", project).returncode == 0
    finally:
        stack.down()
