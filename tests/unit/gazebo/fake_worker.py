"""Workers of gz_worker on threads, with a node that stands for Gazebo."""

import threading
from multiprocessing import Pipe

from pico_gz.gazebo.gz_worker import TopicHub, serve_requests, serve_topics


class FakeNode:
    """The part of the bindings that workers use."""

    def __init__(self):
        self.asked = []
        self.answers = {}
        self.callbacks = {}
        self.published = []

    def request_raw(self, service, data, request_type, reply_type, timeout_ms):
        self.asked.append((service, data, request_type))
        answer = self.answers.get(service, (True, b"\x10\x01"))
        if isinstance(answer, Exception):
            raise answer
        return answer(data) if callable(answer) else answer

    def subscribe_raw(self, topic, callback, kind, options):
        self.callbacks[topic] = callback

    def unsubscribe(self, topic):
        del self.callbacks[topic]

    def subscribe(self):
        return "options"

    def advertise_raw(self, topic, kind):
        node = self

        class Publisher:
            def publish_raw(self, data, kind):
                node.published.append((topic, kind, data))

        return Publisher()

    def say(self, topic, data):
        """Be Gazebo: publish on a topic."""
        self.callbacks[topic](data, None)


class ThreadWorker:
    """A worker on a thread."""

    def __init__(self, role, node):
        self.connection, theirs = Pipe()
        if role == "requests":
            target, arguments = serve_requests, (theirs, node)
        else:
            target, arguments = serve_topics, (theirs, TopicHub(node, node))
        self._thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._thread.start()

    def close(self):
        self.connection.close()
        self._thread.join(5.0)
        assert not self._thread.is_alive(), "a worker ends at the end of file"
