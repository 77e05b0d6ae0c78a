import random
from functools import partial

import pytest
from pymavlink.dialects.v20 import all as mav

from pico_gz.errors import EncodeError
from pico_gz.mavlink import codec

SENT_BY_US = [
    mav.MAVLink_heartbeat_message(10, 3, 65, 0, 3, 3),
    mav.MAVLink_attitude_message(1234, 0.125, -0.25, 3.0, 0.0, 0.0, 0.5),
    mav.MAVLink_attitude_message(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    mav.MAVLink_param_value_message(b"CRUISE_SPEED", 2.0, 9, 120, 7),
    mav.MAVLink_command_ack_message(400, 0, 0, 0, 255, 190),
    mav.MAVLink_statustext_message(6, b"Throttle armed", 3, 1),
    mav.MAVLink_battery_status_message(0, 0, 1, 32767, [7400] + [65535] * 9, 30, 5, -1, 80),
    mav.MAVLink_autopilot_version_message(1, 2, 3, 4, 5, [1] * 8, [0] * 8, [0] * 8, 0, 0, 9),
]


def fields(message):
    pairs = message.to_dict().items()
    return {k: list(v) if isinstance(v, tuple) else v for k, v in pairs}


def all_ones(kind):
    """An instance of any message of the dialect, with neutral fields."""
    values = []
    for name in kind.fieldnames:
        length = kind.array_lengths[kind.ordered_fieldnames.index(name)]
        type_name = kind.fieldtypes[kind.fieldnames.index(name)]
        if type_name == "char":
            values.append(b"x")
        else:
            values.append([1] * length if length else 1)
    return kind(*values)


@pytest.mark.parametrize("message", SENT_BY_US, ids=lambda m: m.get_type())
def test_frames_equal_those_of_pymavlink(message):
    link = mav.MAVLink(None, srcSystem=17, srcComponent=1)
    link.seq = 201
    expected = type(message).pack(message, link)
    assert codec.frame(codec.pack(message), 201, 17) == expected


@pytest.mark.parametrize("message", SENT_BY_US, ids=lambda m: m.get_type())
def test_what_was_packed_is_decoded(message):
    raw = codec.frame(codec.pack(message), 9, 3)
    back = codec.decode(raw)
    assert codec.has_good_crc(raw)
    assert fields(back) == fields(message)
    assert (back.get_srcSystem(), back.get_srcComponent(), back.get_seq()) == (3, 1, 9)
    assert codec.source(raw) == (3, 1)
    assert codec.message_id(raw) == message.get_msgId()


def crc_extra_of_base_fields(kind):
    """The seed byte as the MAVLink specification defines it, over all but the extensions."""
    wire = kind.ordered_fieldnames[
        : len(kind.ordered_fieldnames) - len(kind.__init__.__defaults__ or ())
    ]
    crc = mav.x25crc()
    crc.accumulate(kind.msgname + " ")
    for name in wire:
        crc.accumulate(kind.fieldtypes[kind.fieldnames.index(name)] + " ")
        crc.accumulate(name + " ")
        length = kind.array_lengths[kind.ordered_fieldnames.index(name)]
        if length:
            crc.accumulate(bytes([length]))
    return (crc.crc & 0xFF) ^ (crc.crc >> 8)


def test_what_counts_as_an_extension_agrees_with_the_dialect():
    # The seed byte covers exactly the fields that MAVLink 1 carries.
    wrong = [
        kind.msgname
        for kind in mav.mavlink_map.values()
        if crc_extra_of_base_fields(kind) != kind.crc_extra
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("msg_id", "expected"),
    [(0, 9), (30, 28), (42, 2), (77, 3), (147, 36), (148, 60), (253, 51), (24, 30), (70, 18)],
)
def test_mavlink_1_lengths(msg_id, expected):
    assert codec.v1_payload_bytes(msg_id) == expected


def test_mavlink_1_frames_have_no_extensions():
    ack = mav.MAVLink_command_ack_message(400, 0, 0, 0, 255, 190)
    raw = codec.frame(codec.pack(ack), 5, 1, v1=True)
    assert raw[:6] == bytes([0xFE, 3, 5, 1, 1, 77])
    assert len(raw) == 6 + 3 + 2
    assert codec.is_v1(raw)
    assert codec.decode(raw).result == 0


def test_every_message_of_the_dialect_survives_both_ways():
    for msg_id, kind in mav.mavlink_map.items():
        message = all_ones(kind)
        raw = codec.frame(codec.pack(message), 0, 1)
        assert codec.has_good_crc(raw), kind.msgname
        assert fields(codec.decode(raw)) == fields(message)
        if codec.fits_v1(msg_id):
            raw = codec.frame(codec.pack(message), 0, 1, v1=True)
            assert codec.has_good_crc(raw), kind.msgname
            assert len(raw) == 8 + codec.v1_payload_bytes(msg_id)


def test_a_flipped_bit_is_noticed():
    raw = bytearray(codec.frame(codec.pack(SENT_BY_US[1]), 0, 1))
    generator = random.Random(1)
    for _ in range(200):
        broken = bytearray(raw)
        broken[generator.randrange(1, len(raw))] ^= 1 << generator.randrange(8)
        if codec.is_known(codec.message_id(broken)) and not broken[2]:
            assert not codec.has_good_crc(bytes(broken))


@pytest.mark.parametrize(
    "message",
    [
        mav.MAVLink_heartbeat_message(300, 3, 65, 0, 3, 3),
        mav.MAVLink_heartbeat_message(10, 3, 65, -1, 3, 3),
        mav.MAVLink_attitude_message(0, 1e300, 0, 0, 0, 0, 0),
        mav.MAVLink_attitude_message(None, 0, 0, 0, 0, 0, 0),
    ],
)
def test_a_field_that_does_not_fit_is_an_encode_error(message):
    with pytest.raises(EncodeError, match="cannot be packed"):
        codec.pack(message)


def test_stripping_a_signature_leaves_a_good_frame():
    out = codec.pack(SENT_BY_US[1])
    signed = codec.frame(out, 3, 1, flags=codec.FLAG_SIGNED) + bytes(13)
    assert codec.is_signed(signed)
    assert codec.without_signature(signed) == codec.frame(out, 3, 1)
    unsigned = codec.frame(out, 3, 1)
    assert codec.without_signature(unsigned) == unsigned


def random_fields(kind, rng):
    """Values of every field of a message, an array's in a list."""
    values = []
    for name, type_name in zip(kind.fieldnames, kind.fieldtypes, strict=True):
        length = kind.array_lengths[kind.ordered_fieldnames.index(name)]
        if type_name == "char":
            values.append(rng.randbytes(max(1, length)))
            continue
        bits = int("".join(filter(str.isdigit, type_name)) or 0)
        low = 0 if type_name.startswith("u") else -(1 << bits >> 1)
        high = low + (1 << bits) - 1
        draw = partial(rng.randint, low, high) if bits else partial(rng.gauss, 0.0, 1e3)
        values.append([draw() for _ in range(length)] if length else draw())
    return values


def flat(values):
    return tuple(one for value in values for one in (value if isinstance(value, list) else [value]))


def test_packing_from_random_fields_gives_the_frames_of_pymavlink():
    rng = random.Random(20)
    link = mav.MAVLink(None, srcSystem=17, srcComponent=1)
    for kind in mav.mavlink_map.values():
        for _ in range(5):
            values = random_fields(kind, rng)
            link.seq = rng.randrange(256)
            ours = codec.frame(codec.Packer(kind)(flat(values)), link.seq, 17)
            assert ours == kind(*values).pack(link), kind.msgname


def test_extensions_may_lack():
    packer = codec.Packer(mav.MAVLink_mission_current_message)
    expected = codec.pack(mav.MAVLink_mission_current_message(3)).payload
    assert packer((3,)).payload == expected
    assert packer((3, 0)).payload == expected


def test_a_field_that_does_not_fit_a_packer():
    with pytest.raises(EncodeError, match="MISSION_CURRENT"):
        codec.Packer(mav.MAVLink_mission_current_message)((-1,))
