"""``pico-gz get ardurover`` against a local server."""

import hashlib
import http.server
import json
import threading

import pytest

from pico_gz.cli.app import main
from pico_gz.vehicle.external.releases import find_ardurover

PROGRAM = b"\x7fELF...\0ArduRover V4.7.0 (1511f271)\0" + bytes(3_000_000)
DIGEST = hashlib.sha256(PROGRAM).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """Serves what ``files`` holds; ``cut`` ends an answer before its promised length."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {}
        self.asked = []
        self.cut = 0


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "http://192.0.2.1/ardurover")
            self.end_headers()
            return
        if self.path not in self.server.files:
            self.send_error(404)
            return
        body = self.server.files[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) - self.server.cut])

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        server.files["/4.7.0/ardurover"] = PROGRAM
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def get(server, tmp_path, monkeypatch, capsys):
    """Runs the command; gives its exit code and what it printed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("PICO_GZ_ARDUROVER", raising=False)
    monkeypatch.setenv(
        "PICO_GZ_ARDUROVER_URL", f"http://127.0.0.1:{server.server_port}/{{release}}/ardurover"
    )

    def run(*words):
        with pytest.raises(SystemExit) as ended:
            main(["get", "ardurover", *words])
        printed = capsys.readouterr()
        return ended.value.code, printed.out + printed.err

    return run


def test_a_program_with_the_right_digest_is_kept_and_found(get, server, tmp_path):
    code, said = get("4.7.0", "--sha256", DIGEST.upper())
    assert code == 0, said
    program = find_ardurover("4.7")
    assert program.path == tmp_path / "pico_gz/ardurover/4.7.0/ardurover"
    assert program.path.read_bytes() == PROGRAM
    assert program.path.stat().st_mode & 0o111
    assert "is here already" in get("4.7.0", "--sha256", DIGEST)[1]
    assert len(server.asked) == 1
    program.path.write_bytes(b"damaged")
    assert "fetched" in get("4.7.0", "--sha256", DIGEST)[1]
    assert program.path.read_bytes() == PROGRAM


def test_without_a_digest_nothing_is_fetched(get, server):
    code, said = get("4.7.0")
    assert (code, server.asked) == (2, [])
    assert "--trust-first" in said


def test_the_first_digest_is_printed_and_remembered(get, server, monkeypatch):
    code, said = get("4.7.0", "--trust-first")
    assert code == 0
    assert f"SHA-256 {DIGEST}, trusted" in said
    path = find_ardurover("4.7").path
    path.unlink()
    server.files["/4.7.0/ardurover"] = PROGRAM + b"x"
    for words in (("4.7.0",), ("4.7.0", "--trust-first")):
        code, said = get(*words)
        assert code == 4
        assert f"not {DIGEST}: it is not kept" in said
    server.files["/4.7.0/ardurover"] = PROGRAM
    code, said = get("4.7.0", "--json")
    assert (code, json.loads(said)["sha256"]) == (0, DIGEST)
    assert path.exists()


@pytest.mark.parametrize(
    ("body", "words"),
    [(PROGRAM.replace(b"4.7.0", b"4.6.3"), "is ArduRover 4.6.3"), (b"<html>", "is no ArduRover")],
)
def test_another_file_is_not_kept_even_on_trust(get, server, tmp_path, body, words):
    server.files["/4.7.0/ardurover"] = body
    code, said = get("4.7.0", "--trust-first")
    assert code == 4
    assert words in said
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_what_goes_wrong_on_the_way_is_named(get, server, tmp_path):
    local = f"http://127.0.0.1:{server.server_port}"
    assert "404" in get("4.6.3", "--sha256", DIGEST)[1]
    assert "192.0.2.1" in get("4.7.0", "--trust-first", "--url", f"{local}/moved")[1]
    assert "is not https" in get("4.7.0", "--sha256", DIGEST, "--url", "http://192.0.2.1/x")[1]
    assert "three numbers" in get("4.7", "--trust-first")[1]
    assert "no SHA-256" in get("4.7.0", "--sha256", "abc")[1]
    server.cut = 10
    code, said = get("4.7.0", "--trust-first")
    assert code == 4
    assert "too early" in said
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
