/** The chosen rover: what it does, its figures, and its controls. */

import { byId, make, setOptions, setText, show } from "./dom.js";
import { FailureSwitches } from "./failure_switches.js";
import { fixed, heading, NOTHING } from "./format.js";
import { showRefusal } from "./toast.js";

const VALUES = [
  ["North", (r) => fixed(r.place?.north, 2, "m")],
  ["East", (r) => fixed(r.place?.east, 2, "m")],
  ["Heading", (r) => (r.place ? heading(r.place.yaw) : NOTHING)],
  ["Speed", (r) => fixed(r.place?.speed, 2, "m/s")],
  ["Throttle", (r, f) => fixed(f?.throttle_percent, 0, "%")],
  ["Motors", (r, f) => motors(f)],
  ["To go", (r, f) => fixed(f?.distance_m, 1, "m")],
  ["Cross-track", (r, f) => fixed(f?.cross_track_m, 2, "m")],
  ["Waypoint", waypoint],
  ["Battery", (r) => [fixed(r.row.battery_v, 1, "V"), fixed(r.row.battery_percent, 0, "%")].join(" ")],
  ["GPS", (r) => (r.row.fix ? `${r.row.fix} ${r.row.satellites} sat` : NOTHING)],
  ["Estimate off", (r, f) => fixed(estimateError(r, f), 2, "m")],
];

function waypoint({ row }, focus) {
  if (focus?.mission?.[1]) return `${focus.mission[0]} of ${focus.mission[1]}`;
  return row.waypoint > 0 ? String(row.waypoint) : NOTHING;
}

function motors(focus) {
  if (!focus?.motors) return NOTHING;
  return [...focus.motors, ...(focus.servos ?? [])].map((value) => fixed(value, 2)).join(" ");
}

function estimateError(rover, focus) {
  if (!focus?.estimate || !rover.place) return null;
  return Math.hypot(focus.estimate[0] - rover.place.north, focus.estimate[1] - rover.place.east);
}

export class RoverPanel {
  #values = [];

  /**
   * @param {import("../model/fleet.js").Fleet} fleet
   * @param {import("./theme.js").Theme} theme
   * @param {import("../map/tools.js").MapTools} tools
   */
  constructor(fleet, theme, tools) {
    this.fleet = fleet;
    this.theme = theme;
    this.failures = new FailureSwitches(fleet);
    this.#make(tools);
    fleet.addEventListener("hello", () => this.#begin());
    for (const type of ["select", "rows", "focus", "frame"]) {
      fleet.addEventListener(type, () => this.#show());
    }
    theme.addEventListener("change", () => this.#show());
  }

  /** Arm when disarmed, disarm when armed. */
  toggleArmed() {
    const rover = this.fleet.selected;
    if (rover) this.#ask(rover.row.armed ? "disarm" : "arm");
  }

  setMode(mode) {
    this.#ask("mode", { mode });
  }

  #ask(command, options = {}) {
    const { selected } = this.fleet;
    if (!selected || !this.fleet.can(command, selected)) return;
    this.fleet.request(command, { id: selected.id, ...options }).catch(showRefusal);
  }

  #make(tools) {
    this.swatch = make("i", { className: "swatch" });
    this.name = make("h2");
    this.mode = make("span", { className: "badge" });
    this.state = make("span", { className: "badge" });
    this.arm = make("button", { type: "button", className: "button", title: "Arm or disarm (A)" });
    this.arm.addEventListener("click", () => this.toggleArmed());
    this.modes = make("select", { className: "wide", title: "Mode" });
    this.modes.setAttribute("aria-label", "Mode");
    this.modes.addEventListener("change", () => this.setMode(this.modes.value));
    const stop = make("button", { type: "button", className: "button danger", textContent: "Hold", title: "Stop: mode HOLD (H)" });
    stop.addEventListener("click", () => this.setMode("HOLD"));
    const go = make("button", { type: "button", className: "button", textContent: "Go to…", title: "Send it to a point on the map (G)" });
    go.addEventListener("click", () => tools.set("go"));
    const home = make("button", { type: "button", className: "button", textContent: "Return", title: "Mode RTL" });
    home.addEventListener("click", () => this.setMode("RTL"));
    const auto = make("button", { type: "button", className: "button", textContent: "Mission", title: "Mode AUTO" });
    auto.addEventListener("click", () => this.setMode("AUTO"));
    this.actions = make("div", { className: "rover-actions" }, this.arm, this.modes, stop, go, auto, home);
    home.classList.add("wide");
    this.note = make("p", { className: "rover-note" });
    const list = make("dl", { className: "values" });
    this.#values = VALUES.map(([title]) => {
      const value = make("dd", { textContent: NOTHING });
      list.append(make("div", {}, make("dt", { textContent: title }), value));
      return value;
    });
    const head = make("header", { className: "rover-head" }, this.swatch, this.name, this.mode, this.state);
    byId("rover-details").append(head, this.actions, this.note, list, this.failures.element);
  }

  #begin() {
    setOptions(this.modes, this.fleet.about.modes);
    this.failures.begin(this.fleet.about);
    show(this.failures.element, this.fleet.can("fail"));
    this.#show();
  }

  #show() {
    const rover = this.fleet.selected;
    show(byId("rover-empty"), !rover);
    show(byId("rover-details"), Boolean(rover));
    if (!rover) return;
    const { row } = rover;
    this.swatch.style.background = this.theme.rover(rover.id);
    setText(this.name, rover.name);
    this.name.title = `${rover.name}: ${rover.preset} on ${rover.adapter}, autopilot ${rover.autopilot}`;
    setText(this.mode, row.mode ?? NOTHING);
    setText(this.state, rover.isWell ? (row.armed ? "armed" : "disarmed") : row.health);
    this.state.className = `badge ${!rover.isWell ? "bad" : row.armed ? "good" : ""}`;
    show(this.actions, rover.commandable);
    setText(this.arm, row.armed ? "Disarm" : "Arm");
    this.arm.classList.toggle("primary", !row.armed);
    if (document.activeElement !== this.modes && row.mode && this.modes.value !== row.mode) {
      this.modes.value = row.mode;
    }
    setText(this.note, row.message ?? "");
    VALUES.forEach(([, text], i) => setText(this.#values[i], text(rover, this.fleet.focus)));
    this.failures.show(rover);
  }
}
