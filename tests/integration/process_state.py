"""Whether a process that a test knows by its number is still at work."""

from pathlib import Path


def is_alive(pid):
    """False also for one that has ended and that nobody has asked for its exit code yet."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"
