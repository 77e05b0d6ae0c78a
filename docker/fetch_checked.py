"""Download a program, but keep it only if it is the one that was asked for.

Usage: python3 fetch_checked.py URL SHA256 FILE
"""

import hashlib
import sys
import urllib.request
from pathlib import Path

TIMEOUT_S = 120.0


def fetch(url: str, sha256: str, path: Path) -> None:
    """Write what is at ``url`` to ``path`` and make it executable.

    Raises:
        SystemExit: there is no address or digest, or the digest is another one.
    """
    if not url or not sha256:
        sys.exit("Give both build arguments: ARDUROVER_URL and ARDUROVER_SHA256.")
    with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
        content = answer.read()
    found = hashlib.sha256(content).hexdigest()
    if found != sha256.lower():
        sys.exit(f"{url} has SHA-256 {found}, not {sha256}: it is not kept.")
    path.write_bytes(content)
    path.chmod(0o755)


if __name__ == "__main__":
    fetch(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
