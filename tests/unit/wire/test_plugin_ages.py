"""Records of both ages of the plugin: the flags of 2026 are plain, anything else is looked at."""

import pytest

from pico_gz.errors import DecodeError
from pico_gz.wire.state import read_state

PLAIN = (
    b'\n{"timestamp":1.5,"imu":{"gyro":[0,0,0],"accel_body":[0,0,-9.8]},"position":[1,2,3],'
    b'"quaternion":[1,0,0,0],"velocity":[0,0,0]%s}\n'
)
FLAGS = b',"no_time_sync":true,"no_lockstep":false'


@pytest.mark.parametrize(("more", "flags"), [(b"", (None, None)), (FLAGS, (True, False))])
def test_both_ages_are_plain(more: bytes, flags: tuple[bool | None, bool | None]) -> None:
    record, has_more = read_state(PLAIN % more)
    assert (record.no_time_sync, record.no_lockstep) == flags
    assert not has_more


@pytest.mark.parametrize("more", [b',"rng_1":2.5', FLAGS + b',"rng_1":2.5', b',"no_lockstep":true'])
def test_other_keys_are_seen(more: bytes) -> None:
    assert read_state(PLAIN % more)[1]


def test_a_doubled_key_beside_the_flags_is_refused() -> None:
    with pytest.raises(DecodeError):
        read_state(PLAIN % (FLAGS + b',"position":[9,9,9]'))
