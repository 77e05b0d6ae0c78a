"""Hosts and ports that the checklist can be asked for."""

import socket

import pytest

from pico_gz.errors import ConfigError
from pico_gz.testing.conformance import resolve


def test_an_address_stays_as_it_is():
    assert resolve("127.0.0.1", 9002) == ("127.0.0.1", 9002)


@pytest.mark.parametrize("host", ["::1", "a..b", "x" * 70, "a\0b"])
def test_what_is_no_ipv4_host_is_refused(host):
    with pytest.raises(ConfigError, match="no host") as caught:
        resolve(host, 9002)
    assert "IPv4" in caught.value.hint


def test_an_unknown_name_is_refused(monkeypatch):
    def unknown(*_):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr("pico_gz.testing.conformance.getaddrinfo", unknown)
    with pytest.raises(ConfigError, match="no host 'gazebo-box'"):
        resolve("gazebo-box", 9002)


@pytest.mark.parametrize(("host", "port"), [("0.0.0.0", 9002), ("127.0.0.1", 0)])
def test_nowhere_is_refused(host, port):
    with pytest.raises(ConfigError):
        resolve(host, port)
