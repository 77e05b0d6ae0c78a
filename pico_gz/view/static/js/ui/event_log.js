/** What happened, newest first. */

import { byId, make } from "./dom.js";
import { clock } from "./format.js";

const SHOWN = 200;
const WARNING = 4;
const ERROR = 3;

export class EventLog {
  #list = byId("event-list");
  #warningsOnly = byId("events-warnings");

  /** @param {import("../model/fleet.js").Fleet} fleet */
  constructor(fleet) {
    this.fleet = fleet;
    fleet.addEventListener("hello", () => this.#list.replaceChildren());
    fleet.addEventListener("events", () => {
      if (fleet.eventsReset) this.#rebuild();
      else this.#add(fleet.newEvents);
    });
    this.#warningsOnly.addEventListener("change", () => this.#rebuild());
    this.#list.addEventListener("click", (event) => {
      const id = Number(event.target.closest("li")?.dataset.id);
      if (id) fleet.select(id);
    });
  }

  #rebuild() {
    this.#list.replaceChildren();
    this.#add(this.fleet.events);
  }

  #add(events) {
    const shown = events.filter(({ severity }) => !this.#warningsOnly.checked || severity <= WARNING);
    this.#list.prepend(...shown.slice(-SHOWN).reverse().map((event) => this.#item(event)));
    while (this.#list.children.length > SHOWN) this.#list.lastChild.remove();
  }

  #item({ time_s: time, id, severity, text }) {
    const look = severity <= ERROR ? "bad" : severity <= WARNING ? "warn" : "";
    const who = id ? this.fleet.rovers.get(id)?.name ?? `vehicle ${id}` : "run";
    return make(
      "li", { className: look, dataset: { id } },
      make("time", { textContent: clock(time) }),
      make("span", { className: "who", textContent: who }),
      make("span", { textContent: text }),
    );
  }
}
