"""What a failed Compose command means."""

import os

import pytest

from pico_gz.cli.output import exit_code_of
from pico_gz.cli.tools.containers.build import ComposeCommand, compose_failure
from pico_gz.errors import MissingProgramError

UP = ["docker", "compose", "-p", "x", "up", "--detach"]


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (
            "Error response from daemon: driver failed programming external connectivity on "
            "endpoint x (1f): Bind for 127.0.0.1:8085 failed: port is already allocated",
            3,
            "Port 8085 on this machine is taken",
        ),
        (
            "Error starting userland proxy: listen tcp4 127.0.0.1:5760: bind: "
            "address already in use",
            3,
            "Port 5760 on this machine is taken",
        ),
        ("Error response from daemon: No such image: pico-gz:latest", 4, "pico-gz:latest is not"),
        (
            "Error pull access denied for pico-gz-gazebo, repository does not exist",
            4,
            "The image pico-gz-gazebo is not here",
        ),
        (
            "permission denied while trying to connect to the docker API at "
            "unix:///var/run/docker.sock",
            4,
            "You may not use the Docker engine",
        ),
        ("Cannot connect to the Docker daemon at unix:///x. Is it running?", 4, "No Docker engine"),
        ("failed to resolve source metadata for docker.io/library/python", 4, "downloaded"),
        (
            'failed to do request: Head "https://x/v2/": dial tcp: lookup x on 10.0.0.1:53: '
            "dial udp 10.0.0.1:53: connect: network is unreachable",
            4,
            "downloaded",
        ),
        ("dial tcp 10.0.0.1:443: connect: connection refused", 4, "behind a proxy"),
        ("proxyconnect tcp: dial tcp 10.0.0.1:3128: i/o timeout", 4, "behind a proxy"),
        ("net/http: TLS handshake timeout", 4, "downloaded"),
        ("Get https://x/v2/: context deadline exceeded", 4, "downloaded"),
        ("x509: certificate signed by unknown authority", 4, "downloaded"),
        ("ERROR: No matching distribution found for numpy>=1.26", 4, "downloaded"),
        ("E: Failed to fetch http://x/y.deb  Could not resolve 'x'", 4, "downloaded"),
        ("yaml: line 3: could not find expected ':'", 1, "docker compose up failed"),
    ],
)
def test_failures_in_plain_words(line, code, words):
    error = compose_failure(UP, 1, ["Network x  Creating", line, ""])
    assert exit_code_of(error) == code
    assert words in error.message


# As BuildKit prints it.
OFFLINE = """\
#3 [lightweight internal] load metadata for docker.io/library/python:3.12-slim
#3 ERROR: failed to do request: Head "https://x": connect: network is unreachable
------
 > [lightweight internal] load metadata for docker.io/library/python:3.12-slim:
------
failed to solve: failed to do request: Head "https://x": connect: network is unreachable"""


def test_offline_names_the_base_image_and_repeats_nothing():
    error = compose_failure(["docker", "compose", "build"], 17, OFFLINE.splitlines())
    assert error.message.startswith("The base image python:3.12-slim cannot be downloaded")
    assert "docs/docker.md" in error.hint
    assert "dial" not in str(error.hint) + error.message
    assert "failed to" not in str(error.hint) + error.message


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a shell script stands in for docker")
def test_the_engines_last_line_is_not_printed_beside_the_plain_words(tmp_path, monkeypatch):
    docker = tmp_path / "docker"
    docker.write_text(
        "#!/bin/sh\nif [ $2 = version ]; then echo 2.26.1; exit; fi\n"
        f"cat <<'E'\n{OFFLINE}\nE\nexit 17\n"
    )
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    said = []
    with pytest.raises(MissingProgramError):
        ComposeCommand(tmp_path, "x", report=said.append).run("build")
    assert len([line for line in said if "network is unreachable" in line]) == 1


def test_the_last_words_are_the_hint():
    assert compose_failure(UP, 17, ["first", "what went wrong", " "]).hint == "what went wrong"
