"""An autopilot on the FDM wire that shares no code with the kit, on a lossy network of its own.

Written from ArduPilot's wire alone: a servo packet of ``<HHI16H`` (magic 18458, rate, frame
count, 16 pulse widths) for a line of JSON with its ``timestamp``.
"""

import json
import math
import random
import socket
import struct
import threading

MAGIC, RATE_HZ = 18458, 100
RETRY_S = 0.02


class HandWrittenAutopilot(threading.Thread):
    """Drives by what the clock of the simulator says; every packet may be lost, doubled or late.

    Its first packet is not: a run that has begun does not wait for who has not spoken yet.

    Attributes:
        has_spoken: set after the first packet.
        times_s: the time of every record that it took.
        counts: what happened to packets and records.
    """

    def __init__(self, port, *, seed=1, loss=0.0, duplication=0.0, reordering=0.0):
        super().__init__(daemon=True)
        self._draw = random.Random(seed)
        self._loss, self._duplication, self._reordering = loss, duplication, reordering
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.connect(("127.0.0.1", port))
        self._socket.settimeout(RETRY_S)
        self._over = threading.Event()
        self._held = b""
        self.has_spoken = threading.Event()
        self.times_s = []
        self.counts = {"lost": 0, "doubled": 0, "late": 0, "old": 0}

    def stop(self):
        self._over.set()
        self.join(5.0)
        self._socket.close()

    def run(self):
        frame, time_s = 0, 0.0
        while not self._over.is_set():
            self._send(self._packet(frame, time_s))
            newer_s = self._receive(time_s)
            if newer_s is not None:
                frame, time_s = frame + 1, newer_s
                self.times_s.append(time_s)

    def _packet(self, frame, time_s):
        left = round(1500 + 300 * math.sin(time_s))
        right = round(1500 + 300 * math.cos(2.0 * time_s))
        return struct.pack("<HHI16H", MAGIC, RATE_HZ, frame, left, 0, right, *[0] * 13)

    def _send(self, packet):
        try:
            if not self.times_s:
                self._socket.send(packet)
                self.has_spoken.set()
                return
            if self._draw.random() < self._reordering:
                self._held, packet = packet, self._held  # the older one goes first, or nothing
                self.counts["late"] += 1
            if not packet or self._draw.random() < self._loss:
                self.counts["lost"] += 1
                return
            self._socket.send(packet)
            if self._draw.random() < self._duplication:
                self.counts["doubled"] += 1
                self._socket.send(packet)
        except OSError:  # the run is not there yet
            self._over.wait(RETRY_S)

    def _receive(self, time_s):
        """The time of a record that is newer; ``None``: send the same packet again."""
        try:
            data = self._socket.recv(65535)
        except OSError:
            return None
        if self._draw.random() < self._loss:
            self.counts["lost"] += 1
            return None
        newer_s = json.loads(data)["timestamp"]
        if newer_s <= time_s:
            self.counts["old"] += 1
            return None
        return newer_s
