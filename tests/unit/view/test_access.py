import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

import asyncio
from urllib.parse import urlsplit

from starlette.responses import PlainTextResponse

from pico_gz.errors import ConfigError
from pico_gz.view.access import AccessGuard, choose_token, is_loopback
from pico_gz.view.app import address_to_open

TOKEN = "a-token-of-this-run-0123"


async def inner(scope, receive, send):
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
    else:
        await PlainTextResponse("inside")(scope, receive, send)


def ask(token="", *, kind="http", path="/api/state", query="", **headers):
    sent = []
    scope = {
        "type": kind,
        "method": "GET",
        "path": path,
        "query_string": query.encode(),
        "headers": [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()],
    }

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.request"}

    asyncio.run(AccessGuard(inner, token, 8085)(scope, receive, send))
    return sent[0]


def status(*args, **kwargs):
    return ask(*args, **kwargs)["status"]


@pytest.mark.parametrize("host", ["127.0.0.1:8085", "localhost:8085", "LOCALHOST", "[::1]:8085"])
def test_loopback_needs_no_token(host):
    assert status(host=host) == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8085", "192.168.1.4", "", "["])
def test_a_rebound_name_is_refused(host):
    assert status(host=host) == 403


def test_every_answer_forbids_foreign_content():
    headers = dict(ask(host="localhost")["headers"])
    policy = headers[b"content-security-policy"].decode()
    assert "default-src 'none'" in policy
    assert "http" not in policy
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert headers[b"referrer-policy"] == b"no-referrer"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, 403),
        ({"authorization": "Bearer wrong"}, 403),
        ({"authorization": f"Bearer {TOKEN}"}, 200),
        ({"cookie": f"pico_gz_token_8085={TOKEN}"}, 200),
        ({"cookie": f"pico_gz_token_8086={TOKEN}"}, 403),
        ({"cookie": "\x00;;=;"}, 403),
        ({"query": f"token={TOKEN}"}, 200),
        ({"query": "token=%ff"}, 403),
    ],
)
def test_with_a_token_only_the_token_counts(headers, expected):
    assert status(TOKEN, host="192.168.1.4:8085", **headers) == expected


def test_the_page_swaps_the_token_for_a_cookie():
    answer = ask(TOKEN, path="/", query=f"token={TOKEN}", host="10.0.0.2")
    headers = dict(answer["headers"])
    assert answer["status"] == 303
    assert TOKEN not in headers[b"location"].decode()
    cookie = headers[b"set-cookie"].decode()
    assert cookie.startswith(f"pico_gz_token_8085={TOKEN}")
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie  # a link on another page must work, too


def test_health_is_open_to_container_checks():
    assert status(TOKEN, path="/healthz", host="bridge") == 200


@pytest.mark.parametrize(
    ("origin", "accepted"),
    [
        ("http://127.0.0.1:8085", True),
        ("http://evil.example", False),
        ("http://127.0.0.1:9999", False),
        ("null", False),
        ("file://127.0.0.1:8085", False),
    ],
)
def test_a_websocket_must_come_from_our_page(origin, accepted):
    answer = ask(kind="websocket", path="/ws", host="127.0.0.1:8085", origin=origin)
    assert answer["type"] == ("websocket.accept" if accepted else "websocket.close")


def test_a_program_without_origin_may_connect_here_but_not_elsewhere():
    assert ask(kind="websocket", path="/ws", host="127.0.0.1:1")["type"] == "websocket.accept"
    assert ask(TOKEN, kind="websocket", path="/ws", host="a:1")["type"] == "websocket.close"


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.8.0.1", True), ("::1", True), ("localhost", True),
     ("0.0.0.0", False), ("::", False), ("192.168.0.3", False), ("example", False)],
)  # fmt: skip
def test_loopback_is_told_from_the_rest(host, loopback):
    assert is_loopback(host) is loopback
    assert bool(choose_token(host)) is not loopback


def test_tokens_are_new_every_time_or_given():
    assert choose_token("0.0.0.0") != choose_token("0.0.0.0")
    assert choose_token("127.0.0.1", TOKEN) == TOKEN
    with pytest.raises(ConfigError, match="16 characters"):
        choose_token("0.0.0.0", "short")


@pytest.mark.parametrize("token", ["abcdefghijklmnop+/=&#x", "16 letters; or %2b more"])
def test_any_token_works_in_the_printed_address_and_as_a_cookie(token):
    query = urlsplit(address_to_open("0.0.0.0", 8085, token)).query
    answer = ask(token, path="/", query=query, host="10.0.0.2")
    assert answer["status"] == 303
    cookie = dict(answer["headers"])[b"set-cookie"].decode().partition("; HttpOnly")[0]
    assert status(token, cookie=cookie, host="10.0.0.2") == 200
    assert status(token, query=query, host="10.0.0.2") == 200


def test_the_printed_address_can_be_opened_here():
    assert address_to_open("0.0.0.0", 8085, "") == "http://127.0.0.1:8085/"
    assert address_to_open("::", 8085, "") == "http://[::1]:8085/"
    assert address_to_open("10.0.0.2", 90, "a+b") == "http://10.0.0.2:90/?token=a%2Bb"
