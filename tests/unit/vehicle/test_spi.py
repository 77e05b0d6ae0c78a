from __future__ import annotations

import pytest

from pico_gz.errors import ConfigError
from pico_gz.vehicle.platform.platform import SitlPlatform


def test_devices_answer_on_their_own_chip_select() -> None:
    platform = SitlPlatform(1)
    spi = platform.create_spi(0, frequency_hz=8_000_000, mode=3)
    platform.attach_spi_device(0, 1, lambda data: bytes(byte ^ 0xFF for byte in data))
    assert spi.transfer(b"\x80\x00", chip_select=1) == b"\x7f\xff"
    assert (spi.frequency_hz, spi.mode) == (8_000_000, 3)


def test_without_a_device_the_line_floats_high() -> None:
    assert SitlPlatform(1).create_spi(0).transfer(b"\x00\x00\x00") == b"\xff\xff\xff"


def test_a_device_of_the_wrong_length_is_named() -> None:
    platform = SitlPlatform(1)
    platform.attach_spi_device(1, 0, lambda _data: b"")
    with pytest.raises(ConfigError, match="SPI 1: the device at chip select 0 answered 0 bytes"):
        platform.create_spi(1).transfer(b"\x00")


def test_one_device_per_chip_select() -> None:
    platform = SitlPlatform(1)
    platform.attach_spi_device(0, 0, bytes)
    with pytest.raises(ConfigError, match="chip select 0 has a device"):
        platform.attach_spi_device(0, 0, bytes)
    with pytest.raises(ConfigError, match="no SPI 2"):
        platform.attach_spi_device(2, 0, bytes)


@pytest.mark.parametrize(("frequency_hz", "mode"), [(0, 0), (1_000_000, 4)])
def test_impossible_buses_are_refused_and_claim_nothing(frequency_hz: int, mode: int) -> None:
    platform = SitlPlatform(1)
    with pytest.raises(ConfigError, match="SPI 0"):
        platform.create_spi(0, frequency_hz, mode)
    platform.create_spi(0)


def test_closing_releases_the_bus() -> None:
    platform = SitlPlatform(1)
    spi = platform.create_spi(0)
    spi.close()
    spi.close()
    with pytest.raises(ConfigError, match="SPI 0 is closed"):
        spi.transfer(b"\x00")
    platform.create_spi(0)
