"""Clients that poll a run: polling_clients.py HTTP_PORT TCP_PORT SECONDS; prints what they did.

Two poll ``/api/state``, two ``/metrics``, one the control socket as ``ctl status`` does, two the
parameters of one vehicle after the other by MAVLink, and one takes MAVLink and never reads.
"""

import http.client
import itertools
import json
import socket
import sys
import threading
import time
from collections import Counter

from pico_gz.errors import PicoGzError
from pico_gz.mavlink.codec import frame, mav, pack
from pico_gz.run.control_socket import ask, find_run

LOOPBACK = "127.0.0.1"
PERIOD_S = 0.5
VEHICLES = 254


class Clients:
    """Threads that each ask every ``PERIOD_S``; ``done`` counts answers by what was asked."""

    def __init__(self, http_port, tcp_port, seconds):
        self.done = Counter()
        self.failed = Counter()
        self._http_port, self._tcp_port = http_port, tcp_port
        self._end_s = time.monotonic() + seconds

    def run(self):
        tasks = [(self._get, "/api/state")] * 2 + [(self._get, "/metrics")] * 2
        tasks += [(self._status, "status"), (self._parameters, "parameters")]
        tasks += [(self._parameters, "parameters"), (self._never_read, "never read")]
        threads = [threading.Thread(target=self._poll, args=task) for task in tasks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _poll(self, act, what):
        for turn in itertools.count():
            left_s = self._end_s - time.monotonic()
            if left_s <= 0.0:
                return
            try:
                act(what, turn, left_s)
                self.done[what] += 1
            except (OSError, http.client.HTTPException, PicoGzError):
                self.failed[what] += 1
            time.sleep(max(0.0, min(PERIOD_S, self._end_s - time.monotonic())))

    def _get(self, path, turn, left_s):
        connection = http.client.HTTPConnection(LOOPBACK, self._http_port, timeout=10.0)
        try:
            connection.request("GET", path)
            assert connection.getresponse().read()
        finally:
            connection.close()

    def _status(self, what, turn, left_s):
        assert len(ask(find_run(), "status")["vehicles"]) == VEHICLES

    def _parameters(self, what, turn, left_s):
        """All parameters of the next vehicle, read for a moment by a client of its own."""
        with socket.create_connection((LOOPBACK, self._tcp_port), 10.0) as client:
            asked = mav.MAVLink_param_request_list_message(1 + turn % VEHICLES, 1)
            client.sendall(frame(pack(asked), 0, 255))
            end_s = time.monotonic() + min(1.0, left_s)
            while time.monotonic() < end_s:
                if not client.recv(65536):
                    raise OSError("cut off")

    def _never_read(self, what, turn, left_s):
        with socket.create_connection((LOOPBACK, self._tcp_port), 10.0):
            time.sleep(min(15.0, left_s))


def main():
    clients = Clients(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
    clients.run()
    sys.stdout.write(json.dumps({"done": clients.done, "failed": clients.failed}))


main()
