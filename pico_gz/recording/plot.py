"""Draws a recording: a picture with the extra ``plots``, a web page without it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from pico_gz.errors import ConfigError, MissingExtraError
from pico_gz.recording.recorded_run import RecordedRun
from pico_gz.recording.series import gather

_PICTURES = (".png", ".svg", ".pdf")
_PAGES = (".html", ".htm")


def plot_run(folder: str | Path, output: Path | None = None) -> Path:
    """Draw a run and return the file.

    Args:
        folder: the run's folder.
        output: .png, .svg, .pdf or .html; ``None`` = ``plot.png`` or ``plot.html`` in the folder.

    Raises:
        RecordingError: there is no recording.
        MissingExtraError: a picture needs the extra ``plots``.
        ConfigError: nobody knows this kind of file.
    """
    has_pictures = find_spec("matplotlib") is not None
    with RecordedRun(folder) as run:
        target = output or run.folder / ("plot.png" if has_pictures else "plot.html")
        kind = target.suffix.lower()
        if kind not in _PICTURES + _PAGES:
            raise ConfigError(f"{target} is no kind of plot.", hint="Use .png, .svg, .pdf, .html")
        if kind in _PICTURES and not has_pictures:
            raise MissingExtraError("plots", f"Drawing a {kind} file")
        series = gather(run)
    if kind in _PICTURES:
        from pico_gz.recording.plot_picture import draw_picture

        draw_picture(series, target)
    else:
        from pico_gz.recording.plot_page import draw_page

        target.write_text(draw_page(series), encoding="utf-8")
    return target
