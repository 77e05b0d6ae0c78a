"""The program that uses Gazebo's Python bindings, in another process.

The bindings come for the system's Python, which does not have the kit. So this file imports the
standard library only, and any Python that has the bindings can run it::

    python -P gz_worker.py requests|topics SOCKET_FD
    python -P gz_worker.py sdformat < FILE

The transport's ``request`` holds the interpreter while it waits and hangs when there is a
subscription in the same process; its callbacks run on foreign threads and print to stdout. So
requests are made by one worker and topics are read by another, and the kit talks to both over a
socket. sdformat reads one file from stdin and writes one JSON object to stdout.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any

# Newest messages are handed over this often at most.
HAND_OVER_S = 0.005


def serve_requests(connection: Any, node: Any) -> None:
    """Answer (id, service, data, request type, reply type, timeout ms) until the end of file.

    The answer is (id, whether Gazebo replied in time, its bytes, what went wrong here).
    """
    while True:
        try:
            number, service, data, request_type, reply_type, timeout_ms = connection.recv()
        except EOFError:
            return
        try:
            ok, reply = node.request_raw(service, data, request_type, reply_type, timeout_ms)
            answer = (number, bool(ok), bytes(reply), "")
        except Exception as exc:  # everything belongs into the answer
            answer = (number, False, b"", f"{type(exc).__name__}: {exc}")
        connection.send(answer)


class TopicHub:
    """Keeps the newest message of every topic, with how many came since it was last taken."""

    def __init__(self, node: Any, options: Any) -> None:
        self._node = node
        self._options = options
        self._lock = threading.Lock()
        self._newest: dict[str, tuple[int, bytes]] = {}
        self._publishers: dict[str, Any] = {}

    def subscribe(self, topic: str, kind: str) -> None:
        """Read a topic from now on."""

        def take(data: bytes, _: object) -> None:
            # Nothing may be raised here: the bindings would print it to stdout.
            with self._lock:
                count = self._newest[topic][0] if topic in self._newest else 0
                self._newest[topic] = (count + 1, bytes(data))

        self._node.subscribe_raw(topic, take, kind, self._options.subscribe())

    def unsubscribe(self, topic: str) -> None:
        """Stop reading a topic."""
        self._node.unsubscribe(topic)
        with self._lock:
            self._newest.pop(topic, None)

    def publish(self, topic: str, kind: str, data: bytes) -> None:
        """Send a message."""
        if topic not in self._publishers:
            self._publishers[topic] = self._node.advertise_raw(topic, kind)
        self._publishers[topic].publish_raw(data, kind)

    def take(self) -> dict[str, tuple[int, bytes]]:
        """Take the newest message per topic since the last call."""
        with self._lock:
            newest, self._newest = self._newest, {}
        return newest


def serve_topics(connection: Any, hub: TopicHub) -> None:
    """Do what is asked, (method, arguments...), and hand over what is new, until end of file."""
    while True:
        try:
            while connection.poll(HAND_OVER_S):
                method, *arguments = connection.recv()
                getattr(hub, method)(*arguments)
            newest = hub.take()
            if newest:
                connection.send(newest)
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return


def _transport() -> Any:
    """Harmonic's bindings, else those of Jetty."""
    try:
        from gz import transport13 as found
    except ImportError:
        found = importlib.import_module("gz.transport")
    return found


class BoundNode:
    """A node of the real bindings."""

    def __init__(self) -> None:
        self._transport = _transport()
        self._node = self._transport.Node()
        self.request_raw = self._node.request_raw
        self.subscribe_raw = self._node.subscribe_raw
        self.unsubscribe = self._node.unsubscribe

    def subscribe(self) -> Any:
        """Options of a subscription; the bindings want some."""
        return self._transport.SubscribeOptions()

    def advertise_raw(self, topic: str, kind: str) -> Any:
        """A publisher without message classes."""
        options = self._transport.AdvertiseMessageOptions()
        return self._transport._transport.Node.advertise(self._node, topic, kind, options)


def read_strictly(text: str) -> dict[str, list[dict[str, Any]]]:
    """Return the complaints of sdformat: what it refuses, and what it only mentions."""
    try:
        import sdformat14 as sdformat
    except ImportError:
        sdformat = importlib.import_module("sdformat")

    usual = sdformat.ParserConfig()
    strict = sdformat.ParserConfig()
    strict.set_unrecognized_elements_policy(sdformat.EnforcementPolicy.ERR)
    strict.set_warnings_policy(sdformat.EnforcementPolicy.ERR)
    refused = _complaints(sdformat, text, usual)
    both = _complaints(sdformat, text, strict)
    return {"refused": refused, "mentioned": [found for found in both if found not in refused]}


def _complaints(sdformat: Any, text: str, config: Any) -> list[dict[str, Any]]:
    try:
        sdformat.Root().load_sdf_string(text, config)
    except sdformat.SDFErrorsException as failed:
        return [
            {"code": int(error.code()), "line": error.line_number(), "message": error.message()}
            for error in failed.errors
        ]
    return []


def main(arguments: list[str]) -> int:
    """Serve one of the three roles."""
    if arguments == ["sdformat"]:
        json.dump(read_strictly(sys.stdin.read()), sys.stdout)
        return 0
    role, number = arguments
    # Whatever the bindings print must not reach the kit's own stdout.
    os.dup2(2, 1)
    connection = Connection(int(number))
    try:
        node = BoundNode()
    except Exception as exc:  # the kit reports it
        connection.send(f"{type(exc).__name__}: {exc}")
        return 1
    connection.send("")
    if role == "requests":
        serve_requests(connection, node)
    else:
        serve_topics(connection, TopicHub(node, node))
    # The bindings' threads are not worth waiting for.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
