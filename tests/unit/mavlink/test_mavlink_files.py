"""MAVLink FTP, and the first contact of a large fleet."""

import socket
import struct
import zlib

import pytest
from fake_vehicle import FakeVehicle
from ground_station import Ground
from pymavlink import mavftp
from pymavlink.dialects.v20 import all as mav
from real_vehicle import RealVehicle

from pico_gz.mavlink.fleet_mavlink import FleetMavlink, MavlinkSettings, VehicleLinkPlan
from pico_gz.vehicle.autopilot.rover_autopilot import RoverAutopilot

OPEN, READ, BURST, LIST, CRC, END, RESET = 4, 5, 15, 3, 14, 1, 2
PARAMS = b"@PARAM/param.pck"


def ask(station, opcode, data=b"", *, sequence=7, offset=0, size=None):
    """Send a request; return (sequence, opcode, burst over, offset, data) of each answer."""
    size = len(data) if size is None else size
    head = struct.pack("<HBBBBBBI", sequence, 0, opcode, size, 0, 0, 0, offset)
    payload = list((head + data).ljust(251, b"\0"))
    answers = station.ask(
        mav.MAVLink_file_transfer_protocol_message(0, 1, 1, payload), "FILE_TRANSFER_PROTOCOL"
    )
    found = []
    for answer in answers:
        raw = bytes(answer.payload)
        seq, _, code, length, asked, over, _, at = struct.unpack_from("<HBBBBBBI", raw)
        assert asked == opcode
        found.append((seq, code, over, at, raw[12 : 12 + length]))
    return found


def test_all_parameters_come_in_bursts_as_pymavlink_reads_them():
    ground = Ground(RealVehicle())
    station = ground.station()
    ((_, code, _, _, size),) = ask(station, OPEN, PARAMS)
    assert code == 128
    data, sequence = b"", 8
    while True:
        answers = ask(station, BURST, size=239, sequence=sequence, offset=len(data))
        assert [a[0] for a in answers] == list(range(sequence + 1, sequence + 1 + len(answers)))
        data += b"".join(a[4] for a in answers if a[1] == 128)
        sequence = answers[-1][0]
        if answers[-1][1] == 129:
            assert answers[-1][4] == bytes([6])  # the end of the file
            break
        assert answers[-1][2] == 1
    assert len(data) == int.from_bytes(size, "little")
    read = {name.decode(): value for name, value, _ in mavftp.MAVFTP.ftp_param_decode(data).params}
    params = ground.vehicle.params
    held = {info.name: info.value for info in map(params.by_index, range(params.count()))}
    assert read == pytest.approx(held, rel=1e-6)
    assert ask(station, READ, size=20)[0][4] == data[:20]
    assert ask(station, END)[0][1] == 128
    assert ask(station, READ, size=20)[0][4] == bytes([4])  # no session any more


@pytest.mark.parametrize(
    ("opcode", "data", "error"),
    [
        (OPEN, b"/etc/passwd", 10),
        (OPEN, b"@PARAM/../x", 10),
        (OPEN, b"/APM/LOGS/../../etc/passwd", 10),
        (LIST, b"/", 10),
        (READ, b"", 4),
        (BURST, b"", 4),
        (11, PARAMS, 9),
        (77, b"", 7),
    ],
)
def test_everything_else_is_refused(opcode, data, error):
    ((sequence, code, _, _, answer),) = ask(Ground().station(), opcode, data)
    assert (sequence, code, answer) == (8, 129, bytes([error]))


def test_sessions_end_politely_and_answers_get_none():
    station = Ground().station()
    for opcode in (END, RESET):
        assert ask(station, opcode, sequence=65535)[0][:2] == (0, 128)
    for opcode in (0, 128, 129):
        assert ask(station, opcode) == []


def test_the_log_of_a_recorded_run(tmp_path):
    plan = [VehicleLinkPlan(1, FakeVehicle())]
    settings = MavlinkSettings(tlog_dir=tmp_path)
    with FleetMavlink(plan, settings) as fleet:
        fleet.service(1_000_000)
        ground = Ground()
        ground.endpoint = fleet._endpoints[1]
        station = ground.station()
        ((_, _, _, _, listing),) = ask(station, LIST, b"/APM/LOGS")
        size = (tmp_path / "vehicle_1.tlog").stat().st_size
        assert listing.startswith(b"Fvehicle_1.tlog\t")
        assert ask(station, OPEN, b"/APM/LOGS/vehicle_1.tlog")[0][1] == 128
        ((_, _, _, _, data),) = ask(station, READ, size=100, offset=50)
        assert size > 150
        assert data == (tmp_path / "vehicle_1.tlog").read_bytes()[50:150]
        ((_, _, _, _, crc),) = ask(station, CRC, PARAMS)
        assert len(crc) == 4


def test_the_checksum_is_mavlinks():
    station = Ground().station()
    ((_, _, _, _, crc),) = ask(station, CRC, PARAMS)
    ask(station, OPEN, PARAMS)
    answers = ask(station, BURST, size=239)
    data = b"".join(a[4] for a in answers if a[1] == 128)
    plain = 0  # bit by bit, as its page writes it
    for byte in data:
        plain ^= byte
        for _ in range(8):
            plain = plain >> 1 ^ (0xEDB88320 if plain & 1 else 0)
    assert int.from_bytes(crc, "little") == plain
    assert plain != zlib.crc32(data)


class _ParameterReader:
    """A TCP client that asks for all parameters and collects what arrives."""

    def __init__(self, fleet: FleetMavlink, vehicles: int) -> None:
        self.seen: set[tuple[int, int]] = set()
        self.frames = 0
        self._buffer = b""
        self._socket = socket.create_connection(("127.0.0.1", fleet.links()[0].local_port()))
        self._socket.settimeout(5.0)
        writer = mav.MAVLink(None, srcSystem=255, srcComponent=190)
        for n in range(1, vehicles + 1):
            self._socket.sendall(mav.MAVLink_param_request_list_message(n, 1).pack(writer))

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self._socket.close()

    def read(self, frames: int) -> None:
        """Read until so many frames have arrived in all."""
        while self.frames < frames:
            self._buffer += self._socket.recv(1 << 20)
            while len(self._buffer) >= 12 and len(self._buffer) >= self._buffer[1] + 12:
                size = self._buffer[1] + 12
                frame, self._buffer = self._buffer[:size], self._buffer[size:]
                self.frames += 1
                if int.from_bytes(frame[7:10], "little") == mav.MAVLINK_MSG_ID_PARAM_VALUE:
                    self.seen.add((frame[5], int.from_bytes(frame[16:18], "little")))


def test_fifty_rovers_give_all_parameters_through_one_link_within_15_s():
    """On the clock of the link: what the pacing allows, and nothing is lost."""
    now_us = begun_us = 1_000_000
    plan = [VehicleLinkPlan(n, RoverAutopilot()) for n in range(1, 51)]
    settings = MavlinkSettings(tcp=("127.0.0.1", 0))
    with (
        FleetMavlink(plan, settings, clock_us=lambda: now_us) as fleet,
        _ParameterReader(fleet, 50) as reader,
    ):
        count = plan[0].vehicle.params.count()
        while len(reader.seen) < 50 * count and now_us - begun_us < 15_000_000:
            now_us += 5_000
            fleet.service(now_us - begun_us)
            # The network thread has its own time; what is under way is waited for.
            reader.read(fleet.counters()["frames_out"])
    assert len(reader.seen) == 50 * count


def test_a_client_that_does_not_read_for_a_while_loses_no_parameter():
    """Its queue holds a third of them: the list waits instead of pushing its own frames out."""
    now_us = begun_us = 1_000_000
    plan = [VehicleLinkPlan(n, RoverAutopilot()) for n in range(1, 51)]
    settings = MavlinkSettings(tcp=("127.0.0.1", 0))
    with (
        FleetMavlink(plan, settings, clock_us=lambda: now_us) as fleet,
        _ParameterReader(fleet, 50) as reader,
    ):
        fleet.links()[0].wake = lambda: None  # the client's window is closed
        count = plan[0].vehicle.params.count()
        while now_us - begun_us < 20_000_000:
            now_us += 5_000
            fleet.service(now_us - begun_us)
        del fleet.links()[0].wake
        fleet.links()[0].wake()
        while len(reader.seen) < 50 * count and now_us - begun_us < 60_000_000:
            now_us += 5_000
            fleet.service(now_us - begun_us)
            totals = fleet.counters()
            reader.read(totals["frames_out"] - totals["tcp_dropped"])
    assert len(reader.seen) == 50 * count
