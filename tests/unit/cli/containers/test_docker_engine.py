"""The engine in plain words, with a stand-in for the SDK's client."""

import pytest
from docker.errors import APIError, DockerException

from pico_gz.cli.tools.containers import engine as engine_module
from pico_gz.cli.tools.containers.engine import (
    GET_COMPOSE,
    Engine,
    Usage,
    docker_errors,
    engine_problem,
)
from pico_gz.errors import MissingProgramError, PicoGzError


class Thing:
    """A container, network or volume."""

    def __init__(self, kind, name, labels, log):
        self.kind, self.name, self.labels, self.log = kind, name, labels, log

    def stop(self, timeout):
        self.log.append(("stop", self.name, timeout))

    def remove(self, force=False):
        self.log.append(("remove", self.name))


class Collection:
    def __init__(self, things):
        self.things = things

    def list(self, filters, **_):
        key, _, value = filters["label"].partition("=")
        return [thing for thing in self.things if thing.labels.get(key) == value]


class Client:
    def __init__(self):
        self.log = []
        for kind in ("container", "network", "volume"):
            things = [
                Thing(kind, f"{run}_{kind}", {"pico_gz.run": run}, self.log)
                for run in ("mine", "other")
            ]
            setattr(self, f"{kind}s", Collection(things))

    def close(self):
        self.log.append("closed")


def test_only_what_carries_the_label_is_removed():
    client = Client()
    with Engine(client) as engine:
        removed = engine.remove("mine")
    assert removed == ["container mine_container", "network mine_network"]
    assert client.log == [
        ("stop", "mine_container", 5),
        ("remove", "mine_container"),
        ("remove", "mine_network"),
        "closed",
    ]


def test_volumes_go_only_on_request():
    assert "volume mine_volume" in Engine(Client()).remove("mine", volumes=True)


@pytest.mark.parametrize(
    ("text", "words", "hint"),
    [
        ("Error: ('Connection aborted.', PermissionError(13, 'Permission denied'))",
         "may not use", "usermod"),
        ("Connection refused", "No Docker engine answers", "systemctl"),
    ],
)  # fmt: skip
def test_engine_problems(monkeypatch, text, words, hint):
    monkeypatch.setattr(engine_module.shutil, "which", lambda name, path: f"/usr/sbin/{name}")
    error = engine_problem(text)
    assert words in error.message
    assert hint in error.hint


def test_errors_of_the_sdk_become_ours():
    with pytest.raises(PicoGzError, match="refused: no space left"), docker_errors():
        raise APIError("x", explanation="no space left")
    with pytest.raises(MissingProgramError), docker_errors():
        raise DockerException("gone")


class Ended:
    """A container that ends between two questions."""

    def __init__(self, code):
        self.code = code

    def get(self, _):
        return self

    def exec_run(self, *_, **__):
        raise APIError("x", response=Response(self.code), explanation="is not running")

    def stats(self, stream):
        raise APIError("x", response=Response(self.code), explanation="is not running")


class Response:
    def __init__(self, code):
        self.status_code = code


def asked(code):
    client = Client()
    client.containers = Ended(code)
    engine = Engine(client)
    return engine.ask_inside("1", ["x"]), engine.usages(["1"])


@pytest.mark.parametrize("code", [404, 409])
def test_a_container_that_ends_meanwhile_says_nothing(code):
    assert asked(code) == (None, {"1": Usage(0.0, 0)})


def test_other_refusals_are_told():
    with pytest.raises(PicoGzError, match="refused: is not running"):
        asked(500)


class Asked:
    """A container that answers once, or is interrupted."""

    def __init__(self, answer):
        self.answer, self.log = answer, []

    def create(self, image, command, **options):
        self.options = options
        return self

    def start(self):
        self.log.append("start")

    def wait(self, timeout):
        if self.answer is None:
            raise KeyboardInterrupt

    def logs(self, **_):
        return self.answer

    def remove(self, force):
        self.log.append("remove")


@pytest.mark.parametrize("answer", [b"pico-gz 1\n", None])
def test_a_container_for_one_question_never_stays(answer):
    client = Client()
    client.containers = Asked(answer)
    if answer is None:
        with pytest.raises(KeyboardInterrupt):
            Engine(client).run_once("image", ["x"], "mine")
    else:
        assert Engine(client).run_once("image", ["x"], "mine") == "pico-gz 1\n"
    assert client.containers.log == ["start", "remove"]
    assert client.containers.options["labels"] == {"pico_gz.run": "mine"}
    assert client.containers.options["network_mode"] == "none"


@pytest.mark.parametrize(
    ("dockerd", "word"), [("/usr/sbin/dockerd", "Start it: sudo"), (None, "Install Docker Engine")]
)
def test_an_engine_that_is_not_installed_cannot_be_started(monkeypatch, dockerd, word):
    monkeypatch.setattr(engine_module.sys, "platform", "linux")
    monkeypatch.setattr(engine_module.shutil, "which", lambda name, path: dockerd)
    assert engine_problem("").hint.startswith(word)


def test_an_engine_that_is_not_on_this_users_path_is_found(monkeypatch):
    asked = []
    monkeypatch.setattr(engine_module.sys, "platform", "linux")
    monkeypatch.setattr(engine_module.shutil, "which", lambda name, path: asked.append(path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    engine_problem("")
    assert "/usr/sbin" in asked[0].split(":")


def test_without_an_engine_the_other_way_is_named():
    assert "pico-gz ctl status" in engine_problem("").hint


def test_compose_is_called_differently_everywhere():
    for name in ("docker-compose-plugin (Docker", "docker-compose-v2 (Ubuntu)", "Debian"):
        assert name in GET_COMPOSE.replace("\n", " ")
