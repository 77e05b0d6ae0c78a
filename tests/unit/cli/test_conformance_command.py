"""``pico-gz conformance``: what it asks for, what it prints, how it ends."""

import json

import pytest

from pico_gz.cli import inspect as command
from pico_gz.cli.app import run_command
from pico_gz.testing.conformance import CheckResult, Outcome

PASSED = CheckResult(1, "answers", Outcome.PASS, "40 bytes")
FAILED = CheckResult(5, "counts", Outcome.FAIL, "it fell")
SKIPPED = CheckResult(21, "wind", Outcome.SKIP, "it sends no wind")


@pytest.fixture
def peer(monkeypatch):
    """Stands in for a live peer: gives these results and keeps what it was asked for."""

    class Peer:
        def __init__(self):
            self.results = [PASSED]
            self.asked = {}

        def check(self, *arguments, report, **options):
            report("Waiting ...")
            self.asked = {"arguments": arguments, **options}
            return self.results

    peer = Peer()
    monkeypatch.setattr(command, "check_simulator", peer.check)
    monkeypatch.setattr(command, "check_external_autopilot", peer.check)
    return peer


def test_a_simulator_is_asked_for_as_long_as_the_user_says(peer):
    assert run_command(["conformance", "--simulator", "127.0.0.1:9012", "--timeout", "12"]) == 0
    assert peer.asked == {"arguments": ("127.0.0.1", 9012), "timeout_s": 12.0}


def test_an_autopilot_is_asked_for_as_long_as_the_user_says(peer):
    assert run_command(["conformance", "--autopilot", "9012", "--timeout", "0.5"]) == 0
    assert peer.asked == {"arguments": (9012,), "connect_s": 0.5}


def test_findings_are_exit_1_and_in_the_table(peer, capsys):
    peer.results = [PASSED, FAILED, SKIPPED]
    assert run_command(["conformance", "--autopilot", "9002"]) == 1
    output = capsys.readouterr()
    rows = [line.split() for line in output.out.splitlines()]
    assert ["5", "fail", "counts", "it", "fell"] in rows
    assert output.out.splitlines()[-1] == "1 passed, 1 failed, 1 skipped."
    assert output.err == "Waiting ...\n"


def test_json_is_one_object_on_stdout(peer, capsys):
    peer.results = [PASSED, FAILED]
    assert run_command(["conformance", "--simulator", "127.0.0.1:9002", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["failed"] == 1
    assert answer["checks"][1] == {
        "number": 5,
        "title": "counts",
        "outcome": "fail",
        "detail": "it fell",
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "one of --simulator"),
        (["--simulator", "127.0.0.1:9002", "--autopilot", "9002"], "one of --simulator"),
        (["--simulator", "127.0.0.1"], "is no address"),
        (["--simulator", "127.0.0.1:0"], "is no address"),
        (["--simulator", "127.0.0.1:x"], "is no address"),
        (["--simulator", ""], "is no address"),
        (["--simulator", "a..b:9002"], "is no address"),
        (["--simulator", "[::1]:9002"], "no host '::1'"),
        (["--simulator", "127.0.0.1:9002", "--timeout", "-1"], "timeout of -1 s"),
        (["--simulator", "127.0.0.1:9002", "--timeout", "nan"], "timeout of nan s"),
        (["--autopilot", "0"], "Port 0"),
        (["--autopilot", "-5"], "Port -5"),
        (["--autopilot", "70000"], "Port 70000"),
        (["--autopilot", "x"], "--autopilot"),
        (["--autopilot", "9002", "--timeout", "0"], "timeout of 0 s"),
        (["--autopilot", "9002", "--timeout", "inf"], "timeout of inf s"),
        (["--autopilot", "9002", "--timeout", "soon"], "--timeout"),
    ],
)
def test_odd_input_is_exit_2_in_words(capsys, arguments, words):
    assert run_command(["conformance", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert "defect" not in error
