import errno
import struct

import pytest
from fake_vehicle import FakeVehicle
from ground_station import Ground
from pymavlink.dialects.v20 import all as mav

from pico_gz.core.ground_control import StatusText
from pico_gz.mavlink import codec
from pico_gz.mavlink.endpoint import VehicleEndpoint
from pico_gz.mavlink.fleet_mavlink import SERVICES, FleetMavlink, MavlinkSettings, VehicleLinkPlan
from pico_gz.mavlink.signing import Signer
from pico_gz.mavlink.tlog import TlogWriter

EPOCH_US = 1_767_225_600_000_000


def records(path):
    """The format, read by hand: 8 bytes of time, then one frame, again and again."""
    data = path.read_bytes()
    reader = mav.MAVLink(None)
    found = []
    at = 0
    while at < len(data):
        (stamp_us,) = struct.unpack_from(">Q", data, at)
        at += 8
        length = data[at + 1] + (12 if data[at] == 0xFD else 8)
        found.append((stamp_us, reader.decode(bytearray(data[at : at + length]))))
        at += length
    return found


class Recorded(Ground):
    def __init__(self, path, **shared):
        super().__init__(FakeVehicle(3), **shared)
        self.endpoint.close()
        self.writer = TlogWriter(path, lambda: EPOCH_US + self.schedule.sim_us)
        self.endpoint = VehicleEndpoint(3, self.vehicle, self.shared, SERVICES, tlog=self.writer)


def test_a_recording_holds_what_a_ground_station_would_have_seen(tmp_path):
    path = tmp_path / "a.tlog"
    ground = Recorded(path)
    ground.run(10.0, speed=100.0)
    ground.endpoint.close()
    found = records(path)
    names = [m.get_type() for _, m in found]
    assert names.count("HEARTBEAT") == pytest.approx(10, abs=1)
    assert names.count("SYS_STATUS") == pytest.approx(10, abs=1)
    assert names.count("GLOBAL_POSITION_INT") == pytest.approx(40, abs=1)
    assert names.count("PARAM_VALUE") == ground.vehicle.params.count()
    stamps = [stamp_us for stamp_us, _ in found]
    assert stamps == sorted(stamps)
    assert EPOCH_US <= stamps[0] <= stamps[-1] <= EPOCH_US + 10_000_000
    assert {m.get_srcSystem() for _, m in found} == {3}
    assert [m.get_seq() for _, m in found] == [n % 256 for n in range(len(found))]


def test_the_last_words_of_a_run_are_recorded(tmp_path):
    vehicle = FakeVehicle(3)
    fleet = FleetMavlink([VehicleLinkPlan(3, vehicle)], MavlinkSettings(tlog_dir=tmp_path))
    with fleet:
        fleet.service(0)
        vehicle.texts.append(StatusText(6, "Mission Complete"))
    texts = [
        m.text for _, m in records(tmp_path / "vehicle_3.tlog") if m.get_type() == "STATUSTEXT"
    ]
    assert texts[-1] == "Mission Complete"


def test_questions_and_answers_are_recorded(tmp_path):
    path = tmp_path / "a.tlog"
    ground = Recorded(path)
    station = ground.station()
    station.send(mav.MAVLink_command_long_message(3, 1, 400, 0, 1, 0, 0, 0, 0, 0, 0))
    ground.endpoint.close()
    found = [(m.get_type(), m.get_srcSystem()) for _, m in records(path)]
    assert ("COMMAND_LONG", 255) in found
    assert ("COMMAND_ACK", 3) in found
    assert ("STATUSTEXT", 3) in found


def test_keys_and_signatures_are_not_recorded(tmp_path):
    path = tmp_path / "a.tlog"
    key = bytes(range(32))
    ground = Recorded(path, signer=Signer(key, 35_000_000_000_000))
    station = ground.station()
    station.send(mav.MAVLink_setup_signing_message(3, 1, list(key), 0))
    ground.writer.write(mav.MAVLink_setup_signing_message(3, 1, list(key), 0).pack(station._writer))
    beat = mav.MAVLink_heartbeat_message(6, 8, 0, 0, 4, 3)
    signed = codec.frame(codec.pack(beat), 0, 255, flags=codec.FLAG_SIGNED)
    ground.writer.write(ground.shared.signer.sign(signed, 1))
    ground.run(2.0)
    assert all(codec.is_signed(raw) for raw in station.peer.frames)
    ground.endpoint.close()
    assert key not in path.read_bytes()
    found = records(path)
    assert "SETUP_SIGNING" not in {m.get_type() for _, m in found}
    assert all(not m.get_header().incompat_flags for _, m in found)


def test_the_lowest_bits_of_the_time_are_free(tmp_path):
    path = tmp_path / "a.tlog"
    writer = TlogWriter(path, lambda: 1_000_003)
    writer.write(codec.frame(codec.pack(mav.MAVLink_heartbeat_message(6, 8, 0, 0, 4, 3)), 0, 1))
    writer.close()
    assert records(path)[0][0] == 1_000_000


class FullDisk:
    """A file that takes so much and no more."""

    def __init__(self, file, room):
        self.file = file
        self.room = room

    def write(self, data):
        if len(data) > self.room:
            self.file.write(data[: self.room])
            raise OSError(errno.ENOSPC, "No space left on device")
        self.room -= len(data)
        return self.file.write(data)

    def fileno(self):
        return self.file.fileno()

    def truncate(self, size):
        return self.file.truncate(size)

    def close(self):
        self.file.close()


def test_a_full_disk_ends_the_recording_after_a_whole_record(tmp_path, caplog):
    path = tmp_path / "a.tlog"
    ground = Recorded(path)
    ground.writer._file = FullDisk(ground.writer._file, 10_000)
    station = ground.station()
    ground.run(30.0)
    assert ground.writer.closed
    assert "a.tlog ends here: no space left" in caplog.text
    assert len(records(path)) > 100
    assert len(station.take("ATTITUDE")) == 30
    ground.endpoint.close()


def talk(folder, turn_us, pause_us=0):
    """A vehicle speaks now and then; a turn of 10 ms takes ``turn_us`` of wall time."""
    vehicle, wall_us = FakeVehicle(3), 0
    plans, settings = [VehicleLinkPlan(3, vehicle)], MavlinkSettings(tlog_dir=folder)
    with FleetMavlink(plans, settings, clock_us=lambda: wall_us) as fleet:
        for turn in range(300):
            if turn % 37 == 5:
                vehicle.texts.append(StatusText(6, f"turn {turn}"))
            wall_us += turn_us
            fleet.service(turn * 10_000)
        vehicle.texts.append(StatusText(6, "paused"))
        for _ in range(pause_us // 20_000):
            wall_us += 20_000
            fleet.service(299 * 10_000)
        left = len(vehicle.texts)
    return (folder / "vehicle_3.tlog").read_bytes(), left


@pytest.mark.parametrize("turn_us", [20, 700, 3_000, 50_000, 400_000])
def test_the_same_run_gives_the_same_log_at_any_speed(tmp_path, turn_us):
    first, _ = talk(tmp_path / "first", 10_000)
    assert talk(tmp_path / "second", turn_us)[0] == first
    texts = [m.text for _, m in records(tmp_path / "second" / "vehicle_3.tlog")
             if m.get_type() == "STATUSTEXT"]  # fmt: skip
    assert texts[:2] == ["turn 5", "turn 42"]


def test_news_are_told_during_a_pause(tmp_path):
    assert talk(tmp_path / "short", 10_000, pause_us=60_000)[1] == 1
    assert talk(tmp_path / "long", 10_000, pause_us=140_000)[1] == 0


def run_fleet(folder, disturb):
    """Ten seconds of a vehicle that is recorded; what is told of early ends."""
    told = []
    clock = iter(range(0, 10**9, 100_000))
    fleet = FleetMavlink(
        [VehicleLinkPlan(3, FakeVehicle(3))],
        MavlinkSettings(
            tlog_dir=folder,
            tlog_ended_early=lambda vehicle_id, text: told.append((vehicle_id, text)),
        ),
        clock_us=lambda: next(clock),
    )
    with fleet:
        for turn in range(100):
            fleet.service(turn * 100_000)
            if turn == 50:
                disturb(fleet)
    return told


def test_a_removed_recording_is_told_once(tmp_path):
    told = run_fleet(tmp_path, lambda _: (tmp_path / "vehicle_3.tlog").unlink())
    ((vehicle_id, text),) = told
    assert vehicle_id == 3
    assert text.endswith("vehicle_3.tlog ends here: it was removed.")


def test_a_full_disk_is_told_once(tmp_path):
    def fill_disk(fleet):
        writer = fleet._endpoints[3]._tlog
        writer._file = FullDisk(writer._file, 0)

    ((vehicle_id, text),) = run_fleet(tmp_path, fill_disk)
    assert (vehicle_id, "no space left" in text) == (3, True)


def test_a_recording_that_goes_well_tells_nothing(tmp_path):
    assert run_fleet(tmp_path, lambda _: None) == []


def test_a_killed_run_loses_at_most_a_second(tmp_path):
    path = tmp_path / "a.tlog"
    ground = Recorded(path)
    ground.run(10.0)
    newest_us = records(path)[-1][0] - EPOCH_US
    assert newest_us >= 8_900_000
    ground.endpoint.close()


def test_closing_twice_is_fine(tmp_path):
    writer = TlogWriter(tmp_path / "a.tlog", lambda: 0)
    writer.close()
    writer.close()
    writer.write(codec.frame(codec.pack(mav.MAVLink_heartbeat_message(6, 8, 0, 0, 4, 3)), 0, 1))
    assert (tmp_path / "a.tlog").read_bytes() == b""
