"""What a failed Compose command means."""

import pytest

from pico_gz.cli.output import exit_code_of
from pico_gz.cli.tools.containers.build import compose_failure

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
        ("yaml: line 3: could not find expected ':'", 1, "docker compose up failed"),
    ],
)
def test_failures_in_plain_words(line, code, words):
    error = compose_failure(UP, 1, ["Network x  Creating", line, ""])
    assert exit_code_of(error) == code
    assert words in error.message


def test_the_last_words_are_the_hint():
    assert compose_failure(UP, 17, ["first", "what went wrong", " "]).hint == "what went wrong"
