"""What the tests' own engine leaves in the machine's network: nothing. No engine needed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from external_programs import need_program

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(
        os.getuid() != 0, reason="not checked: only root can have a firewall of its own"
    ),
]
# In a network of its own.
SCRIPT = """
import json, subprocess, sys
import docker_traces
def sh(text):
    subprocess.run(["sh", "-e", "-c", text], check=True)
sh("mount -t sysfs none /sys; iptables -N OTHERS; iptables -A FORWARD -s 10.9.0.0/16 -j OTHERS")
before = docker_traces.remember()
sh(sys.argv[1])
left = docker_traces.remember()
docker_traces.remove(json.loads(json.dumps(before)))
print(json.dumps([before, left, docker_traces.remember()]))
"""
# As an engine leaves it.
LEFT = """\
ip link add docker0 type bridge
echo 1 > /proc/sys/net/ipv4/ip_forward
for table in filter nat; do iptables -t $table -N DOCKER; done
iptables -N DOCKER-USER
iptables -A DOCKER-USER -j RETURN
iptables -A FORWARD -j DOCKER-USER
iptables -A FORWARD -o docker0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
iptables -t nat -A POSTROUTING -s 172.17.0.0/16 ! -o docker0 -j MASQUERADE
iptables -t nat -A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
iptables -P FORWARD DROP
"""


def test_only_what_docker_added_is_removed():
    need_program("iptables-save", "--version")
    need_program("ip", "-V")
    done = subprocess.run(
        [
            need_program("unshare", "--version"),
            "--net",
            "--mount",
            sys.executable,
            "-c",
            SCRIPT,
            LEFT,
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, Path(__file__).parents[:2]))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    before, left, after = map(comparable, json.loads(done.stdout))
    assert "-A FORWARD -s 10.9.0.0/16 -j OTHERS" in after["rules"]
    assert (left["bridge"], left["forwarding"]) == (True, "1")
    assert {":FORWARD DROP", "-A FORWARD -j DOCKER-USER"} < set(left["rules"])
    assert after == before


def comparable(state):
    """All that is not empty or the kernel's own default."""
    tables = state["firewalls"]["iptables"]
    lines = [line for table in tables.values() for line in table if not line.endswith(" ACCEPT")]
    rules = [line for table in tables.values() for line in table if line.startswith("-A ")]
    return {**state, "firewalls": None, "rules": sorted({*lines, *rules})}
