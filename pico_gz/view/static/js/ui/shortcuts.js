/** Keys that work everywhere on the page, and the list of them. */

import { byId, make } from "./dom.js";

const KEYS = [
  ["Space", "pause or resume"],
  [".", "one step (Shift: ten)"],
  ["[  ]", "rover before, next rover"],
  ["A", "arm or disarm the rover (twice while it moves)"],
  ["H", "hold: stop the rover"],
  ["G", "send the rover to a point"],
  ["F", "follow the rover"],
  ["M", "measure"],
  ["+  −", "zoom"],
  ["0", "show everything"],
  ["← ↑ → ↓", "pan; move the cross of a tool"],
  ["Enter", "set the point at the cross"],
  ["Esc", "end the tool"],
  ["?", "this list"],
];
const MOUSE = [
  ["Click", "choose a rover"],
  ["Drag", "pan (two fingers: zoom)"],
  ["Wheel", "zoom"],
  ["Right click", "send the chosen rover there"],
  ["Shift click", "the same"],
];

export class Shortcuts {
  #dialog = byId("help-dialog");

  /** @param {{fleet: object, map: object, input: object, controls: object, panel: object}} page */
  constructor({ fleet, map, input, controls, panel }) {
    this.actions = {
      " ": () => controls.toggle(),
      ".": () => controls.step(1),
      ">": () => controls.step(10),
      ":": () => controls.step(10),
      "[": () => fleet.selectNext(-1),
      "]": () => fleet.selectNext(1),
      a: () => panel.toggleArmed(),
      h: () => panel.setMode("HOLD"),
      g: () => this.#tool(map, "go"),
      m: () => this.#tool(map, "measure"),
      f: () => map.setFollowing(!map.following),
      "+": () => input.zoom(1.5),
      "=": () => input.zoom(1.5),
      "-": () => input.zoom(1 / 1.5),
      0: () => map.fit(),
      Escape: () => map.tools.set(""),
      "?": () => this.#dialog.showModal(),
    };
    this.#fillDialog();
    byId("help").addEventListener("click", () => this.#dialog.showModal());
    document.addEventListener("keydown", (event) => this.#key(event));
  }

  /** With a tool the arrow keys belong to the map. */
  #tool(map, name) {
    map.tools.toggle(name);
    if (map.tools.tool) map.canvas.focus();
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.#dialog.open) return;
    const { target } = event;
    const typing = target.closest("input[type=search], select, textarea");
    const pressing = event.key === " " && target.closest("button, summary, a, input:not([type=range])");
    if (typing || pressing) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const action = this.actions[key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  #fillDialog() {
    const close = make("button", { className: "button primary", textContent: "Close" });
    const form = make("form", { method: "dialog" }, close);
    const columns = make("div", { className: "columns" }, list(KEYS), list(MOUSE));
    this.#dialog.append(make("h2", { textContent: "Keyboard and mouse" }), columns, form);
  }
}

function list(entries) {
  const items = entries.flatMap(([keys, text]) => [
    make("dt", {}, make("kbd", { textContent: keys })),
    make("dd", { textContent: text }),
  ]);
  return make("dl", {}, ...items);
}
