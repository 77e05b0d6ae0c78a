"""Records every step, event and latency of a run."""

from __future__ import annotations

import csv
import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from mcap.records import Channel, Schema
from mcap.well_known import MessageEncoding, SchemaEncoding

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.published import BridgeEvent, FleetView
from pico_gz.bridge.run_stats import LatencyHistogram
from pico_gz.bridge.timeline import Marks
from pico_gz.core.frames import LocalFrame
from pico_gz.core.ground_control import GcsVehicle
from pico_gz.run.recording import topics
from pico_gz.run.recording.mcap_reader import RecordingError, read_regular
from pico_gz.run.recording.mcap_writer import (
    ChunkBuilder,
    ChunkWriter,
    McapFile,
    SealedChunk,
    Snapshotted,
)
from pico_gz.run.recording.run_folder import MCAP_FILE, RunFolder, unwritable
from pico_gz.run.recording.topics import SCHEMAS, AutopilotSample, Kind, schema_bytes, topic_of

log = logging.getLogger(__name__)

LATENCY_FILE = "latency.csv"
PERIOD_US = 1_000_000  # of simulation time
_MAX_TABLE_BYTES = 16 * 1024 * 1024  # days of rows


class LatencyRow(msgspec.Struct, frozen=True):
    """The steps of one second: when it ended [s], and how long they took [ms]."""

    time_s: float
    p50_ms: float
    p99_ms: float
    max_ms: float


_HEAD = ",".join(LatencyRow.__struct_fields__)


class LatencyLog:
    """Writes a row for every second of simulation time; every row is on the disk at once.

    Latency is wall time, so it has no place in ``run.mcap``, whose bytes repeat.

    Raises:
        OSError: the file cannot be created.
    """

    def __init__(self, path: Path, histogram: LatencyHistogram) -> None:
        self.path = path
        self._histogram = histogram
        self._before = histogram.copy()
        self._next_us = PERIOD_US
        self._time_us = 0
        # Line by line: a kill costs the second under way.
        self._file = path.open("w", buffering=1, encoding="ascii", newline="\n")
        self._file.write(_HEAD + "\n")

    def go_back(self, time_us: int) -> None:
        """Continue with the second that a run is taken back to."""
        self._next_us = time_us - time_us % PERIOD_US + PERIOD_US

    def note_step(self, time_us: int) -> None:
        """Take a finished step."""
        self._time_us = time_us
        if time_us >= self._next_us:
            self._next_us = time_us - time_us % PERIOD_US + PERIOD_US
            self._write_row()

    def close(self) -> None:
        """Write the second under way and close; harmless when called twice."""
        if not self._file.closed:
            self._write_row()
        self._close()

    def _write_row(self) -> None:
        spent = self._histogram.since(self._before)
        self._before = self._histogram.copy()
        # The maximum of a histogram is that of the whole run; the highest bucket is this second's.
        figures = [spent.percentile_ms(fraction) for fraction in (0.5, 0.99, 1.0)]
        if self._file.closed or not any(figures):
            return
        try:
            self._file.write(",".join(f"{v:.6g}" for v in (self._time_us / 1e6, *figures)) + "\n")
        except OSError as error:
            log.debug("%s ends: %s", self.path, error)
            self._close()

    def _close(self) -> None:
        try:
            self._file.close()
        except OSError as error:  # what could not be written is tried once more
            log.debug("%s is not whole: %s", self.path, error)


def read_latency(folder: Path) -> list[LatencyRow]:
    """The rows beside a recording; none in a recording that has no such table.

    Raises:
        RecordingError: it is no such table.
    """
    path = folder / LATENCY_FILE
    try:
        text = read_regular(path, _MAX_TABLE_BYTES).decode("ascii")
    except FileNotFoundError:
        return []
    except RecordingError:
        raise
    except (OSError, ValueError) as exc:
        raise RecordingError(f"{path} cannot be read: {exc}.") from exc
    whole, _, _ = text.rpartition("\n")  # a row that was cut off is none
    try:
        return msgspec.convert(
            list(csv.DictReader(whole.splitlines())), list[LatencyRow], strict=False
        )
    except (msgspec.ValidationError, csv.Error) as exc:
        raise RecordingError(f"{path} is damaged: {exc}.") from exc


CHUNK_NS = 1_000_000_000  # of simulation time: the same run gives the same chunks
CHUNK_BYTES = 4 * 1024 * 1024
SAMPLE_PERIOD_US = 250_000
LARGE_FLEET = 10  # asking an autopilot costs more than a step, so large fleets ask less often
LARGE_FLEET_SAMPLE_PERIOD_US = 1_000_000
_WHOLE_RUN = 0
_SEQUENCES = 2**32


class RunRecorder:
    """An observer of a run; add it to ``after_step`` and let it listen to the events.

    What it writes depends on the run alone: log time is simulation time, and no message holds
    wall time. A disk that fails ends the recording with one event and leaves the run alone.

    Raises:
        OSError: the file cannot be created.
    """

    def __init__(
        self,
        path: Path,
        *,
        name_of: Callable[[int], str],
        sample: Callable[[int, int], AutopilotSample | None],
        report: Callable[[BridgeEvent], None],
        latency: LatencyHistogram | None = None,
    ) -> None:
        """Create the file.

        Args:
            path: the new file.
            name_of: vehicle id -> name, part of its topics.
            sample: (vehicle id, time) -> what its autopilot believes, a few times a second.
            report: takes the event that the recording has ended early.
            latency: of the run's steps; kept second by second in a table beside the file.
        """
        self.path = path
        self._name_of = name_of
        self._sample = sample
        self._report = report
        self._file = McapFile(path)
        self._latency: LatencyLog | None = None
        if latency is not None:
            self._latency = LatencyLog(path.with_name(LATENCY_FILE), latency)
        self._encode = msgspec.json.Encoder().encode
        self._lock = threading.Lock()
        self._chunk = ChunkBuilder()
        self._drafted = 0
        self._channels: dict[Kind, dict[int, int]] = {kind: {} for kind in Kind}
        self._schemas: dict[Kind, int] = {}
        self._next_sample_us = 0
        self._step = 0
        self._time_us = 0
        self._ended = False
        self._problem_reported = False
        self._marks: Marks[int] = Marks()  # when the next samples were due
        self._writer = ChunkWriter(self._file, self._peek)

    def __call__(self, view: FleetView) -> None:
        """Record one step."""
        if self._ended:
            return
        if self.problem:
            self._end_early()
            return
        self._step, self._time_us = view.step, view.time_us
        if self._latency is not None:
            self._latency.note_step(view.time_us)
        with self._lock:
            self._seal_if_full(view.time_us * 1000)
            self._add_all(
                (Kind.TRUTH, view.truth),
                (Kind.SENSORS, view.sensors),
                (Kind.ACTUATORS, view.commands),
            )
            self._add_fixes(view)
            if view.time_us >= self._next_sample_us:
                self._add_samples(view)

    def note_event(self, event: BridgeEvent) -> None:
        """Record an event; called on any thread."""
        if self._ended:
            return
        name = self._name_of(event.vehicle_id) if event.vehicle_id else "run"
        with self._lock:
            self._add(Kind.EVENTS, _WHOLE_RUN, topics.log_entry(event, name))

    def mark(self, moment: str) -> None:
        """Note that a snapshot was taken now; a chunk ends here."""
        self._marks.note(moment, self._next_sample_us)
        self._put_between_chunks(Snapshotted(moment, taken_back=False))

    def go_back(self, moment: str, time_us: int) -> None:
        """Continue after a snapshot; what came later stays in the file, off the time line."""
        self._next_sample_us = self._marks.get(moment, 0)
        self._time_us = time_us
        if self._latency is not None:
            self._latency.go_back(time_us)
        self._put_between_chunks(Snapshotted(moment, taken_back=True))

    def _put_between_chunks(self, snapshot: Snapshotted) -> None:
        if self._ended:
            return
        with self._lock:
            if self._chunk.has_messages:
                self._drafted = 0
                self._writer.put(self._chunk.seal())
            self._writer.put(snapshot)

    @property
    def problem(self) -> str | None:
        """Why the recording ended before its run, in words; ``None`` while all is well."""
        return self._writer.problem

    def close(self) -> None:
        """Write what is left and close the file; harmless when called twice."""
        if not self._ended:
            self._ended = True
            with self._lock:
                if self._chunk.has_messages:
                    self._writer.put(self._chunk.seal())
        self._close_files()
        if self.problem:
            self._report_problem()

    # --- messages ---------------------------------------------------------------------------

    def _add_all(self, *groups: tuple[Kind, Mapping[int, Any]]) -> None:
        channels: list[int] = []
        payloads: list[bytes] = []
        for kind, messages in groups:
            known = self._channels[kind]
            channels += [known.get(i) or self._register(kind, i) for i in messages]
            payloads += map(self._encode, messages.values())
        sequence, time_ns = self._step % _SEQUENCES, self._time_us * 1000
        self._chunk.add_messages(channels, sequence, time_ns, payloads)

    def _add(self, kind: Kind, vehicle_id: int, message: Any) -> None:
        self._add_all((kind, {vehicle_id: message}))

    def _add_fixes(self, view: FleetView) -> None:
        for vehicle_id, record in view.sensors.items():
            if record.gps is not None:
                name = self._name_of(vehicle_id)
                fix = topics.location_fix(record.gps, record.timestamp_us, name)
                self._add(Kind.FIX, vehicle_id, fix)

    def _add_samples(self, view: FleetView) -> None:
        large = len(view.truth) > LARGE_FLEET
        period_us = LARGE_FLEET_SAMPLE_PERIOD_US if large else SAMPLE_PERIOD_US
        self._next_sample_us = view.time_us - view.time_us % period_us + period_us
        for vehicle_id, truth in view.truth.items():
            self._add(Kind.POSE, vehicle_id, topics.pose_in_frame(truth))
            sample = self._sample(vehicle_id, view.time_us)
            if sample is not None:
                self._add(Kind.AUTOPILOT, vehicle_id, sample)

    def _register(self, kind: Kind, vehicle_id: int) -> int:
        schema_id = self._schemas.get(kind) or self._register_schema(kind)
        channel_id = sum(map(len, self._channels.values())) + 1
        name = "" if kind is Kind.EVENTS else self._name_of(vehicle_id)
        channel = Channel(
            id=channel_id,
            topic=topic_of(kind, name),
            message_encoding=MessageEncoding.JSON,
            metadata={},
            schema_id=schema_id,
        )
        self._chunk.add_record(channel)
        self._file.note_channel(channel)
        self._channels[kind][vehicle_id] = channel_id
        return channel_id

    def _register_schema(self, kind: Kind) -> int:
        schema_id = len(self._schemas) + 1
        name, message = SCHEMAS[kind]
        schema = Schema(
            id=schema_id,
            data=schema_bytes(name, message),
            encoding=SchemaEncoding.JSONSchema,
            name=name,
        )
        self._chunk.add_record(schema)
        self._file.note_schema(schema)
        self._schemas[kind] = schema_id
        return schema_id

    # --- chunks -----------------------------------------------------------------------------

    def _seal_if_full(self, time_ns: int) -> None:
        """Close the chunk between two steps, so that a step is never in two of them."""
        chunk = self._chunk
        old = chunk.has_messages and time_ns - chunk.start_ns >= CHUNK_NS
        if old or len(chunk) >= CHUNK_BYTES:
            self._drafted = 0
            self._writer.put(chunk.seal())

    def _peek(self) -> SealedChunk | None:
        """The chunk under way, if it has grown since it was last looked at."""
        with self._lock:
            if not self._chunk.has_messages or len(self._chunk) == self._drafted:
                return None
            self._drafted = len(self._chunk)
            return self._chunk.peek()

    def _end_early(self) -> None:
        self._ended = True
        self._close_files()
        self._report_problem()

    def _close_files(self) -> None:
        self._writer.close()
        if self._latency is not None:
            self._latency.close()

    def _report_problem(self) -> None:
        if self._problem_reported:
            return
        self._problem_reported = True
        text = f"The recording {self.path} ends here: {self.problem}."
        event = BridgeEvent(time_us=self._time_us, kind="recording", text=text, severity=3)
        self._report(event)


class RunRecording:
    """Records everything that a bridge does from now on.

    Raises:
        MissingPermissionError: the file may not be created.
        ConfigError: it cannot be created.
    """

    def __init__(
        self,
        folder: RunFolder,
        bridge: SitlBridge,
        frame: LocalFrame,
        commanded: Mapping[int, GcsVehicle],
        result: Callable[[], dict[str, Any]],
    ) -> None:
        self._folder = folder
        self._bridge = bridge
        self._frame = frame
        self._commanded = commanded
        self._result = result
        # A vehicle that is taken out of the run keeps its name in the recording.
        self._names: dict[int, str] = {}
        try:
            self._recorder = RunRecorder(
                folder.path / MCAP_FILE,
                name_of=self._name_of,
                sample=self._sample,
                report=bridge.events.add,
                latency=bridge.stats.latency,
            )
        except OSError as exc:
            raise unwritable(folder.path, exc) from exc
        bridge.events.listen(self._recorder.note_event)
        bridge.after_step.add(self._recorder)
        bridge.timeline.add_past(self._recorder)

    def close(self) -> None:
        """Finish the file and write how the run ended."""
        self._bridge.after_step.remove(self._recorder)
        self._bridge.timeline.remove_past(self._recorder)
        self._recorder.close()
        self._folder.finish(self._result(), problem=self._recorder.problem)

    def _name_of(self, vehicle_id: int) -> str:
        if vehicle_id not in self._names:
            known = vehicle_id in self._bridge.list_vehicles()
            name = self._bridge.get_vehicle(vehicle_id).config.label if known else ""
            self._names[vehicle_id] = name or f"vehicle_{vehicle_id}"
        return self._names[vehicle_id]

    def _sample(self, vehicle_id: int, time_us: int) -> AutopilotSample | None:
        if vehicle_id not in self._bridge.list_vehicles():
            return None
        status = self._bridge.get_vehicle(vehicle_id).status()
        pilot = self._commanded.get(vehicle_id)
        return AutopilotSample(
            timestamp_us=time_us,
            vehicle_id=vehicle_id,
            mode=status.mode,
            armed=status.armed,
            waypoint=status.waypoint,
            message=status.last_message,
            **({} if pilot is None else self._beliefs(pilot)),
        )

    def _beliefs(self, pilot: GcsVehicle) -> dict[str, float]:
        telemetry = pilot.telemetry()
        if not telemetry.position_valid:
            return {"yaw_rad": telemetry.yaw_rad}
        north_m, east_m, _ = self._frame.ned_from_geodetic(
            telemetry.lat_e7 / 1e7, telemetry.lon_e7 / 1e7, telemetry.alt_m
        )
        return {
            "north_m": north_m,
            "east_m": east_m,
            "yaw_rad": telemetry.yaw_rad,
            "speed_mps": telemetry.ground_speed_mps,
            "cross_track_m": telemetry.cross_track_m,
            "waypoint_distance_m": telemetry.waypoint_distance_m,
        }
