import pytest

from pico_gz.errors import ConfigError
from pico_gz.view.feed import carry_out, decode_request


def boom(_):
    raise RuntimeError("inside")


def refuse(_):
    raise ConfigError("Not now.", hint="Later.")


COMMANDS = {"ok": lambda request: request["id"], "boom": boom, "refuse": refuse}


def answer(text):
    return carry_out(decode_request(text), COMMANDS)


def test_an_answer_carries_the_number_of_its_request():
    assert answer('{"n": 7, "command": "ok", "id": 1}') == {"t": "answer", "n": 7, "ok": True}


def test_a_refusal_says_why_and_what_to_do():
    refused = answer('{"n": 8, "command": "refuse"}')
    assert refused == {"t": "answer", "n": 8, "ok": False, "message": "Not now.", "hint": "Later."}


def test_an_error_inside_stays_inside(caplog):
    assert answer('{"n": 1, "command": "boom"}')["message"] == "RuntimeError: inside"
    assert "request of the browser view failed" in caplog.text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ('{"command": "ok", "id": NaN}', "not JSON"),
        ("[" * 9000, "not JSON"),
        ("[]", "is a JSON object"),
        ("null", "is a JSON object"),
        ('{"n": true}', "has a command"),
        ('{"command": 3}', "has a command"),
        ('{"command": "nope"}', "Unknown command 'nope'"),
    ],
)
def test_nonsense_is_refused_with_what_is_wrong_with_it(text, why):
    refused = answer(text)
    assert not refused["ok"]
    assert why in refused["message"]


def test_an_unknown_command_is_answered_with_the_known_ones():
    assert answer('{"command": "nope"}')["hint"] == "Known: boom, ok, refuse."
