"""The events of a run: kept, counted, logged."""

import logging

from pico_gz.bridge.published import BridgeEvent, EventLog


def event(number: int, kind: str) -> BridgeEvent:
    return BridgeEvent(time_us=number, kind=kind, text=f"{kind} {number}.")


def test_a_flood_of_contacts_is_kept_and_heard_but_not_logged(caplog):
    events, heard = EventLog(), []
    events.listen(heard.append)
    for number in range(300):
        events.add(event(number, "contact"))
    assert events.counts["contact"] == len(heard) == len(events.recent) == 300
    lines = [record for record in caplog.records if "contact" in record.message]
    assert 1 <= len(lines) <= 3
    assert lines[0].message == "contact 0."
    assert lines[0].levelno == logging.WARNING


def test_other_events_are_all_logged(caplog):
    events = EventLog()
    for number in range(5):
        events.add(event(number, "stall"))
    assert [record.message for record in caplog.records] == [f"stall {n}." for n in range(5)]
