"""pico-gz get."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import platform
import re
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from pico_gz.cli.options import AsJson
from pico_gz.cli.output import print_json
from pico_gz.core.ports import is_loopback
from pico_gz.errors import ConfigError, MissingProgramError, did_you_mean
from pico_gz.vehicle.external.releases import PROGRAM, cache_folder, release_of

URL_VARIABLE = "PICO_GZ_ARDUROVER_URL"
SHA256_VARIABLE = "PICO_GZ_ARDUROVER_SHA256"
DEFAULT_RELEASE = "4.6.3"
# The static programs that ArduPilot's own site publishes.
DEFAULT_URL = (
    "https://firmware.ardupilot.org/Rover/stable-{release}/SITL_x86_64_linux_gnu/ardurover"
)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_RELEASE = re.compile(r"\d+\.\d+\.\d+")
_MAX_BYTES = 200_000_000
_PIECE_BYTES = 1 << 20
_TIMEOUT_S = 60.0
_TRUSTED_FILE = "trusted.json"


def get(
    name: Annotated[str, typer.Argument(metavar="ardurover", help="What to fetch.")],
    release: Annotated[
        str, typer.Argument(metavar="RELEASE", help="Which one, as 4.7.0.")
    ] = DEFAULT_RELEASE,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Where it is; the word release in braces is replaced."),
    ] = None,
    sha256: Annotated[
        str | None, typer.Option(metavar="HEX", help="The digest that it must have.")
    ] = None,
    trust_first: Annotated[
        bool,
        typer.Option("--trust-first", help="Without a digest: print and remember the one found."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Fetch an official static ArduRover into the user's cache, checked by its SHA-256.

    Address and digest also come from PICO_GZ_ARDUROVER_URL and PICO_GZ_ARDUROVER_SHA256. A file
    with another digest, of another release, or that is no ArduRover is not kept.

    Example:
      pico-gz get ardurover 4.7.0 --sha256 0123...
      pico-gz get ardurover 4.7.0 --trust-first
    """
    if name != PROGRAM:
        raise ConfigError(f"There is nothing called {name!r}.", hint=did_you_mean(name, [PROGRAM]))
    if not _RELEASE.fullmatch(release):
        raise ConfigError(f"A release is three numbers, not {release!r}.", hint="As in 4.7.0.")
    address = _address(url or os.environ.get(URL_VARIABLE, ""), release)
    folder = cache_folder()
    wanted = _wanted(sha256 or os.environ.get(SHA256_VARIABLE, ""), folder, address)
    if not wanted and not trust_first:
        raise ConfigError(
            f"The digest of {address} is not known, so it is not fetched.",
            hint="--sha256 HEX, or --trust-first to take what is there now.",
        )
    path = folder / release / PROGRAM
    is_here = bool(wanted) and path.exists() and _digest(path) == wanted
    found = wanted if is_here else _fetch(address, path, wanted, release)
    if not wanted:
        _remember(folder, address, found)
    if as_json:
        print_json({"program": str(path), "release": release, "url": address, "sha256": found})
        return
    print(f"{path} {'is here already' if is_here else 'fetched'}: ArduRover {release}")
    print(f"SHA-256 {found}" + ("" if wanted else f", trusted for {address} from now on"))
    print(f"Next: pico-gz run --autopilot ardurover:{release}")


def _address(given: str, release: str) -> str:
    machine = platform.machine()
    if not given and machine not in ("x86_64", "AMD64"):
        raise MissingProgramError(
            f"ArduPilot publishes no ArduRover for {machine}.", hint="Build one, or give --url."
        )
    address = (given or DEFAULT_URL).replace("{release}", release)
    _require_safe(address, "The address")
    return address


def _require_safe(address: str, what: str) -> None:
    """Refuse what anybody on the way could change; a local server is fine."""
    parts = urlsplit(address)
    if parts.scheme != "https" and not (
        parts.scheme == "http" and is_loopback(parts.hostname or "")
    ):
        raise ConfigError(f"{what} {address!r} is not https.", hint="https://HOST/PATH")


def _wanted(given: str, folder: Path, address: str) -> str:
    """The digest that the file must have; empty when none is known."""
    if given:
        if not _DIGEST.fullmatch(given.lower()):
            raise ConfigError(f"{given!r} is no SHA-256.", hint="64 hexadecimal digits")
        return given.lower()
    return _trusted(folder).get(address, "")


def _trusted(folder: Path) -> dict[str, str]:
    """Address -> the digest that was found there first."""
    path = folder / _TRUSTED_FILE
    try:
        known = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except ValueError as exc:
        raise ConfigError(f"{path} cannot be read: {exc}.", hint="Remove it.") from exc
    return {str(address): str(digest) for address, digest in known.items()}


def _remember(folder: Path, address: str, digest: str) -> None:
    text = json.dumps({**_trusted(folder), address: digest}, indent=1) + "\n"
    (folder / _TRUSTED_FILE).write_text(text)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch(address: str, path: Path, wanted: str, release: str) -> str:
    """Put what is there at ``path`` if it is what was asked for; returns its digest."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".")
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            for piece in _pieces(address):
                file.write(piece)
        found = _digest(part)
        if wanted and found != wanted:
            raise MissingProgramError(
                f"{address} has SHA-256 {found}, not {wanted}: it is not kept."
            )
        if release_of(part) != release:
            what = f"ArduRover {release_of(part)}" if release_of(part) else "no ArduRover"
            raise MissingProgramError(f"{address} is {what}, not {release}: it is not kept.")
        part.chmod(0o755)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # not empty: there is a program
            path.parent.rmdir()
    return found


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments: Any) -> urllib.request.Request | None:
        _require_safe(arguments[-1], "The address that it was moved to,")
        return super().redirect_request(*arguments)


def _pieces(address: str) -> Iterator[bytes]:
    try:
        opener = urllib.request.build_opener(_SafeRedirects)
        with opener.open(address, timeout=_TIMEOUT_S) as answer:
            left = _MAX_BYTES
            while piece := answer.read(_PIECE_BYTES):
                left -= len(piece)
                if left < 0:
                    raise MissingProgramError(f"{address} is larger than {_MAX_BYTES} bytes.")
                yield piece
            if answer.length:  # HTTPResponse counts down what it was promised
                raise MissingProgramError(f"{address} ended {answer.length} bytes too early.")
    except urllib.error.HTTPError as error:
        with error:
            raise MissingProgramError(
                f"{address} is not there: {error.code} {error.reason}."
            ) from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise MissingProgramError(f"{address} cannot be fetched: {reason}.") from error
