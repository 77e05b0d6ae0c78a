"""The statements on the text of a record."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pico_gz.errors import DecodeError
from pico_gz.testing.conformance import CheckFailedError, Outcome, SkipCheckError, run_check
from pico_gz.testing.conformance_simulator import (
    check_compact,
    check_framing,
    check_keys,
    check_numbers,
    check_size,
    check_wind_order,
)

GOOD = (
    b'\n{"timestamp":1.5,"imu":{"gyro":[0,-0.5,1e-05],"accel_body":[0,0,-9.8]},'
    b'"position":[1,2,-3.25],"quaternion":[1,0,0,0],"velocity":[0.5,0,0]}\n'
)
CHECKS = (
    check_framing,
    check_compact,
    check_keys,
    check_wind_order,
    check_numbers,
    check_size,
)


def with_extra(text: bytes) -> bytes:
    return GOOD.replace(b'"velocity":[0.5,0,0]', b'"velocity":[0.5,0,0],' + text)


@pytest.mark.parametrize("check", [c for c in CHECKS if c is not check_wind_order])
def test_a_good_record_passes(check):
    assert check(GOOD)


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        (GOOD[1:], "beginning"),
        (GOOD[:-1], "end"),
        (GOOD.replace(b",", b",\n", 1), "inside"),
        (b"\n", "end"),
        (b"", "beginning"),
    ],
)
def test_framing(record, complaint):
    with pytest.raises(CheckFailedError, match=complaint):
        check_framing(record)


@pytest.mark.parametrize("text", [b'": ', b'" :', b'": ['])
def test_blanks(text):
    with pytest.raises(CheckFailedError, match="blank"):
        check_compact(GOOD.replace(b'":', text, 1))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b'"x":1.2.3', "'1.2.3' is no plain number"),
        (b'"x":-', "'-' is no plain number"),
        (b'"x":1e', "'1e' is no plain number"),
        (b'"x":NaN', "'NaN' starts with neither"),
        (b'"x":null', "'null' starts with neither"),
        (b'"x":.5', "'.5' starts with neither"),
        (b'"x":+1', "starts with neither"),
        (b'"x":-inf', "'-inf' is no plain number"),
        (b'"x":1e999', "not finite"),
        ('"x":\u0663'.encode(), "starts with neither"),
        ('"x":1\u0663'.encode(), "no plain number"),
    ],
)
def test_odd_numbers_are_named(text, complaint):
    with pytest.raises(CheckFailedError, match=complaint):
        check_numbers(with_extra(text))


@pytest.mark.parametrize("text", [b'"x":"a:b, .5"', b'"x":true', b'"x":[]', b'"x":"\\"-"'])
def test_what_is_no_number_is_left_alone(text):
    assert check_numbers(with_extra(text))


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        (GOOD.replace(b'"timestamp"', b'"timestamp_us":7,"timestamp"'), "reads timestamp"),
        (GOOD.replace(b'":[1,2', b'" :[1,2'), "mandatory"),
        (GOOD.replace(b'"timestamp":1.5', b'"timestamp" :1.5'), "reads timestamp as 0.0, not 1.5"),
        (
            GOOD.replace(b'"velocity"', b'"velocity_wind":[9,9,9],"velocity"'),
            "velocity",
        ),
        (GOOD[1:-1], "no record between line feeds"),
    ],
)
def test_what_ardupilot_would_misread_is_named(record, complaint):
    with pytest.raises(CheckFailedError, match=complaint):
        check_keys(record)


@pytest.mark.parametrize("key", [b"timestamp", b"gyro", b"position", b"velocity", b"quaternion"])
def test_a_missing_key_is_refused(key):
    with pytest.raises((CheckFailedError, DecodeError)):
        check_keys(GOOD.replace(b'"%b"' % key, b'"other"'))


def test_wind_must_follow_velocity():
    wind = b'"velocity_wind":[1,0,0]'
    assert check_wind_order(with_extra(wind))
    with pytest.raises(CheckFailedError):
        check_wind_order(GOOD.replace(b'"velocity"', wind + b',"velocity"'))
    with pytest.raises(SkipCheckError):
        check_wind_order(GOOD)


def test_long_records_are_caught():
    with pytest.raises(CheckFailedError, match="bytes"):
        check_size(with_extra(b'"x":"' + b"y" * 1400 + b'"'))


def pieces():
    scraps = st.sampled_from(
        [
            b'"x":-',
            b"1.2.3",
            b"[",
            b"]",
            b"{",
            b"}",
            b'"',
            b"\\",
            b"NaN",
            b"1e999",
            b"\n",
            b":",
            b",",
        ]
    )
    return st.lists(st.one_of(scraps, st.binary(max_size=6)), max_size=8).map(b"".join)


@given(scrap=pieces(), at=st.integers(0, len(GOOD)), cut=st.integers(0, 20))
def test_no_reply_breaks_a_check(scrap, at, cut):
    """Whatever a peer sends, it passes, fails or is skipped; nothing else is raised."""
    reply = GOOD[:at] + scrap + GOOD[at + cut :]
    for check in CHECKS:
        assert run_check(1, "", lambda check=check: check(reply)).outcome in Outcome
