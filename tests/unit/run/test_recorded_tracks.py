"""Tracks of a recording, for the map of a replay."""

from types import SimpleNamespace

import pytest

from pico_gz.run.recording.recorded_run import read_tracks

NAMES = {1: "one", 2: "two"}


def recording(points_each):
    places = [
        (name, step * 250_000, 0.5 * step, -0.25 * step)
        for step in range(points_each)
        for name in ("one", "two", "a stranger")
    ]
    return SimpleNamespace(names=NAMES, places=lambda: iter(places))


def test_every_vehicle_has_time_and_place():
    tracks = read_tracks(recording(3))
    assert tracks == {i: [0, 0, 0, 250, 50, -25, 500, 100, -50] for i in (1, 2)}


@pytest.mark.parametrize("budget", [30, 47, 600])
def test_a_long_recording_is_thinned_out_and_keeps_its_ends(budget):
    track = read_tracks(recording(300), budget)[2]
    assert 9 <= len(track) / 3 <= budget / 2 + 2
    assert track[:3] == [0, 0, 0]
    assert track[-3:] == [299 * 250, 14_950, -7_475]


def test_a_recording_without_places_has_no_tracks():
    assert read_tracks(recording(0)) == {}
