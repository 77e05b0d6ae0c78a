from __future__ import annotations

import os
import pty
import termios
from collections.abc import Iterator

import pytest

from pico_gz.errors import ConfigError
from pico_gz.vehicle.rc.devices import KeyboardRcSource, split_keys

NEUTRAL = (1500, 1500)


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """A pair of ends: where a person types, and what the program reads."""
    person, program = pty.openpty()
    yield person, program
    os.close(person)
    os.close(program)


@pytest.fixture
def keyboard(terminal: tuple[int, int]) -> Iterator[KeyboardRcSource]:
    source = KeyboardRcSource(terminal[1])
    yield source
    source.close()


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
    source = KeyboardRcSource(terminal[1])
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
            KeyboardRcSource(reader)
    finally:
        os.close(reader)
        os.close(writer)


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
