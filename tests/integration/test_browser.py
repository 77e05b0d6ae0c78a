"""The view in a real browser: Chromium of this machine, driven by Playwright."""

import contextlib
import http.server
import json
import math
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("playwright")
pytest.importorskip("starlette")

from external_programs import need_chromium
from playwright.sync_api import Error as DriverError
from playwright.sync_api import sync_playwright
from view_run import free_port, viewed_replay, viewed_run

pytestmark = pytest.mark.browser

LIMIT_S = 40.0
# Chromium gives up what it is loading when a network of the machine comes or goes, as those of
# containers do all the time. That is nobody's error here, and the page is loaded again.
NETWORK_CHANGED = "ERR_NETWORK_CHANGED"
TRIES = 5


@pytest.fixture(scope="module")
def chromium():
    program = need_chromium()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


class Page:
    """A page of the view that notes what must not happen."""

    def __init__(self, browser, url, **context):
        self._context = browser.new_context(
            **{"viewport": {"width": 1400, "height": 900}, **context}
        )
        self.tab = self._context.new_page()
        self.errors, self.foreign = [], []
        self.disturbed = False
        self.tab.on("console", self._hear)
        self.tab.on("pageerror", lambda error: self.errors.append(str(error)))
        self.tab.on("request", lambda request: self._note_request(request.url, url))
        self._url = url

    def open(self):
        for _ in range(TRIES):
            self.disturbed = False
            try:
                self.tab.goto(self._url)
            except DriverError as error:
                if NETWORK_CHANGED not in str(error):
                    raise
                continue
            if not self.disturbed:
                break
        self.wait("picoGz.fleet.time > 0")

    def _hear(self, message):
        if NETWORK_CHANGED in message.text:
            self.disturbed = True
        elif message.type in ("error", "warning"):
            self.errors.append(message.text)

    def _note_request(self, requested, own):
        if not requested.startswith((own, "data:")):
            self.foreign.append(requested)

    def wait(self, condition):
        # Asked from outside again and again: the page's own policy forbids to evaluate text.
        end_s = time.monotonic() + LIMIT_S
        while not self.tab.evaluate(f"Boolean(window.picoGz && ({condition}))"):
            assert time.monotonic() < end_s, f"not within {LIMIT_S} s: {condition}; {self.story()}"
            self.tab.wait_for_timeout(50)

    def story(self):
        """What the page knows, for the message of a test that fails."""
        known = "window.picoGz && [picoGz.fleet.online, picoGz.fleet.state, picoGz.fleet.time]"
        return f"online, state, time: {self.tab.evaluate(known)}; errors: {self.errors}"

    def wait_for_fit(self):
        """The map frames the fleet once all missions are known, and then stays as it is."""
        self.wait("picoGz.map.fitted")

    def get(self, expression):
        return self.tab.evaluate(expression)

    def place(self, vehicle_id):
        return self.get(f"picoGz.fleet.rovers.get({vehicle_id}).place")

    def pixel(self, north_m, east_m):
        """Where on the page a place of the map is."""
        box = self.tab.locator("#map").bounding_box()
        x, y = self.get(f"[picoGz.map.view.x({east_m}), picoGz.map.view.y({north_m})]")
        return box["x"] + x, box["y"] + y

    def close(self):
        self._context.close()


@pytest.fixture
def open_page(chromium):
    pages = []

    def open_one(url, **context):
        page = Page(chromium, url, **context)
        pages.append(page)  # before it may fail: a page that stays open costs the next test
        page.open()
        return page

    yield open_one
    for page in pages:
        page.close()


@pytest.fixture(scope="module")
def run():
    with viewed_run(3, speed=2.0) as run:
        yield run


def test_it_loads_without_an_error_or_an_outside_request(run, open_page):
    page = open_page(run.url)
    page.wait("picoGz.fleet.figures.steps > 0")
    assert page.tab.title().startswith("three_rovers")
    assert page.tab.locator("#fleet-body tr").count() == 3
    assert page.tab.locator("#run-state").inner_text() == "running"
    page.tab.click("#fleet-body tr:nth-child(2)")
    page.wait("picoGz.fleet.focus && picoGz.fleet.focus.id === 2")
    page.tab.click("#help")
    page.tab.keyboard.press("Escape")
    for _ in range(3):
        page.tab.click("#theme")
    assert page.errors == []
    assert page.foreign == []


def test_rovers_move_and_pause_stops_them(run, open_page):
    page = open_page(run.url)
    page.wait("[...picoGz.fleet.rovers.values()].every((r) => r.row.mode === 'AUTO')")
    before = page.place(1)
    page.wait(
        f"Math.hypot(picoGz.fleet.rovers.get(1).place.north - {before['north']},"
        f" picoGz.fleet.rovers.get(1).place.east - {before['east']}) > 0.3"
    )
    page.tab.click("#pause")
    page.wait("picoGz.fleet.state === 'paused'")
    held, held_time = page.place(1), page.get("picoGz.fleet.time")
    time.sleep(0.7)
    assert page.place(1) == held
    page.tab.click("#step")
    page.wait(f"picoGz.fleet.time > {held_time}")
    assert page.get("picoGz.fleet.time") == pytest.approx(held_time + 0.01, abs=0.001)
    page.tab.click("#pause")
    page.wait("picoGz.fleet.state === 'running'")
    assert page.errors == []


def test_click_to_go_drives_there(open_page):
    with viewed_run(1, speed=2.0) as run:  # with nobody in the way
        page = open_page(run.url)
        page.wait("picoGz.fleet.rovers.get(1).row.mode === 'AUTO'")
        page.tab.click("#fleet-body tr:nth-child(1)")
        page.wait_for_fit()
        start, middle = page.place(1), page.get("({ ...picoGz.map.view })")
        # Well within the map, and far from the rover wherever its mission has brought it.
        ahead_m = 3.0 if start["north"] < middle["north"] else -3.0
        aside_m = 4.0 if start["east"] < middle["east"] else -4.0
        goal = middle["north"] + ahead_m, middle["east"] + aside_m
        assert math.dist(goal, (start["north"], start["east"])) >= 5.0
        page.tab.click("#go")
        page.tab.mouse.click(*page.pixel(*goal))
        page.wait("picoGz.fleet.rovers.get(1).row.mode === 'GUIDED'")
        page.wait(
            f"Math.hypot(picoGz.fleet.rovers.get(1).place.north - {goal[0]},"
            # GPS is off by a metre or two.
            f" picoGz.fleet.rovers.get(1).place.east - {goal[1]}) < 2.5"
        )
        assert page.errors == []


def test_the_keyboard_is_enough(run, open_page):
    page = open_page(run.url)
    press = page.tab.keyboard.press
    press("]")
    assert page.get("picoGz.fleet.selectedId") == 1
    press("]")
    assert page.get("picoGz.fleet.selectedId") == 2
    press("h")
    page.wait("picoGz.fleet.rovers.get(2).row.mode === 'HOLD' && !picoGz.fleet.selected.moves")
    press("a")
    page.wait("!picoGz.fleet.rovers.get(2).row.armed")
    press("g")
    for _ in range(5):
        press("ArrowRight")
    press("Enter")
    page.wait("picoGz.fleet.rovers.get(2).row.mode === 'GUIDED' && picoGz.fleet.selected.row.armed")
    press("Space")
    page.wait("picoGz.fleet.state === 'paused'")
    press("Space")
    page.wait("picoGz.fleet.state === 'running'")
    scale = page.get("picoGz.map.view.scale")
    press("+")
    assert page.get("picoGz.map.view.scale") > scale
    press("f")
    assert page.get("picoGz.map.following")
    assert page.errors == []


def test_failures_speed_and_measuring(run, open_page):
    page = open_page(run.url)
    page.tab.click("#fleet-body tr:nth-child(1)")
    page.tab.click(".failures summary")
    page.tab.get_by_label("gps", exact=True).select_option("off")
    page.wait("picoGz.fleet.rovers.get(1).row.failures.gps === 'off'")
    page.tab.get_by_label("gps", exact=True).select_option("ok")
    page.wait("!picoGz.fleet.rovers.get(1).row.failures.gps")
    page.tab.select_option("#speed", "5")
    page.wait("picoGz.fleet.figures.speed === 5")
    page.tab.select_option("#speed", "2")
    page.wait_for_fit()
    page.tab.click("#measure")
    page.tab.mouse.click(*page.pixel(1.0, 1.0))
    page.tab.mouse.click(*page.pixel(4.0, 5.0))
    (a, b) = page.get("picoGz.map.tools.measure.points")
    length_m = ((a["north"] - b["north"]) ** 2 + (a["east"] - b["east"]) ** 2) ** 0.5
    assert length_m == pytest.approx(5.0, abs=0.2)
    assert page.errors == []


def test_a_refused_command_is_told(run, open_page):
    page = open_page(run.url)
    page.get("picoGz.fleet.select(1)")
    page.get("picoGz.map.tools.send({north: NaN, east: 0})")
    page.tab.locator(".toast.bad").wait_for()
    assert "number" in page.tab.locator(".toast.bad").inner_text()


def test_a_phone_shows_one_panel_at_a_time(run, open_page):
    page = open_page(run.url, viewport={"width": 390, "height": 844}, has_touch=True)
    for name in ("rover", "charts", "events", "fleet"):
        page.tab.click(f"[role=tab][data-tab={name}]")
        shown = [
            panel
            for panel in ("fleet", "rover", "charts", "events")
            if page.tab.locator(f"#{panel}").is_visible()
        ]
        assert shown == [name]
    assert page.get("document.documentElement.scrollWidth") <= 390
    assert page.errors == []


def test_the_smallest_phone_shows_all_controls(run, open_page):
    page = open_page(run.url, viewport={"width": 320, "height": 640}, has_touch=True)
    page.wait("picoGz.fleet.figures.speed === 2")
    # The arrow of the list takes about 20 px of it, and its text as much again.
    assert page.tab.locator("#speed").bounding_box()["width"] >= 48
    for name in ("#pause", "#step", "#reset"):
        assert page.get(
            f"(({{scrollWidth: w, clientWidth: c}}) => w <= c)(document.querySelector('{name}'))"
        )
    assert page.get("document.documentElement.scrollWidth") <= 320
    assert page.errors == []


def test_a_phone_on_its_side_shows_the_fleet_as_large_as_it_can(run, open_page):
    page = open_page(run.url, viewport={"width": 844, "height": 390}, has_touch=True)
    page.wait_for_fit()
    page.tab.keyboard.press("0")
    points = page.get(
        "[...picoGz.fleet.rovers.values()].flatMap((r) =>"
        " [r.place.north, ...r.plan.mission.map(([, north]) => north)])"
    )
    shown_px = (max(points) - min(points)) * page.get("picoGz.map.view.scale")
    assert shown_px > 0.5 * page.get("picoGz.map.view.height")
    assert page.errors == []


def test_a_run_has_no_timeline(run, open_page):
    page = open_page(run.url)
    assert page.get("picoGz.fleet.about.timeline") is None
    assert not page.tab.locator("#timeline").is_visible()


def test_the_slider_of_a_replay_shows_any_time(open_page, tmp_path):
    with viewed_replay(tmp_path, seconds=20.0) as (replay, url):
        page = open_page(url)
        slider = page.tab.locator("#timeline-slider")
        assert slider.is_visible()
        assert page.tab.locator("#timeline-end").inner_text() == "0:20.0"
        page.wait("Number(document.getElementById('timeline-slider').value) > 0.5")  # it follows
        before = page.place(1)
        box = slider.bounding_box()
        middle = box["y"] + box["height"] / 2
        page.tab.mouse.move(box["x"] + box["width"] * 0.2, middle)
        page.tab.mouse.down()
        page.tab.mouse.move(box["x"] + box["width"] * 0.75, middle, steps=20)
        page.wait("picoGz.fleet.time > 14")  # while it is still held
        page.tab.mouse.up()
        reached_s = page.get("picoGz.fleet.time")
        page.wait(f"picoGz.fleet.time > {reached_s} + 0.3")  # it plays on from there
        assert page.get("picoGz.fleet.time") < reached_s + 3.0
        page.tab.keyboard.press("Space")
        page.wait("picoGz.fleet.state === 'paused'")
        there = page.place(1)
        assert abs(there["north"] - before["north"]) + abs(there["east"] - before["east"]) > 2.0
        slider.focus()
        page.tab.keyboard.press("Home")
        page.wait("picoGz.fleet.time < 0.05")
        assert page.place(1)["north"] == pytest.approx(replay.run.at(0).truth[1].north_m, abs=0.01)
        page.tab.keyboard.press("End")
        page.wait("picoGz.fleet.time === 20")
        assert slider.get_attribute("aria-valuetext") == "0:20.0 of 0:20.0"
        assert page.errors == []


def test_a_replay_shows_all_of_it_and_offers_only_what_it_can(open_page, tmp_path):
    with viewed_replay(tmp_path, seconds=20.0) as (replay, url):
        page = open_page(url)
        for time_s in (19.0, 3.0):
            page.get(f"picoGz.fleet.request('seek', {{ time_s: {time_s} }})")
            page.wait(f"Math.abs(picoGz.fleet.time - {time_s}) < 1.5")
            for rover in replay.run.at(int(time_s * 1e6)).truth.values():
                place = f"{rover.north_m}, {rover.east_m}"
                assert page.get(f"picoGz.map.view.shows({place})"), "out of the picture"
        page.tab.keyboard.press("]")
        page.wait("picoGz.fleet.focus && picoGz.fleet.focus.distance_m > 0")
        page.get("picoGz.fleet.request('pause')")
        page.wait("picoGz.fleet.state === 'paused'")
        for time_s in (15.0, 3.0, 15.0, 3.0):  # what they had said by then, with the time of it
            page.get(f"picoGz.fleet.request('seek', {{ time_s: {time_s} }})")
            told = [e for e in replay.run.events() if e.time_us <= time_s * 1e6]
            page.wait(f"document.querySelectorAll('#event-list li').length === {len(told)}")
            shown = page.get("picoGz.fleet.events.map((e) => [e.time_s, e.id, e.severity])")
            assert shown == [[round(e.time_us / 1e6, 2), e.vehicle_id, e.severity] for e in told]
        for name in ("#reset", "#go", "#fleet-actions", ".rover-actions", ".failures"):
            assert not page.tab.locator(name).is_visible(), name
        for key in ("a", "h", "g"):
            page.tab.keyboard.press(key)
        page.tab.mouse.click(*page.pixel(1.0, 1.0), button="right")
        page.tab.keyboard.press("Space")
        page.wait("picoGz.fleet.state === 'running'")
        assert page.tab.locator(".toast").count() == 0
        assert page.errors == []


def test_255_rovers_are_shown(open_page):
    with viewed_run(255) as run:
        page = open_page(run.url)
        page.wait("[...picoGz.fleet.rovers.values()].filter((r) => r.place).length === 255")
        assert page.tab.locator("#fleet-body tr").count() == 255
        page.tab.fill("#fleet-filter", "rover_25")
        page.wait("document.querySelectorAll('#fleet-body tr').length === 7")
        before = page.get("[...picoGz.fleet.rovers.values()].map((r) => ({ ...r.place }))")
        page.get(f"window.placesBefore = {json.dumps(before)}")
        # All of them have started their missions and left where they stood.
        page.wait(
            "[...picoGz.fleet.rovers.values()].every(({ place: { north, east } }, i) =>"
            " Math.hypot(north - placesBefore[i].north, east - placesBefore[i].east) > 0.3)"
        )
        assert page.errors == []


def look(page, selector):
    """Which of the looks of pills and badges an element has, and its text."""
    element = page.tab.locator(selector).first
    classes = set(element.get_attribute("class").split())
    return classes & {"good", "warn", "bad"}, element.inner_text()


def test_a_rover_in_trouble_looks_like_it(open_page):
    with viewed_run(3, speed=5.0) as run:
        page = open_page(run.url)
        page.wait("[...picoGz.fleet.rovers.values()].every((r) => r.row.armed)")
        page.get("picoGz.fleet.select(2)")
        page.wait("picoGz.fleet.focus")
        assert look(page, ".rover-head .badge:last-child") == ({"good"}, "armed")
        assert not page.tab.locator(".troubles").is_visible()
        assert not page.tab.locator("#in-trouble").is_visible()
        before = alarm_pixels(page, 2)
        run.session.fail(2, "gps", "garbage")
        page.wait("picoGz.fleet.selected.troubles.some((t) => t.kind === 'no_fix')")
        page.tab.wait_for_timeout(400)
        # In trouble, it is the first of the table, and red there, in the panel and on the map.
        assert page.tab.locator("#fleet-body tr").first.get_attribute("data-id") == "2"
        red, text = look(page, "#fleet-body tr[data-id='2'] td:nth-child(3) .badge")
        assert red == {"bad"}
        assert text.startswith("armed, ")
        assert look(page, ".rover-head .badge:last-child")[0] == {"bad"}
        told = page.tab.locator(".troubles li").all_inner_texts()
        began = page.get("picoGz.fleet.selected.troubles.find((t) => t.kind === 'failure').since_s")
        # The page cuts tenths off; rounding 6.96 would give the next second.
        assert any(f"failure since 0:{int(began):02d}." in line for line in told), told
        assert any("gps fails: garbage" in line for line in told)
        assert any("GPS" in line and line.startswith("no fix") for line in told)
        assert page.tab.locator("#in-trouble").inner_text().split() == ["1", "in", "trouble"]
        assert alarm_pixels(page, 2) > before + 100
        page.get("picoGz.fleet.select(0)")
        page.tab.click("#in-trouble")
        assert page.get("picoGz.fleet.selectedId") == 2
        run.session.fail(2, "gps", "ok")
        page.wait("picoGz.fleet.troubled.length === 0")
        assert page.errors == []


def alarm_pixels(page, vehicle_id):
    """How many pixels around a rover are red."""
    place = page.place(vehicle_id)
    x, y = page.get(f"[picoGz.map.view.x({place['east']}), picoGz.map.view.y({place['north']})]")
    return page.get(
        f"""(() => {{
          const d = window.devicePixelRatio || 1;
          const copy = new OffscreenCanvas(50, 50).getContext("2d");
          copy.drawImage(document.getElementById("map"), 25 - {x} * d, 25 - {y} * d);
          const {{ data }} = copy.getImageData(0, 0, 50, 50);
          let red = 0;
          for (let i = 0; i < data.length; i += 4) {{
            if (data[i] > data[i + 1] + 50 && data[i] > data[i + 2] + 50) red += 1;
          }}
          return red;
        }})()"""
    )


def test_the_end_of_a_run_is_told_and_leaves_the_map_readable(open_page):
    with viewed_run(2, speed=5.0) as run:
        page = open_page(run.url)
        page.wait("picoGz.fleet.rovers.get(1).row.armed && picoGz.fleet.time > 5")
        page.get("picoGz.fleet.select(1)")
        page.wait("picoGz.fleet.focus")
    page.wait("!picoGz.fleet.online && picoGz.fleet.ended")
    banner = page.tab.locator("#offline")
    assert banner.inner_text().startswith("The run has ended at 0:")
    assert page.tab.locator("#run-state").inner_text() == "ended"
    last_s = run.bridge.view.time_us / 1e6
    assert page.get("picoGz.fleet.time") == pytest.approx(last_s, abs=0.001)
    # The map is not covered: what is at its middle is the map itself.
    box = page.tab.locator("#map").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    assert page.get(f"document.elementFromPoint({middle[0]}, {middle[1]}).id") == "map"
    for name in ("#pause", "#step", "#speed", "#reset", "#go", "[data-all=arm]", "#all-mode"):
        assert page.tab.locator(name).is_disabled(), name
    for button in page.tab.locator(".rover-actions button, .rover-actions select").all():
        assert button.is_disabled()
    page.tab.keyboard.press("h")
    assert page.tab.locator(".toast.bad").inner_text() == "The run has ended."


def test_a_lost_connection_is_not_the_end(open_page):
    port = free_port()
    program = (
        "import time, view_run\n"
        f"with view_run.viewed_run(1, port={port}):\n"
        "    print('runs', flush=True)\n"
        "    time.sleep(60)\n"
    )
    here = Path(__file__).parent
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(here), *sys.path])},
        stdout=subprocess.PIPE,
    ) as process:
        process.stdout.readline()
        page = open_page(f"http://127.0.0.1:{port}/")
        process.kill()
    page.wait("!picoGz.fleet.online")
    assert "Connection lost" in page.tab.locator("#offline").inner_text()
    assert page.tab.locator("#run-state").inner_text() == "offline"
    assert page.get("picoGz.fleet.ended") is None


def test_mission_and_return_arm_and_disarm_asks_while_it_moves(open_page):
    with viewed_run(2, speed=2.0) as run:
        page = open_page(run.url)
        page.get("picoGz.fleet.select(1)")
        page.wait("picoGz.fleet.selected.row.armed && picoGz.fleet.selected.moves")
        disarm = page.tab.get_by_role("button", name="Disarm", exact=True)
        disarm.click()
        page.tab.wait_for_timeout(500)
        assert run.bridge.get_vehicle(1).status().armed  # asked first
        page.tab.get_by_role("button", name="Sure?").click()
        page.wait("!picoGz.fleet.selected.row.armed")
        for name, mode in (("Mission", "AUTO"), ("Return", "RTL")):
            page.tab.get_by_role("button", name=name, exact=True).click()
            page.wait(
                f"picoGz.fleet.selected.row.armed && picoGz.fleet.selected.row.mode === '{mode}'"
            )
            page.tab.get_by_role("button", name="Hold").click()
            page.wait("picoGz.fleet.selected.row.mode === 'HOLD' && !picoGz.fleet.selected.moves")
            disarm.click()  # it stands: not asked
            page.wait("!picoGz.fleet.selected.row.armed")
        page.wait("picoGz.fleet.rovers.get(2).moves")
        page.tab.click("[data-all=disarm]")
        page.tab.wait_for_timeout(500)
        assert run.bridge.get_vehicle(2).status().armed
        page.tab.click("[data-all=disarm]")
        page.wait("!picoGz.fleet.rovers.get(2).row.armed")
        assert page.errors == []


def test_the_key_for_disarming_asks_while_it_moves(open_page):
    with viewed_run(1, speed=2.0) as run:
        page = open_page(run.url)
        page.tab.keyboard.press("]")
        page.wait("picoGz.fleet.selected.row.armed && picoGz.fleet.selected.moves")
        page.tab.keyboard.press("a")
        page.tab.wait_for_timeout(500)
        assert run.bridge.get_vehicle(1).status().armed
        assert "again" in page.tab.locator(".toast").inner_text()
        page.tab.keyboard.press("a")
        page.wait("!picoGz.fleet.selected.row.armed")


def test_a_run_that_is_too_slow_is_amber_and_says_what_costs_the_time(open_page):
    with viewed_run(1, speed=1.0) as run:
        page = open_page(run.url)
        assert not page.tab.locator("#run-slow").is_visible()
        run.bridge.after_step.add(lambda view: time.sleep(0.05), name="a slow one")
        page.wait("picoGz.fleet.figures.slow && picoGz.fleet.figures.slow.overloaded")
        assert page.tab.locator("#figure-rtf.warn").count() == 1
        page.wait("document.getElementById('run-slow').textContent.includes('custom observers')")
        page.wait("picoGz.fleet.events.some((e) => e.text.startsWith('The run is overloaded'))")
        assert page.errors == []


def test_the_speed_has_a_name_on_a_phone(run, open_page):
    page = open_page(run.url, viewport={"width": 390, "height": 844}, has_touch=True)
    assert page.tab.get_by_role("combobox", name="Speed").is_visible()


def test_a_rover_in_trouble_fits_on_a_phone(open_page):
    with viewed_run(2, speed=5.0) as run:
        page = open_page(run.url, viewport={"width": 390, "height": 844}, has_touch=True)
        run.session.fail(1, "gps", "off")
        page.wait("picoGz.fleet.troubled.length === 1")
        page.get("picoGz.fleet.select(1)")
        page.tab.click("[role=tab][data-tab=rover]")
        page.tab.locator(".troubles").wait_for()
        assert page.get("document.documentElement.scrollWidth") <= 390


def test_the_page_comes_back_after_a_restart(open_page):
    with viewed_run(1) as first:
        page = open_page(first.url)
        port = int(first.url.rstrip("/").rpartition(":")[2])
    page.wait("!picoGz.fleet.online")
    assert page.tab.locator("#offline").is_visible()
    with viewed_run(2, port=port):
        page.wait("picoGz.fleet.online && picoGz.fleet.rovers.size === 2")
        page.wait("picoGz.fleet.time > 0 && picoGz.fleet.state === 'running'")
        assert not page.tab.locator("#offline").is_visible()


@contextlib.contextmanager
def page_with_a_link(address):
    """Another site, on another port and name, with one link on its page."""

    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = f'<a id="link" href="{address}">the run</a>'.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as site:
        thread = threading.Thread(target=site.serve_forever)
        thread.start()
        try:
            yield f"http://localhost:{site.server_port}/"
        finally:
            site.shutdown()
            thread.join()


def test_a_token_link_works_from_another_page_also_after_a_restart(chromium):
    context = chromium.new_context()
    tab = context.new_page()
    port = free_port()
    try:
        for _ in range(2):  # the second run has another token than the cookie of the first
            with (
                viewed_run(1, bind="0.0.0.0", port=port) as run,
                page_with_a_link(run.line.split()[2]) as elsewhere,
            ):
                tab.goto(elsewhere)
                tab.click("#link")
                tab.locator("#fleet-body tr").first.wait_for(timeout=LIMIT_S * 1000)
                assert "token" not in tab.url
                tab.reload()
                tab.locator("#fleet-body tr").first.wait_for(timeout=LIMIT_S * 1000)
    finally:
        context.close()


def test_a_token_opens_the_page_and_leaves_the_address_bar(open_page):
    with viewed_run(1, bind="0.0.0.0") as run:
        address = run.line.split()[2]
        page = open_page(address)
        assert "token" not in page.tab.url
        assert page.errors == []
