"""What an engine leaves in the network of a machine when it ends, and how to remove that.

An engine keeps its firewall rules, its bridge and the forwarding of packets for its next start. On
somebody's machine there may be none.
"""

import contextlib
import shlex
import subprocess
from pathlib import Path

from external_programs import path_of

_FIREWALLS = ("iptables", "ip6tables")
_LINKS = Path("/sys/class/net")
_FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
_BRIDGE = "docker0"


def remember():
    """The state to come back to, as plain values."""
    return {
        "bridge": (_LINKS / _BRIDGE).exists(),
        "forwarding": _FORWARDING.read_text().strip(),
        "firewalls": {name: _firewall(name) for name in _FIREWALLS},
    }


def remove(before):
    """Remove what Docker has added since, and nothing of others."""
    for name in _FIREWALLS:
        _clean_firewall(name, before["firewalls"][name], _firewall(name))
    if (_LINKS / _BRIDGE).exists() and not before["bridge"]:
        _call("ip", "link", "delete", _BRIDGE)
    if _FORWARDING.read_text().strip() != before["forwarding"]:
        _FORWARDING.write_text(before["forwarding"])


def _firewall(name):
    """Table -> its lines, as ``iptables-save`` prints them but without counters."""
    tables, lines = {}, []
    if path_of(f"{name}-save") is None:
        return tables
    done = subprocess.run([f"{name}-save"], capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith("*"):
            lines = tables.setdefault(line[1:], [])
        elif line.startswith((":", "-A ")):
            lines.append(line.partition(" [")[0])
    return tables


def _clean_firewall(name, before, after):
    for table, lines in after.items():
        known = before.get(table, [])
        new = [line for line in lines if line not in known and "docker" in line.lower()]
        # First the rules, because a chain that is used cannot be removed.
        for line in (line for line in new if line.startswith("-A ")):
            _call(name, "-t", table, "-D", *shlex.split(line[len("-A ") :]))
        for line in (line for line in new if line.startswith(":")):
            _call(name, "-t", table, "-X", line[1:].split()[0])
        _restore_policy(name, table, known, lines)


def _restore_policy(name, table, known, lines):
    """An engine that switches forwarding on lets nothing else be forwarded any more."""
    was = next((line for line in known if line.startswith(":FORWARD ")), ":FORWARD ACCEPT")
    if ":FORWARD DROP" in lines and was != ":FORWARD DROP":
        _call(name, "-t", table, "-P", "FORWARD", was.split()[1])


def _call(*words):
    # The engine may have removed it itself meanwhile.
    with contextlib.suppress(OSError):
        subprocess.run(words, capture_output=True, check=False)
