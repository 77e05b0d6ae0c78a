"""All checks together: no check can hurt the others or the examination."""

import threading

from pico_gz.cli.tools.doctor import CHECKS, Examination, examine
from pico_gz.cli.tools.doctor_checks import DoctorFinding, Need, State


def found(name, **more):
    return DoctorFinding(name=name, state=State.FOUND, **more)


def test_findings_keep_the_order_of_the_checks():
    checks = {name: (Need.OPTIONAL, lambda name=name: [found(name)]) for name in "cab"}
    assert [finding.name for finding in examine(checks).findings] == ["c", "a", "b"]


def test_a_check_that_raises_is_a_finding():
    def broken():
        raise RuntimeError("no disk")

    (finding,) = examine({"disk": (Need.GAZEBO, broken)}).findings
    assert finding.state is State.MISSING
    assert finding.need is Need.GAZEBO
    assert "RuntimeError: no disk" in finding.detail


def test_a_check_that_hangs_is_not_waited_for():
    never = threading.Event()
    checks = {
        "slow": (Need.DOCKER, lambda: [found("slow")] if never.wait(60) else []),
        "quick": (Need.OPTIONAL, lambda: [found("quick")]),
    }
    slow, quick = examine(checks, deadline_s=0.05).findings
    never.set()
    assert (slow.state, slow.need) == (State.MISSING, Need.DOCKER)
    assert "in time" in slow.detail
    assert quick.state is State.FOUND


def test_a_check_without_findings_adds_no_line():
    assert examine({"nothing": (Need.OPTIONAL, list)}).findings == ()


def test_usable_is_what_misses_nothing_of_its_own():
    examination = Examination(
        (
            found("Python", need=Need.LIGHTWEIGHT),
            DoctorFinding(name="gz", state=State.MISSING, need=Need.GAZEBO),
            DoctorFinding(name="compose", state=State.TROUBLE, need=Need.DOCKER),
        )
    )
    assert examination.usable(Need.LIGHTWEIGHT)
    assert not examination.usable(Need.GAZEBO)
    assert examination.usable(Need.DOCKER)
    assert [finding.name for finding in examination.missing(Need.GAZEBO)] == ["gz"]


def test_the_report_tells_versions_and_nothing_private():
    report = Examination(
        (
            found("Python", version="3.12.1", detail="/home/alice/venv/bin/python"),
            DoctorFinding(name="Gazebo", state=State.MISSING, detail="/home/alice/gz"),
            found("GZ_IP", detail="192.168.7.9"),
        )
    ).report()
    assert report == "Python: 3.12.1\nGazebo: - [missing]\nGZ_IP: set"


def test_every_need_has_a_check():
    assert {need for need, _ in CHECKS.values()} == set(Need)
