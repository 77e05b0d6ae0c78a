"""A recorded run, read again step by step."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from mcap.records import ChunkIndex

from pico_gz.bridge.published import BridgeEvent, BridgeState, FleetView, TraceDigest
from pico_gz.core.messages import ActuatorCommands, SensorData, VehicleTruth
from pico_gz.run.recording.mcap_reader import McapReader, Message, RecordingError
from pico_gz.run.recording.run_folder import MCAP_FILE, RUN_FILE
from pico_gz.run.recording.topics import AutopilotSample, Kind, event_of, kind_of, name_in

_CACHED_CHUNKS = 4

_DECODERS: dict[Kind, msgspec.json.Decoder[Any]] = {
    Kind.TRUTH: msgspec.json.Decoder(VehicleTruth),
    Kind.SENSORS: msgspec.json.Decoder(SensorData),
    Kind.ACTUATORS: msgspec.json.Decoder(ActuatorCommands),
    Kind.AUTOPILOT: msgspec.json.Decoder(AutopilotSample),
    Kind.POSE: msgspec.json.Decoder(),
    Kind.EVENTS: msgspec.json.Decoder(),
}
_STEP_KINDS = frozenset({Kind.TRUTH, Kind.SENSORS, Kind.ACTUATORS})


class _Result(msgspec.Struct, frozen=True):
    """What is read of a run's result."""

    steps: int | None = None
    trace_sha256: str | None = None
    latency_ms: dict[str, float] = {}


class _Options(msgspec.Struct, frozen=True):
    """What is read of the options that a run was started with."""

    demo: bool = False
    rc: str = "none"
    contacts: bool = True


class _Facts(msgspec.Struct, frozen=True):
    """The shape of ``run.json``, as far as anything depends on it; there is more in it."""

    version: str = ""
    fleet: str = ""
    vehicles: dict[int, str] = {}
    config: dict[str, Any] | None = None
    inputs: dict[str, str] = {}
    options: _Options = _Options()
    result: _Result | None = None


class RecordedRun:
    """The folder of a run. Use it in a ``with`` block.

    Attributes:
        folder: where it is.
        facts: what ``run.json`` says: version, fleet, seed, result and more.

    Raises:
        RecordingError: there is no recording.
    """

    def __init__(self, path: str | Path) -> None:
        self.folder = find_run_folder(Path(path))
        self.facts = _read_facts(self.folder)
        self._reader = McapReader(self.folder / MCAP_FILE)
        self._kinds = {i: kind_of(topic) for i, topic in self._reader.topics.items()}
        self._cache: OrderedDict[int, list[FleetView]] = OrderedDict()

    def __enter__(self) -> RecordedRun:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close its files; harmless when called twice."""
        self._reader.close()

    @property
    def complete(self) -> bool:
        """Whether all of the run was recorded; False after a kill or a full disk."""
        return self._reader.complete and not self._reader.ended_early

    @property
    def names(self) -> dict[int, str]:
        """Vehicle id -> name."""
        return {int(i): name for i, name in self.facts.get("vehicles", {}).items()}

    @property
    def start_us(self) -> int:
        """Simulation time of the first step [us]."""
        return min((c.message_start_time for c in self._reader.chunks), default=0) // 1000

    @property
    def end_us(self) -> int:
        """Simulation time of the last step [us]."""
        return max((c.message_end_time for c in self._reader.chunks), default=0) // 1000

    def steps(self) -> Iterator[FleetView]:
        """Every recorded step, in order."""
        for chunk in self._reader.chunks:
            yield from self._steps_of(chunk)

    def step_numbers(self) -> Iterator[int]:
        """The number of every recorded step, without decoding it."""
        last = None
        for chunk in self._reader.chunks:
            for message in self._reader.messages(chunk):
                if message.sequence != last and self._kinds.get(message.channel_id) in _STEP_KINDS:
                    last = message.sequence
                    yield last

    def require_steps(self) -> None:
        """Make sure that there is something to look at or to compare.

        Raises:
            RecordingError: there is no step at all.
        """
        if next(self.step_numbers(), None) is None:
            raise RecordingError(f"{self.folder} holds no step.")

    def at(self, time_us: int) -> FleetView:
        """The last step that was finished at this simulation time, or the first one.

        Raises:
            RecordingError: there is no step at all.
        """
        best: FleetView | None = None
        number = self._chunk_at(time_us)
        while best is None and number >= 0:
            steps = self._cached(number)
            earlier = [view for view in steps if view.time_us <= time_us]
            best = earlier[-1] if earlier else (steps[0] if steps and number == 0 else None)
            number -= 1
        if best is None:
            raise RecordingError(f"{self.folder} holds no step.")
        return best

    def events(self) -> list[BridgeEvent]:
        """Every recorded event."""
        return [event_of(entry) for _, entry in self._decoded(Kind.EVENTS)]

    def samples(self) -> list[AutopilotSample]:
        """What the autopilots believed, in order of time."""
        return [sample for _, sample in self._decoded(Kind.AUTOPILOT)]

    def places(self) -> Iterator[tuple[str, int, float, float]]:
        """(name of a vehicle, time [us], north, east [m]), a few times a second, in order."""
        for message, pose in self._decoded(Kind.POSE):
            position = pose["pose"]["position"]
            name = name_in(self._reader.topics[message.channel_id])
            yield name, message.log_ns // 1000, position["y"], position["x"]

    def digest(self) -> str:
        """The digest of what is recorded; that of the run, if all of it is here."""
        trace = TraceDigest()
        for view in self.steps():
            trace(view)
        return trace.hexdigest()

    # --- reading ----------------------------------------------------------------------------

    def _decoded(self, kind: Kind) -> Iterator[tuple[Message, Any]]:
        channels = {i for i, found in self._kinds.items() if found is kind}
        for chunk in self._reader.chunks:
            for message in self._reader.messages(chunk, channels):
                yield message, self._decode(kind, message)

    def _decode(self, kind: Kind, message: Message) -> Any:
        try:
            return _DECODERS[kind].decode(message.payload)
        except msgspec.DecodeError as exc:
            version = self.facts.get("version", "another version")
            raise RecordingError(
                f"{self.folder} holds a message that is not understood: {exc}.",
                hint=f"It was made by pico-gz {version}.",
            ) from exc

    def _steps_of(self, chunk: ChunkIndex) -> Iterator[FleetView]:
        step: int | None = None
        parts: dict[Kind, dict[int, Any]] = {}
        time_us = 0
        for message in self._reader.messages(chunk):
            kind = self._kinds.get(message.channel_id)
            if kind not in _STEP_KINDS:
                continue
            if message.sequence != step:
                if step is not None:
                    yield _view(step, time_us, parts)
                step, time_us = message.sequence, message.log_ns // 1000
                parts = {kind: {} for kind in _STEP_KINDS}
            value = self._decode(kind, message)
            parts[kind][value.vehicle_id] = value
        if step is not None:
            yield _view(step, time_us, parts)

    def _chunk_at(self, time_us: int) -> int:
        starts = [chunk.message_start_time // 1000 for chunk in self._reader.chunks]
        earlier = [number for number, start_us in enumerate(starts) if start_us <= time_us]
        return earlier[-1] if earlier else min(0, len(starts) - 1)

    def _cached(self, number: int) -> list[FleetView]:
        if number not in self._cache:
            self._cache[number] = list(self._steps_of(self._reader.chunks[number]))
            while len(self._cache) > _CACHED_CHUNKS:
                self._cache.popitem(last=False)
        self._cache.move_to_end(number)
        return self._cache[number]


def find_run_folder(path: Path) -> Path:
    """The folder of a run: this one, or the newest run in it.

    Raises:
        RecordingError: there is none.
    """
    if path.name in (RUN_FILE, MCAP_FILE) and path.is_file():
        return path.parent
    if (path / MCAP_FILE).is_file():
        return path
    found = sorted(path.glob(f"*/{MCAP_FILE}"), key=lambda file: file.stat().st_mtime_ns)
    if not found:
        raise RecordingError(
            f"There is no recording in {path}.", hint="pico-gz run --record DIR makes one."
        )
    return found[-1].parent


def _read_facts(folder: Path) -> dict[str, Any]:
    try:
        facts = json.loads((folder / RUN_FILE).read_text())
        msgspec.convert(facts, _Facts, str_keys=True)
    except msgspec.ValidationError as exc:
        raise RecordingError(f"{folder / RUN_FILE} does not describe a run: {exc}.") from exc
    except (OSError, ValueError, RecursionError) as exc:
        raise RecordingError(f"{folder / RUN_FILE} cannot be read: {exc}.") from exc
    assert isinstance(facts, dict)
    return facts


def _view(step: int, time_us: int, parts: dict[Kind, dict[int, Any]]) -> FleetView:
    return FleetView(
        time_us=time_us,
        step=step,
        state=BridgeState.RUNNING,
        truth=parts[Kind.TRUTH],
        sensors=parts[Kind.SENSORS],
        commands=parts[Kind.ACTUATORS],
    )


class RecordedAutopilots:
    """Drives vehicles with the commands of the recorded step that ``step`` gives."""

    needs_truth = False

    def __init__(self, vehicle_ids: tuple[int, ...], step: Callable[[], FleetView | None]) -> None:
        self._ids = vehicle_ids
        self._step = step

    def vehicle_ids(self) -> tuple[int, ...]:
        return self._ids

    def hand_over(
        self,
        records: Mapping[int, SensorData],
        truth: Mapping[int, VehicleTruth],
        now_us: int,
    ) -> None:
        return

    def unanswered(self) -> tuple[int, ...]:
        return ()

    def collect(
        self, timeout_s: float, waiting_for: Collection[int] | None = None
    ) -> Mapping[int, ActuatorCommands]:
        """The recorded commands."""
        view = self._step()
        return {} if view is None else view.commands

    def service(self) -> None:
        return

    def close(self) -> None:
        return


# All tracks together have at most about this many points.
BUDGET = 30_000

# time [ms], north [cm], east [cm], in turn: whole numbers are short in JSON.
Track = list[int]


def read_tracks(run: RecordedRun, budget: int = BUDGET) -> dict[int, Track]:
    """Vehicle id -> its track; long recordings are thinned out, their ends stay."""
    ids = {name: vehicle_id for vehicle_id, name in run.names.items()}
    tracks: dict[int, list[tuple[int, int, int]]] = {}
    for name, time_us, north_m, east_m in run.places():
        if name in ids:
            point = (time_us // 1000, round(north_m * 100.0), round(east_m * 100.0))
            tracks.setdefault(ids[name], []).append(point)
    every = 1 + sum(map(len, tracks.values())) // budget
    return {i: _flat(points, every) for i, points in tracks.items()}


def _flat(points: list[tuple[int, int, int]], every: int) -> Track:
    kept = points[::every]
    if kept[-1] != points[-1]:
        kept.append(points[-1])
    return [value for point in kept for value in point]
