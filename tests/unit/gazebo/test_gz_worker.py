"""What workers do with the bindings, which are replaced by a stub."""

import sys
import types

import pytest
from fake_worker import FakeNode

from pico_gz.gazebo.gz_worker import BoundNode, TopicHub


class StubNode:
    """As pybind11's: ``advertise`` takes a type name."""

    def advertise(self, topic, kind, options):
        return ("publisher", topic, kind, options)

    def request_raw(self, *question):
        return True, b"reply"

    def subscribe_raw(self, *arguments):
        return True

    def unsubscribe(self, topic):
        return True


@pytest.fixture
def stub(monkeypatch):
    """A ``gz.transport13`` like the real one, whose wrapper's ``advertise`` wants a class."""
    transport = types.ModuleType("gz.transport13")
    transport._transport = types.SimpleNamespace(Node=StubNode)

    class Wrapper(StubNode):
        def advertise(self, topic, message_class, options=None):
            raise AssertionError("needs a message class")

    transport.Node = Wrapper
    transport.SubscribeOptions = lambda: "subscribe options"
    transport.AdvertiseMessageOptions = lambda: "advertise options"
    package = types.ModuleType("gz")
    package.transport13 = transport
    monkeypatch.setitem(sys.modules, "gz", package)
    monkeypatch.setitem(sys.modules, "gz.transport13", transport)
    return transport


def test_the_real_bindings_are_used_raw(stub):
    node = BoundNode()
    assert node.request_raw("s", b"", "a", "b", 10) == (True, b"reply")
    assert node.subscribe() == "subscribe options"
    kind, topic, type_name, options = node.advertise_raw("/t", "gz.msgs.LaserScan")
    assert (kind, topic, type_name) == ("publisher", "/t", "gz.msgs.LaserScan")
    assert options == "advertise options"


def test_missing_bindings_are_an_import_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "gz", None)
    with pytest.raises(ImportError):
        BoundNode()


def test_only_the_newest_message_is_kept_and_all_are_counted():
    node = FakeNode()
    hub = TopicHub(node, node)
    hub.subscribe("/a", "kind")
    for data in (b"1", b"2", b"3"):
        node.say("/a", data)
    assert hub.take() == {"/a": (3, b"3")}
    assert hub.take() == {}


def test_a_publisher_is_made_once():
    node = FakeNode()
    hub = TopicHub(node, node)
    hub.publish("/a", "kind", b"x")
    hub.publish("/a", "kind", b"y")
    assert node.published == [("/a", "kind", b"x"), ("/a", "kind", b"y")]
    assert list(hub._publishers) == ["/a"]
