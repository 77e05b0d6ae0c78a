/** On a narrow screen one panel is shown at a time. */

export class Tabs {
  #buttons = [...document.querySelectorAll("[role=tab]")];

  /** @param {import("../model/fleet.js").Fleet} fleet */
  constructor(fleet) {
    for (const button of this.#buttons) {
      button.addEventListener("click", () => this.show(button.dataset.tab));
      button.addEventListener("keydown", (event) => this.#key(event, button));
    }
    // Who chooses a rover wants to see it; but keep the table under a finger that scrolls it.
    fleet.addEventListener("select", () => {
      if (fleet.selectedId && document.body.dataset.tab === "events") this.show("rover");
    });
    this.show("fleet");
  }

  show(name) {
    document.body.dataset.tab = name;
    for (const button of this.#buttons) {
      const chosen = button.dataset.tab === name;
      button.setAttribute("aria-selected", String(chosen));
      button.tabIndex = chosen ? 0 : -1;
    }
  }

  #key(event, button) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const next = this.#buttons.at((this.#buttons.indexOf(button) + by) % this.#buttons.length);
    next.focus();
    this.show(next.dataset.tab);
  }
}
