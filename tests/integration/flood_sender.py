"""Sends a datagram again and again: flood_sender.py PORT RATE SECONDS HEX; prints how many."""

import socket
import sys
import time

port, rate, seconds, payload = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
data = bytes.fromhex(payload)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.connect(("127.0.0.1", port))
sent, start_s = 0, time.monotonic()
while (elapsed_s := time.monotonic() - start_s) < seconds:
    for _ in range(min(500, int(elapsed_s * rate) - sent)):
        try:
            sender.send(data)
        except OSError:  # nothing listens there at this moment
            time.sleep(0.001)
        sent += 1
    if sent >= elapsed_s * rate:
        time.sleep(0.0005)
sys.stdout.write(f"{sent}\n")
