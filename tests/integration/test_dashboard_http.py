"""The view's server over loopback: pages, figures, the WebSocket, and who may use it."""

import contextlib
import functools
import json
import socket
import struct
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import process_state
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from view_run import make_fleet, viewed_run
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from pico_gz.errors import PortClashError
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.view import app as view_server
from pico_gz.view.app import STATIC, open_dashboard

pytestmark = pytest.mark.alone

LIMIT_S = 20.0
wait_until = functools.partial(process_state.wait_until, limit_s=LIMIT_S)


@pytest.fixture(scope="module")
def run():
    with viewed_run() as run:
        wait_until(lambda: get(run.url + "healthz")[0] == 200)
        yield run


def get(url, **headers):
    """(status, headers, text)."""
    request = urllib.request.Request(
        url, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )
    try:
        with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.headers, refused.read().decode()


@contextlib.contextmanager
def watching(run, **options):
    url = run.url.replace("http", "ws") + "ws"
    with connect(url, max_size=2**24, open_timeout=LIMIT_S, **options) as websocket:
        yield websocket


def hear(websocket, wanted, limit=400):
    """The next message of a kind; ``frame`` is the binary one."""
    for _ in range(limit):
        message = websocket.recv(timeout=LIMIT_S)
        if isinstance(message, bytes):
            if wanted == "frame":
                return message
        elif json.loads(message)["t"] == wanted:
            return json.loads(message)
    raise AssertionError(f"no {wanted}")


def ask(websocket, command, **options):
    websocket.send(json.dumps({"n": 5, "command": command, **options}))
    while True:
        answer = hear(websocket, "answer")
        if answer["n"] == 5:
            return answer


def test_the_page_and_all_it_names_are_served(run):
    status, headers, page = get(run.url)
    assert status == 200
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "//" not in page.replace("</", ""), "the page names another host"
    for path in STATIC.rglob("*.*"):
        name = path.relative_to(STATIC).as_posix()
        status, headers, text = get(f"{run.url}static/{name}")
        assert status == 200, name
        assert "Content-Security-Policy" in headers
        assert text.count("http://") == (name == "icon.svg"), f"{name} names another host"


@pytest.mark.parametrize("path", ["static/../app.py", "static/%2e%2e/app.py", "nothing", "static/"])
def test_nothing_else_is_served(run, path):
    assert get(run.url + path)[0] in (403, 404)


def test_state_and_metrics_tell_the_fleet(run):
    state = json.loads(get(run.url + "api/state")[2])
    assert list(state["vehicles"]) == ["1", "2", "3"]
    assert state["state"] == "running"
    status, headers, text = get(run.url + "metrics")
    assert status == 200
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert 'pico_gz_vehicle_lag_seconds{vehicle="3"}' in text


def test_a_foreign_host_or_origin_is_refused(run):
    assert get(run.url + "api/state", Host="evil.example")[0] == 403
    with pytest.raises(InvalidStatus) as refused, watching(run, origin="http://evil.example"):
        pass
    assert refused.value.response.status_code == 403
    with watching(run, origin=run.url.rstrip("/")) as websocket:
        assert hear(websocket, "hello")["name"] == "three_rovers"


def test_a_watcher_sees_rovers_move_at_most_twenty_times_per_second(run):
    with watching(run) as websocket:
        hear(websocket, "frame")
        started_s, first = time.monotonic(), hear(websocket, "frame")
        frames = [hear(websocket, "frame") for _ in range(30)]
        elapsed_s = time.monotonic() - started_s
    assert len(frames) / elapsed_s < 21.5
    kind, state, count, *_ = struct.unpack_from("<BBHId", first)
    assert (kind, state, count) == (1, 1, 3)
    assert struct.unpack_from("<d", frames[-1], 8) > struct.unpack_from("<d", first, 8)


def test_pause_step_resume(run):
    with watching(run) as websocket:
        assert ask(websocket, "pause")["ok"]
        wait_until(lambda: get(run.url + "api/state")[2].count('"state":"paused"'))
        steps = run.bridge.stats.steps
        assert get(run.url + "healthz")[0] == 200
        assert ask(websocket, "step", count=3)["ok"]
        wait_until(lambda: run.bridge.stats.steps == steps + 3)
        assert ask(websocket, "resume")["ok"]
        wait_until(lambda: run.bridge.stats.steps > steps + 3)


def test_refusals_name_the_reason_and_nonsense_harms_nobody(run):
    with watching(run) as websocket:
        answer = ask(websocket, "mode", id=1, mode="FLY")
        assert not answer["ok"]
        assert "Unknown mode 'FLY'" in answer["message"]
        for nonsense in ("", "{", "[[[[", b"\x00\xff", json.dumps({"command": "x" * 60_000})):
            websocket.send(nonsense)
        assert ask(websocket, "status")["ok"]


def test_a_message_that_is_too_long_ends_the_connection_only(run, caplog):
    with watching(run) as websocket:
        websocket.send("x" * 70_000)
        with pytest.raises(ConnectionClosed):
            hear(websocket, "nothing that is ever sent", limit=1000)
    with watching(run) as websocket:
        assert hear(websocket, "hello")
    assert "Traceback" not in caplog.text


def test_a_focused_rover_is_told_closely(run):
    with watching(run) as websocket:
        websocket.send('{"command": "focus", "id": 2}')
        focus = hear(websocket, "focus")
        assert focus["id"] == 2
        wait_until(lambda: "yaw_deg" in hear(websocket, "focus"))


def test_stuck_browsers_hold_nobody_and_are_cut_off(monkeypatch):
    """They read nothing, their buffers fill; the run and other browsers go on, then they go."""
    monkeypatch.setattr("pico_gz.view.app.SEND_LIMIT_S", 1.0)
    monkeypatch.setattr("pico_gz.view.feed.SEND_LIMIT_S", 1.0)
    monkeypatch.setattr("pico_gz.view.app._listen", _listen_with_small_buffers)
    with viewed_run(30) as run, contextlib.ExitStack() as stuck:
        clients = [stuck.enter_context(_open_and_freeze(run)) for _ in range(3)]
        with watching(run, max_queue=None) as websocket:  # it reads on while this thread waits
            wait_until(lambda: any(map(is_full, clients)))
            before = run.bridge.stats.steps
            for _ in range(5):
                hear(websocket, "frame")
            wait_until(lambda: run.bridge.stats.steps >= before + 20)
            wait_until(lambda: watchers(run) == 1, limit_s=60.0)
            wait_until(lambda: not any(map(has_other_end, clients)), limit_s=60.0)
            assert hear(websocket, "frame")


def test_a_view_that_hangs_holds_no_step(monkeypatch):
    held, hangs = threading.Event(), threading.Event()

    def hang(self):
        hangs.set()
        held.wait(LIMIT_S)

    with viewed_run(2) as run, watching(run) as websocket:
        hear(websocket, "frame")
        monkeypatch.setattr("pico_gz.view.live.LiveSource._refresh_frame", hang)
        try:
            assert hangs.wait(LIMIT_S)
            before = run.bridge.stats.steps
            wait_until(lambda: run.bridge.stats.steps >= before + 50)
        finally:
            held.set()


def test_who_asks_without_listening_is_answered_when_it_listens(run):
    with watching(run) as websocket:
        for number in range(300):
            websocket.send(json.dumps({"n": 1000 + number, "command": "nothing of the kind"}))
        answered = {hear(websocket, "answer")["n"] for _ in range(300)}
        assert answered == set(range(1000, 1300))


def watchers(run):
    lines = get(run.url + "metrics")[2].splitlines()
    (count,) = (line.split()[1] for line in lines if line.startswith("pico_gz_view_clients "))
    return int(count)


def _listen_with_small_buffers(host, port, listen=view_server._listen):
    listener = listen(host, port)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    return listener


def is_full(client):
    """Whether what was sent to it waits in the server's kernel."""
    line = other_end(client)
    return bool(line) and int(line[4].partition(":")[0], 16) > 0


def has_other_end(client):
    line = other_end(client)
    return bool(line) and line[3] == "01"  # established


def other_end(client):
    """The server's end of a connection in /proc/net/tcp, as words."""
    ports = [f":{address[1]:04X}" for address in (client.getpeername(), client.getsockname())]
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[1].endswith(ports[0]) and words[2].endswith(ports[1]):
            return words
    return None


def _open_and_freeze(run):
    host, port = run.url.removeprefix("http://").rstrip("/").split(":")
    client = socket.socket()
    client.settimeout(LIMIT_S)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    client.connect((host, int(port)))
    client.sendall(
        f"GET /ws HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    assert b"101" in client.recv(20)
    return client


def test_another_address_needs_the_token_of_the_run():
    with viewed_run(1, bind="0.0.0.0") as run:
        token = run.line.partition("token=")[2].split()[0]
        assert len(token) >= 32
        assert get(run.url + "api/state")[0] == 403
        assert get(run.url)[0] == 403
        assert get(run.url + "healthz")[0] in (200, 503)
        assert get(run.url + "api/state", Authorization=f"Bearer {token}")[0] == 200
        assert get(f"{run.url}metrics?token={token}")[0] == 200
        with pytest.raises(InvalidStatus), watching(run):
            pass
        headers = {"Authorization": f"Bearer {token}"}
        with watching(run, additional_headers=headers) as websocket:
            assert hear(websocket, "hello")


def test_a_taken_port_is_told_before_anything_runs():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        fleet = make_fleet(1, port=taken.getsockname()[1])
        options = RunOptions(
            mavlink=False, control=False, check_ports=False, dashboard=open_dashboard
        )
        with pytest.raises(PortClashError, match="browser view's address"):
            FleetRun(fleet, options).__enter__()
