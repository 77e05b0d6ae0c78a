from __future__ import annotations

import os
import pty
import termios
from collections.abc import Iterator

import pytest

from pico_gz.errors import ConfigError
from pico_gz.vehicle.rc.keyboard import (
    CENTRE_AFTER_S,
    GESTURE_S,
    Keyboard,
    KeyboardRcSource,
    split_keys,
)

NEUTRAL = (1500, 1500)


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """A pair of ends: where a person types, and what the program reads."""
    person, program = pty.openpty()
    yield person, program
    os.close(person)
    os.close(program)


class Clock:
    """Wall time that passes when it is told to."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def board(terminal: tuple[int, int], clock: Clock) -> Iterator[Keyboard]:
    board = Keyboard([1, 2, 7], terminal[1], clock=clock)
    yield board
    board.close()


@pytest.fixture
def keyboard(board: Keyboard) -> KeyboardRcSource:
    return KeyboardRcSource(board, 1)


class Typist:
    """Types and looks at steering and throttle after it."""

    def __init__(self, person: int, source: KeyboardRcSource) -> None:
        self._person = person
        self._source = source
        self._now_us = 0

    def type(self, keys: bytes) -> tuple[int, int]:
        os.write(self._person, keys)
        channels = self.channels()
        return channels[0], channels[2]

    def channels(self) -> tuple[int, ...]:
        self._now_us += 20_000
        channels = self._source.poll(self._now_us)
        assert channels is not None
        return tuple(channels)


@pytest.fixture
def typist(terminal: tuple[int, int], keyboard: KeyboardRcSource) -> Typist:
    return Typist(terminal[0], keyboard)


def test_letters_move_the_sticks_and_they_stay(typist: Typist) -> None:
    assert typist.type(b"ww") == (1500, 1600)
    assert typist.type(b"D") == (1550, 1600)
    assert typist.type(b"") == (1550, 1600)
    assert typist.type(b"ass") == (1500, 1500)


def test_arrows_do_the_same(typist: Typist) -> None:
    assert typist.type(b"\x1b[A\x1b[A\x1b[C") == (1550, 1600)
    assert typist.type(b"\x1bOB\x1bOD") == (1500, 1550)


def test_an_arrow_may_arrive_in_two_parts(typist: Typist) -> None:
    assert typist.type(b"\x1b[") == NEUTRAL
    assert typist.type(b"A") == (1500, 1550)


def test_stop_and_centre(typist: Typist) -> None:
    typist.type(b"wwdd")
    assert typist.type(b"c") == (1500, 1600)
    typist.type(b"d")
    assert typist.type(b" ") == NEUTRAL


def test_sticks_end_at_their_stops(typist: Typist) -> None:
    assert typist.type(b"w" * 30 + b"a" * 30) == (1000, 2000)


def test_digits_turn_the_mode_switch(typist: Typist) -> None:
    assert typist.channels()[7] == 1165
    typist.type(b"4")
    assert typist.channels()[7] == 1555
    typist.type(b"9q")
    assert typist.channels()[7] == 1555


def test_the_terminal_is_put_back(terminal: tuple[int, int]) -> None:
    before = termios.tcgetattr(terminal[1])
    source = KeyboardRcSource(Keyboard([1], terminal[1]), 1)
    local_flags = termios.tcgetattr(terminal[1])[3]
    assert not local_flags & termios.ICANON
    assert not local_flags & termios.ECHO
    assert local_flags & termios.ISIG
    source.close()
    source.close()
    assert termios.tcgetattr(terminal[1]) == before
    assert source.poll(0) is None


def test_a_restored_keyboard_keeps_its_sticks(typist: Typist, keyboard: KeyboardRcSource) -> None:
    typist.type(b"www")
    saved = keyboard.save_state()
    typist.type(b"w")
    keyboard.load_state(saved)
    assert typist.type(b"") == (1500, 1650)


def test_without_a_terminal_it_says_so() -> None:
    reader, writer = os.pipe()
    try:
        with pytest.raises(ConfigError, match="only from a terminal"):
            Keyboard([1], reader)
    finally:
        os.close(reader)
        os.close(writer)


def test_the_steering_centres_by_itself_and_the_throttle_stays(typist: Typist, clock: Clock):
    assert typist.type(b"wwddd") == (1650, 1600)
    clock.now_s += 0.9 * CENTRE_AFTER_S
    assert typist.type(b"d") == (1700, 1600)
    clock.now_s += 0.9 * CENTRE_AFTER_S
    assert typist.type(b"") == (1700, 1600)
    clock.now_s += 0.2 * CENTRE_AFTER_S
    assert typist.type(b"") == (1500, 1600)


def test_a_key_arms_and_disarms_the_chosen_rover_with_centred_sticks(
    typist: Typist, board: Keyboard
):
    asked: list[tuple[int, bool]] = []

    def arm(vehicle_id: int, wanted: bool) -> bool:
        asked.append((vehicle_id, wanted))
        return True

    board.arm = arm
    assert typist.type(b"wdr") == NEUTRAL
    assert typist.type(b"f") == NEUTRAL
    assert asked == [(1, True), (1, False)]


@pytest.mark.parametrize(("key", "steering_us"), [(b"r", 2000), (b"f", 1000)])
def test_without_a_built_in_autopilot_the_stick_is_held(
    typist: Typist, clock: Clock, key: bytes, steering_us: int
):
    assert typist.type(b"ww" + key) == (steering_us, 1500)
    clock.now_s += GESTURE_S - 0.1
    assert typist.type(b"") == (steering_us, 1500)
    clock.now_s += 0.2
    assert typist.type(b"") == NEUTRAL


def test_tab_chooses_the_next_rover_and_leaves_the_last_one_centred(
    terminal: tuple[int, int], board: Keyboard
):
    sources = {number: KeyboardRcSource(board, number) for number in (1, 2, 7)}

    def poll(now_us: int) -> dict[int, int | None]:
        frames = {number: source.poll(now_us) for number, source in sources.items()}
        return {number: frame and frame[2] for number, frame in frames.items()}

    os.write(terminal[0], b"ww")
    assert poll(20_000) == {1: 1600, 2: None, 7: None}
    os.write(terminal[0], b"\tw")
    assert poll(40_000) == {1: 1500, 2: 1550, 7: None}
    os.write(terminal[0], b"\t\t")
    assert board.chosen == 2
    assert poll(60_000) == {1: 1500, 2: 1500, 7: None}
    assert board.chosen == 1


def test_keys_and_sticks_are_drawn(typist: Typist, board: Keyboard):
    typist.type(b"w" * 4 + b"a" * 10)
    sticks, keys = board.lines("scout")
    assert sticks == "scout  throttle [-----|##---]  steering [#####|-----]"
    assert "R arm" in keys
    assert "Tab next rover" in keys
    assert max(len(sticks), len(keys)) < 80


@pytest.mark.parametrize(
    ("data", "keys", "rest"),
    [
        (b"wA", [b"w", b"a"], b""),
        (b"\x1b", [], b"\x1b"),
        (b"\x1b[", [], b"\x1b["),
        (b"\x1b[H", [], b""),
        (b"\x1bx", [b"x"], b""),
        (b"s\x1b[Dw", [b"s", b"a", b"w"], b""),
    ],
)
def test_splitting_what_a_terminal_sends(data: bytes, keys: list[bytes], rest: bytes) -> None:
    assert split_keys(data) == (keys, rest)
