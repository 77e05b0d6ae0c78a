import pytest
from pymavlink.dialects.v20 import all as mav

from pico_gz.errors import ConfigError
from pico_gz.mavlink import codec
from pico_gz.mavlink.signing import Signer, load_key

KEY = bytes(range(32))
NOW = 35_000_000_000_000


def frame(sequence=0):
    out = codec.pack(mav.MAVLink_heartbeat_message(6, 8, 0, 0, 4, 3))
    return codec.frame(out, sequence, 255, flags=codec.FLAG_SIGNED)


def pymavlink_signer(key=KEY, start=NOW):
    link = mav.MAVLink(None, srcSystem=255, srcComponent=190)
    link.signing.secret_key = key
    link.signing.sign_outgoing = True
    link.signing.link_id = 3
    link.signing.timestamp = start
    return link


def foreign_frame(link):
    return mav.MAVLink_heartbeat_message(6, 8, 0, 0, 4, 3).pack(link)


def test_pymavlink_accepts_what_we_sign():
    raw = Signer(KEY, NOW).sign(frame(), link_id=5)
    reader = mav.MAVLink(None)
    reader.signing.secret_key = KEY
    message = reader.decode(bytearray(raw))
    assert message.get_signed()
    assert message.get_link_id() == 5
    assert len(raw) == 34


def test_we_accept_what_pymavlink_signs():
    signer = Signer(KEY, NOW)
    link = pymavlink_signer()
    assert signer.accepts(foreign_frame(link))
    assert signer.accepts(foreign_frame(link))
    assert signer.refused == 0


@pytest.mark.parametrize(
    "raw",
    [
        foreign_frame(pymavlink_signer(key=bytes(32))),
        foreign_frame(pymavlink_signer(start=NOW - 61 * 100_000)),
        mav.MAVLink_heartbeat_message(6, 8, 0, 0, 4, 3).pack(mav.MAVLink(None, 255, 190)),
    ],
    ids=["wrong key", "more than a minute old", "unsigned"],
)
def test_refusals(raw):
    signer = Signer(KEY, NOW)
    assert not signer.accepts(raw)
    assert signer.refused == 1


def test_a_repetition_is_refused():
    signer = Signer(KEY, NOW)
    raw = foreign_frame(pymavlink_signer())
    assert signer.accepts(raw)
    assert not signer.accepts(raw)


def test_a_forged_frame_does_not_lock_a_stream_out():
    signer = Signer(KEY, NOW)
    link = pymavlink_signer()
    assert signer.accepts(foreign_frame(link))
    forged = foreign_frame(pymavlink_signer(key=bytes(32), start=NOW + 10**9))
    assert not signer.accepts(forged)
    assert signer.accepts(foreign_frame(link))


def test_our_own_time_rises_strictly_and_follows_the_newest_peer():
    signer = Signer(KEY, NOW)
    first, second = signer.sign(frame(), 1), signer.sign(frame(1), 1)
    assert first[-12:-6] < second[-12:-6]
    assert signer.accepts(foreign_frame(pymavlink_signer(start=NOW + 5_000_000)))
    third = signer.sign(frame(2), 1)
    assert int.from_bytes(third[-12:-6], "little") > NOW + 5_000_000
    signer.advance_to(NOW)
    assert signer.sign(frame(3), 1)[-12:-6] > third[-12:-6]


def test_the_key_does_not_show():
    assert KEY.hex() not in repr(Signer(KEY, NOW))
    assert str(KEY) not in repr(Signer(KEY, NOW))


def test_a_short_key_is_refused():
    with pytest.raises(ConfigError, match="32 bytes"):
        Signer(b"short", NOW)


@pytest.mark.parametrize("content", [KEY, KEY.hex().encode(), KEY.hex().encode() + b"\n"])
def test_key_files(tmp_path, content):
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)
    assert load_key(path) == KEY


def test_a_key_file_others_can_read_is_refused(tmp_path):
    path = tmp_path / "key"
    path.write_bytes(KEY)
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="others") as caught:
        load_key(path)
    assert "chmod 600" in caught.value.hint


@pytest.mark.parametrize("content", [b"", b"zz" * 32, b"ab" * 31])
def test_a_file_that_is_no_key_is_refused_without_showing_it(tmp_path, content):
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(ConfigError) as caught:
        load_key(path)
    assert not content or content.decode() not in str(caught.value)


def test_a_missing_key_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match="nothing"):
        load_key(tmp_path / "nothing")
