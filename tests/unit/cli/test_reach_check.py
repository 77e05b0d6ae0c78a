"""Whether containers reach the host, with an engine that answers as told."""

import pytest

from pico_gz.cli.tools import doctor_checks
from pico_gz.cli.tools.doctor import DEADLINE_S
from pico_gz.cli.tools.doctor_checks import Need, State

HERE = (0, "sha256:1234")


class FakeEngine:
    """Answers ``docker`` commands by their first word, and notes them."""

    def __init__(self, **answers):
        self.answers = answers
        self.asked = []
        self.waited_s = 0.0

    def ask(self, command, timeout_s):
        self.asked.append(command)
        self.waited_s += timeout_s
        return self.answers.get(command[1], (0, ""))

    def words(self):
        return [command[1] for command in self.asked]


@pytest.fixture
def engine(monkeypatch):
    def install(**answers):
        fake = FakeEngine(**answers)
        monkeypatch.setattr(doctor_checks, "ask", fake.ask)
        monkeypatch.setattr(doctor_checks.shutil, "which", lambda name: f"/bin/{name}")
        monkeypatch.delenv("PICO_GZ_IMAGE", raising=False)
        return fake

    return install


def test_a_container_that_reaches_the_host(engine):
    fake = engine(image=HERE, run=(0, "reached"))
    (finding,) = doctor_checks.check_reach()
    assert (finding.state, finding.version) == (State.FOUND, "containers reach the host")
    run = fake.asked[-1]
    assert run[:3] == ["docker", "run", "--rm"]
    assert "host.docker.internal:host-gateway" in run
    assert run[run.index("--pull") + 1] == "never"
    assert run[-4:-1] == ["pico-gz", "python3", "-c"]
    compile(run[-1], "probe", "exec")


@pytest.mark.parametrize(("text", "word"), [("unresolved", "20.10"), ("unreached", "firewall")])
def test_what_is_in_the_way_is_told(engine, text, word):
    engine(image=HERE, run=(0, text))
    (finding,) = doctor_checks.check_reach()
    assert (finding.state, finding.need) == (State.TROUBLE, Need.OPTIONAL)
    assert text in finding.version
    assert word in finding.remedy


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Error response from daemon: No such image: pico-gz:latest", "image pico-gz is not here"),
        ("Cannot connect to the Docker daemon", "no Docker engine answers"),
    ],
)
def test_without_image_or_engine_nothing_is_started(engine, text, why):
    fake = engine(image=(1, text))
    (finding,) = doctor_checks.check_reach()
    assert finding.state is State.TROUBLE
    assert finding.detail.startswith("not checked")
    assert why in finding.detail
    assert fake.words() == ["image"]


def test_without_docker_it_is_said(monkeypatch):
    monkeypatch.setattr(doctor_checks.shutil, "which", lambda name: None)
    (finding,) = doctor_checks.check_reach()
    assert "there is no Docker" in finding.detail


def test_a_container_that_takes_too_long_is_removed(engine):
    fake = engine(image=HERE, run=(-1, "no answer within 1.5 s"))
    (finding,) = doctor_checks.check_reach()
    assert "no answer within" in finding.detail
    assert fake.words() == ["image", "run", "rm"]
    name = fake.asked[1][fake.asked[1].index("--name") + 1]
    assert fake.asked[2][-1] == name
    assert fake.waited_s < DEADLINE_S


def test_an_engine_that_refuses_is_quoted(engine):
    engine(image=HERE, run=(125, "docker: invalid IP address in add-host"))
    (finding,) = doctor_checks.check_reach()
    assert "invalid IP address" in finding.detail


def test_the_image_can_be_another(engine, monkeypatch):
    fake = engine(image=HERE, run=(0, "reached"))
    monkeypatch.setenv("PICO_GZ_IMAGE", "mine:7")
    doctor_checks.check_reach()
    assert fake.asked[0][-1] == "mine:7"
    assert "mine:7" in fake.asked[1]
