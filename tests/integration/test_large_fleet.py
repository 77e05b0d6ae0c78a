"""254 rovers and clients that poll them: heartbeats in time, or the run says it is overloaded."""

import json
import logging
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest
from fleet_process import free_port_run

pytest.importorskip("uvicorn")

pytestmark = [pytest.mark.alone, pytest.mark.slow, pytest.mark.timeout(120)]

log = logging.getLogger(__name__)

ROOT = Path(__file__).parents[2]
CLIENTS = Path(__file__).with_name("polling_clients.py")
PICO_GZ = [sys.executable, "-m", "pico_gz"]
LOOPBACK = "127.0.0.1"
ROVERS = 254
START_S, LOAD_S = 20.0, 25.0
MAX_GAP_S, MAX_STOP_S = 1.5, 2.0
SO_TIMESTAMPNS = 35
FLEET = """
[fleet]
count = {rovers}
adapter = "lightweight"
seed = 7
[ports]
mavlink_base = {udp_port}
mavlink_tcp = {tcp_port}
[mavlink]
gcs = "shared"
"""


class Station:
    """Notes when the heartbeats of each vehicle arrived, by the kernel's clock."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 23)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.port = free_port_run(1)
        self.socket.bind((LOOPBACK, self.port))
        self.socket.settimeout(0.1)
        self.beats_s = {}

    def listen(self, end_s, done=lambda: False):
        while time.monotonic() < end_s and not done():
            try:
                data, extra, _, _ = self.socket.recvmsg(65535, 64)
            except TimeoutError:
                continue
            seconds, nanoseconds = struct.unpack("@ll", extra[0][2][:16])
            for vehicle_id in heartbeats_in(data):
                self.beats_s.setdefault(vehicle_id, []).append(seconds + nanoseconds * 1e-9)

    def gaps_s(self, begin_s, end_s):
        """The longest gap of each vehicle between two moments."""
        found = {}
        for vehicle_id, times_s in self.beats_s.items():
            within = [begin_s, *(t for t in times_s if begin_s < t < end_s), end_s]
            found[vehicle_id] = max(b - a for a, b in pairwise(within))
        return found


def heartbeats_in(data):
    """The senders of the heartbeats of a datagram, which holds whole MAVLink 2 frames."""
    at = 0
    while at + 12 <= len(data) and data[at] == 0xFD:
        if data[at + 7 : at + 10] == b"\0\0\0":
            yield data[at + 5]
        at += 12 + data[at + 1] + 13 * (data[at + 2] & 1)


@pytest.fixture
def station():
    station = Station()
    yield station
    station.socket.close()


def start(station, tmp_path, http_port, tcp_port):
    path = tmp_path / "fleet.toml"
    path.write_text(FLEET.format(rovers=ROVERS, udp_port=station.port, tcp_port=tcp_port))
    words = ["run", str(path), "--duration", "0", "--json"]
    with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err:
        return subprocess.Popen(
            [*PICO_GZ, *words, "--dashboard-bind", f"{LOOPBACK}:{http_port}"],
            cwd=tmp_path, env=environment(tmp_path), stdin=subprocess.DEVNULL,
            stdout=out, stderr=err,
        )  # fmt: skip


def environment(folder):
    return {**os.environ, "PYTHONPATH": str(ROOT), "XDG_RUNTIME_DIR": str(folder)}


def test_254_rovers_with_clients_that_poll(station, tmp_path):
    http_port, tcp_port = (free_port_run(1, socket.SOCK_STREAM) for _ in range(2))
    run = start(station, tmp_path, http_port, tcp_port)
    try:
        station.listen(time.monotonic() + START_S, lambda: len(station.beats_s) == ROVERS)
        assert len(station.beats_s) == ROVERS, (tmp_path / "err").read_text()
        words = [str(http_port), str(tcp_port), str(LOAD_S)]
        begin_s = time.time()
        with subprocess.Popen(
            [sys.executable, str(CLIENTS), *words],
            env=environment(tmp_path), stdout=subprocess.PIPE, text=True,
        ) as clients:  # fmt: skip
            station.listen(time.monotonic() + LOAD_S)
            end_s = time.time()
            did = json.loads(clients.communicate(timeout=20.0)[0])
        stopping_s = time.monotonic()
        run.send_signal(signal.SIGTERM)
        code = run.wait(20.0)
        stop_s = time.monotonic() - stopping_s
    finally:
        run.kill()
        run.wait()
    result = json.loads((tmp_path / "out").read_text())
    gap_s = max(station.gaps_s(begin_s, end_s).values())
    overloads = result["events"].get("overload", 0)
    log.info(
        "gap %.2f s, %d overload events, rtf %.2f, stop %.2f s, clients %s",
        gap_s, overloads, result["rtf"], stop_s, did,
    )  # fmt: skip
    assert code == 143, (tmp_path / "err").read_text()
    assert stop_s <= MAX_STOP_S
    assert result["lost_steps"] == 0
    # Otherwise the run was not asked for anything.
    for what in ("/api/state", "/metrics", "status", "parameters"):
        assert did["done"].get(what, 0) >= 5, did
    assert gap_s <= MAX_GAP_S or overloads >= 1, f"{gap_s:.2f} s, real time x {result['rtf']:.2f}"
