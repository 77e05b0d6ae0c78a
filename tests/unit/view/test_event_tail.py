from pico_gz.bridge.published import BridgeEvent
from pico_gz.view.source import EventTail


def add(tail, text, **more):
    tail.add(BridgeEvent(time_us=1_234_567, kind="x", text=text, **more))


def test_events_are_numbered_and_told_once():
    tail = EventTail()
    add(tail, "one")
    seen = tail.version
    add(tail, "two", vehicle_id=3)
    (event,) = tail.after(seen)
    assert (event["text"], event["id"], event["time_s"]) == ("two", 3, 1.23)
    assert tail.after(tail.version) == []


def test_old_events_are_let_go():
    tail = EventTail(kept=10)
    for number in range(100):
        add(tail, str(number))
    assert [event["text"] for event in tail.after(0)] == [str(n) for n in range(90, 100)]


def test_control_characters_are_made_visible():
    tail = EventTail()
    add(tail, "bad\x1b[31m\ntext" + "x" * 1000)
    (event,) = tail.after(0)
    assert event["text"].startswith("bad\\x1b[31m\\ntext")
    assert len(event["text"]) < 600


def test_who_knew_it_before_it_was_emptied_starts_anew():
    tail = EventTail()
    add(tail, "one")
    message, known = tail.message_after(0)
    assert ([e["text"] for e in message["events"]], message["reset"]) == (["one"], False)
    tail.clear()
    assert tail.version > known
    add(tail, "earlier")
    message, known = tail.message_after(known)
    assert ([e["text"] for e in message["events"]], message["reset"]) == (["earlier"], True)
    add(tail, "later")
    message, _ = tail.message_after(known)
    assert ([e["text"] for e in message["events"]], message["reset"]) == (["later"], False)
