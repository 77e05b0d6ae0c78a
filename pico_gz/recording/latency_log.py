"""The step latency of a run, second by second, in a small table beside its recording.

It is measured on the wall clock, so it has no place in ``run.mcap``, whose bytes repeat.
"""

from __future__ import annotations

import csv
import logging
from pathlib import Path

import msgspec

from pico_gz.bridge.stats import LatencyHistogram
from pico_gz.recording.errors import RecordingError

log = logging.getLogger(__name__)

LATENCY_FILE = "latency.csv"
PERIOD_US = 1_000_000  # of simulation time


class LatencyRow(msgspec.Struct, frozen=True):
    """The steps of one second: when it ended [s], and how long they took [ms]."""

    time_s: float
    p50_ms: float
    p99_ms: float
    max_ms: float


_HEAD = ",".join(LatencyRow.__struct_fields__)


class LatencyLog:
    """Writes a row for every second of simulation time; every row is on the disk at once.

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
        text = path.read_text(encoding="ascii")
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as exc:
        raise RecordingError(f"{path} cannot be read: {exc}.") from exc
    whole, _, _ = text.rpartition("\n")  # a row that was cut off is none
    try:
        return msgspec.convert(
            list(csv.DictReader(whole.splitlines())), list[LatencyRow], strict=False
        )
    except (msgspec.ValidationError, csv.Error) as exc:
        raise RecordingError(f"{path} is damaged: {exc}.") from exc
