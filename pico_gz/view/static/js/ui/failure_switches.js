/** One switch per sensor and actuator of the chosen rover. */

import { make, setOptions } from "./dom.js";
import { showRefusal } from "./toast.js";

export class FailureSwitches {
  element = make("details", { className: "failures" });
  #selects = new Map();
  #summary = make("summary", { textContent: "Failures" });

  /** @param {import("../model/fleet.js").Fleet} fleet */
  constructor(fleet) {
    this.fleet = fleet;
    this.list = make("div", { className: "failure-list" });
    this.element.append(this.#summary, this.list);
  }

  /** Make the switches that this run has. */
  begin({ failure_units: units, failure_kinds: kinds }) {
    this.#selects.clear();
    this.list.replaceChildren(...units.map((unit) => {
      const select = make("select", { dataset: { live: "" } });
      setOptions(select, kinds);
      select.setAttribute("aria-label", unit);
      select.addEventListener("change", () => this.#switch(unit, select.value));
      this.#selects.set(unit, select);
      return make("label", {}, unit.replace("_", " "), select);
    }));
  }

  /** @param {import("../model/rover.js").Rover} rover */
  show(rover) {
    const failures = rover.row.failures ?? {};
    const count = Object.keys(failures).length;
    this.#summary.textContent = count ? `Failures (${count} on)` : "Failures";
    for (const [unit, select] of this.#selects) {
      const kind = failures[unit] ?? "ok";
      if (document.activeElement !== select && select.value !== kind) select.value = kind;
      select.parentElement.classList.toggle("on", kind !== "ok");
    }
  }

  #switch(unit, type) {
    this.fleet.request("fail", { id: this.fleet.selectedId, unit, type })
      .catch(showRefusal)
      .finally(() => document.activeElement?.blur?.());
  }
}
