"""Sends a datagram again and again: flood_sender.py PORT RATE SECONDS HEX; prints how many.

On Linux many leave with one call (sendmmsg), so that a slow machine reaches the rate too. Only
datagrams that the kernel took are counted; what was missed in a pause is made up for.
"""

import ctypes
import socket
import sys
import time

BATCH = 250


class Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("length", ctypes.c_size_t)]


class Header(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint32),
        ("buffers", ctypes.POINTER(Buffer)),
        ("buffer_count", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    ]


class Message(ctypes.Structure):
    _fields_ = [("header", Header), ("sent_bytes", ctypes.c_uint)]


def make_send(sender, data):
    """A call that sends up to so many datagrams and returns how many it did, or -1."""
    if not sys.platform.startswith("linux"):
        return lambda wanted: sum(sender.send(data) > 0 for _ in range(wanted))
    buffer = Buffer(data, len(data))
    messages = (Message * BATCH)()
    for message in messages:
        message.header.buffers, message.header.buffer_count = ctypes.pointer(buffer), 1
    sendmmsg = ctypes.CDLL(None, use_errno=True).sendmmsg
    return lambda wanted: sendmmsg(sender.fileno(), messages, wanted, 0)


def main():
    port, rate, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(("127.0.0.1", port))
        send = make_send(sender, bytes.fromhex(sys.argv[4]))
        sent, start_s = 0, time.monotonic()
        while (elapsed_s := time.monotonic() - start_s) < seconds:
            due = int(elapsed_s * rate) - sent
            if due <= 0:
                time.sleep(0.0005)
                continue
            try:
                done = send(min(BATCH, due))
            except OSError:
                done = -1
            if done > 0:
                sent += done
            else:  # nothing listens there at this moment
                time.sleep(0.001)
    sys.stdout.write(f"{sent}\n")


main()
