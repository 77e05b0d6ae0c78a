from __future__ import annotations

import pytest

from pico_gz.errors import ConfigError
from pico_gz.vehicle.platform.peripherals import GpioDirection
from pico_gz.vehicle.platform.platform import SitlPlatform


def test_an_input_sees_what_the_world_drives_and_counts_edges() -> None:
    platform = SitlPlatform(1)
    button = platform.create_gpio(4, GpioDirection.IN)
    seen: list[bool] = []
    button.on_edge(seen.append)
    assert button.read() is False
    for level in (True, True, False, True):
        platform.drive_gpio(4, level)
    assert button.read() is True
    assert seen == [True, False, True]
    assert (button.rising_edges, button.falling_edges) == (2, 1)
    button.on_edge(None)
    platform.drive_gpio(4, False)
    assert seen == [True, False, True]


def test_an_output_is_seen_by_the_world_and_not_overridden_by_it() -> None:
    platform = SitlPlatform(1)
    led = platform.create_gpio(25, GpioDirection.OUT)
    led.write(True)
    assert platform.gpio_level(25) is True
    platform.drive_gpio(25, False)
    assert led.read() is True


def test_a_level_from_before_the_claim_counts() -> None:
    platform = SitlPlatform(1)
    platform.drive_gpio(3, True)
    assert platform.create_gpio(3, GpioDirection.IN).read() is True


def test_an_input_cannot_be_written_until_it_is_turned_round() -> None:
    platform = SitlPlatform(1)
    pin = platform.create_gpio(7, GpioDirection.IN)
    with pytest.raises(ConfigError, match="GPIO 7 is an input"):
        pin.write(True)
    pin.set_direction(GpioDirection.OUT)
    pin.write(True)
    assert pin.direction is GpioDirection.OUT
    assert platform.gpio_level(7) is True


def test_closing_lets_go_of_the_wire_and_the_pin() -> None:
    platform = SitlPlatform(1)
    pin = platform.create_gpio(0, GpioDirection.OUT)
    pin.write(True)
    pin.close()
    pin.close()
    assert platform.gpio_level(0) is False
    with pytest.raises(ConfigError, match="GPIO 0 is closed"):
        pin.read()
    platform.create_gpio(0, GpioDirection.IN)


def test_a_misspelt_direction_is_refused() -> None:
    with pytest.raises(ConfigError, match="direction"):
        SitlPlatform(1).create_gpio(0, "inn")  # type: ignore[arg-type]


@pytest.mark.parametrize("level", [1, "on", 0, ""])
def test_any_value_is_a_level(level):
    platform = SitlPlatform(1)
    pin = platform.create_gpio(3, "out")
    pin.write(level)
    assert platform.gpio_level(3) is bool(level)
    pin.set_direction("in")
    platform.drive_gpio(3, level)
    assert pin.read() is bool(level)
