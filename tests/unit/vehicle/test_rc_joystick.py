from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from pico_gz.errors import ConfigError
from pico_gz.vehicle.rc.joystick import JoystickRcSource

BUTTON, AXIS, INIT = 0x01, 0x02, 0x80


def event(kind: int, number: int, value: int) -> bytes:
    return struct.pack("=IhBB", 1234, value, kind, number)


class FakeDevice:
    """A pipe in the place of /dev/input/js0."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        # Held open for both, so that neither end waits for the other.
        self._fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self.path = path

    def send(self, data: bytes) -> None:
        os.write(self._fd, data)

    def unplug(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


@pytest.fixture
def device(tmp_path: Path) -> Iterator[FakeDevice]:
    fake = FakeDevice(tmp_path / "js0")
    yield fake
    fake.unplug()


@pytest.fixture
def joystick(device: FakeDevice) -> Iterator[JoystickRcSource]:
    source = JoystickRcSource(device.path)
    yield source
    source.close()


def test_before_anything_moves_all_is_neutral(joystick: JoystickRcSource) -> None:
    channels = joystick.poll(0)
    assert channels is not None
    assert len(channels) == 16
    assert set(channels) == {1500, 1165}


def test_axes_drive_and_up_is_forward(device: FakeDevice, joystick: JoystickRcSource) -> None:
    device.send(event(AXIS, 0, 32767) + event(AXIS, 1, -32767) + event(AXIS, 3, 16384))
    channels = joystick.poll(0)
    assert channels is not None
    assert tuple(channels[:4]) == (2000, 1500, 2000, 1250)
    device.send(event(AXIS | INIT, 0, -32768) + event(AXIS, 1, 0) + event(AXIS, 17, 99))
    channels = joystick.poll(20_000)
    assert channels is not None
    assert tuple(channels[:4]) == (1000, 1500, 1500, 1250)


def test_buttons_turn_the_mode_switch(device: FakeDevice, joystick: JoystickRcSource) -> None:
    device.send(event(BUTTON, 2, 1) + event(BUTTON, 2, 0) + event(BUTTON, 11, 1))
    channels = joystick.poll(0)
    assert channels is not None
    assert channels[7] == 1425


def test_an_event_may_arrive_in_two_parts(device: FakeDevice, joystick: JoystickRcSource) -> None:
    data = event(AXIS, 0, 32767)
    device.send(data[:3])
    first = joystick.poll(0)
    device.send(data[3:])
    second = joystick.poll(20_000)
    assert first is not None
    assert second is not None
    assert (first[0], second[0]) == (1500, 2000)


def test_frames_come_every_20_ms(joystick: JoystickRcSource) -> None:
    frames = [now_us for now_us in range(0, 100_000, 10_000) if joystick.poll(now_us)]
    assert frames == [0, 20_000, 40_000, 60_000, 80_000]


def test_an_unplugged_device_is_a_lost_link(
    device: FakeDevice, joystick: JoystickRcSource, caplog: pytest.LogCaptureFixture
) -> None:
    assert joystick.poll(0) is not None
    device.unplug()
    assert joystick.poll(20_000) is None
    assert joystick.poll(40_000) is None
    assert caplog.text.count("the RC link is lost") == 1


def test_a_restored_joystick_keeps_its_sticks(
    device: FakeDevice, joystick: JoystickRcSource
) -> None:
    device.send(event(AXIS, 0, 32767))
    joystick.poll(0)
    other = JoystickRcSource(device.path)
    other.load_state(joystick.save_state())
    assert other.poll(10_000) is None
    channels = other.poll(20_000)
    assert channels is not None
    assert channels[0] == 2000
    other.close()
    other.close()
    assert other.poll(40_000) is None


def test_a_missing_device_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="js7 cannot be opened"):
        JoystickRcSource(tmp_path / "js7")


@pytest.mark.parametrize("path", ["/dev/null", __file__])
def test_what_is_no_joystick_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match="is no joystick"):
        JoystickRcSource(path)
