/** The chosen rover: what it does, its figures, and its controls. */

import { byId, make, setOptions, setText, show } from "./dom.js";
import { FailureSwitches } from "./failure_switches.js";
import { clock, fixed, heading, NOTHING, stateText, troubleWord } from "./format.js";
import { Sure } from "./sure.js";
import { showRefusal, toast } from "./toast.js";

const VALUES = [
  ["North", (r) => fixed(r.place?.north, 2, "m")],
  ["East", (r) => fixed(r.place?.east, 2, "m")],
  ["Height", (r) => fixed(r.place?.height, 1, "m")],
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
  #shownTroubles = "";

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
    for (const type of ["select", "rows", "focus", "frame", "online"]) {
      fleet.addEventListener(type, () => this.#show());
    }
    theme.addEventListener("change", () => this.#show());
  }

  /** Arm when disarmed, disarm when armed; one that moves is asked about first. */
  toggleArmed() {
    const rover = this.fleet.selected;
    if (!rover || !this.fleet.can("arm", rover)) return;
    if (!rover.row.armed) this.#ask("arm");
    else if (!this.sure.press()) toast(`${rover.name} moves. Press A again to disarm it.`);
  }

  setMode(mode, options = {}) {
    this.#ask("mode", { mode, ...options });
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
    this.arm = button("Arm", "Arm (A)", () => this.#ask("arm"));
    this.disarm = button("Disarm", "Disarm: motors off at once (A)");
    this.sure = new Sure(this.disarm, () => this.#ask("disarm"), () => Boolean(this.fleet.selected?.moves));
    this.modes = make("select", { className: "wide", title: "Mode", dataset: { live: "" } });
    this.modes.setAttribute("aria-label", "Mode");
    this.modes.addEventListener("change", () => this.setMode(this.modes.value));
    const stop = button("Hold", "Stop: mode HOLD (H)", () => this.setMode("HOLD"));
    stop.classList.add("danger");
    const go = button("Go to…", "Arms it and sends it to a point on the map (G)", () => tools.set("go"));
    const auto = button("Mission", "Arms it and drives its mission: mode AUTO", () => this.setMode("AUTO", { arm: true }));
    const home = button("Return", "Arms it and drives home: mode RTL", () => this.setMode("RTL", { arm: true }));
    this.actions = make("div", { className: "rover-actions" }, this.arm, this.disarm, stop, go, this.modes, auto, home);
    this.troubles = make("ul", { className: "troubles" });
    this.troubles.setAttribute("aria-label", "Troubles");
    this.note = make("p", { className: "rover-note" });
    const list = make("dl", { className: "values" });
    this.#values = VALUES.map(([title]) => {
      const value = make("dd", { textContent: NOTHING });
      list.append(make("div", {}, make("dt", { textContent: title }), value));
      return value;
    });
    const head = make("header", { className: "rover-head" }, this.swatch, this.name, this.mode, this.state);
    byId("rover-details").append(head, this.troubles, this.actions, this.note, list, this.failures.element);
  }

  #begin() {
    setOptions(this.modes, this.fleet.about.modes);
    this.failures.begin(this.fleet.about);
    show(this.failures.element, this.fleet.can("fail"));
    this.#show();
  }

  #showTroubles({ troubles }) {
    show(this.troubles, troubles.length > 0);
    const shown = JSON.stringify(troubles);
    if (this.#shownTroubles === shown) return;
    this.#shownTroubles = shown;
    this.troubles.replaceChildren(...troubles.map(({ kind, since_s: since, why }) => make(
      "li", {}, make("b", { textContent: troubleWord(kind) }), " since ",
      make("time", { textContent: clock(since) }), `: ${why}`,
    )));
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
    setText(this.state, stateText(rover));
    this.state.className = `badge ${!rover.isWell ? "bad" : row.armed ? "good" : ""}`;
    show(this.actions, rover.commandable);
    this.arm.disabled = !this.fleet.online || row.armed;
    this.disarm.disabled = !this.fleet.online || !row.armed;
    this.arm.classList.toggle("primary", !row.armed);
    this.#showTroubles(rover);
    if (document.activeElement !== this.modes && row.mode && this.modes.value !== row.mode) {
      this.modes.value = row.mode;
    }
    setText(this.note, row.message ?? "");
    VALUES.forEach(([, text], i) => setText(this.#values[i], text(rover, this.fleet.focus)));
    this.failures.show(rover);
  }
}

function button(text, title, act = null) {
  const made = make("button", { type: "button", className: "button", textContent: text, title, dataset: { live: "" } });
  if (act) made.addEventListener("click", act);
  return made;
}
