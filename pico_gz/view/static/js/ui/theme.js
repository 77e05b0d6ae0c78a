/** Light and dark: follows the system until the user chooses; the canvases read their colours here. */

import { byId } from "./dom.js";

const KEY = "pico_gz_theme";
const CHOICES = { auto: "◐", light: "☀", dark: "☾" };
const WORDS = { auto: "automatic", light: "light", dark: "dark" };

export class Theme extends EventTarget {
  #choice = localStorage.getItem(KEY) ?? "auto";
  #system = matchMedia("(prefers-color-scheme: dark)");
  #colours = new Map();
  #hues = new Map();

  constructor() {
    super();
    const button = byId("theme");
    button.addEventListener("click", () => this.#next());
    this.#system.addEventListener("change", () => this.#apply());
    this.#button = button;
    this.#apply();
  }

  #button;

  /** The value of a CSS variable. */
  colour(name) {
    if (!this.#colours.has(name)) {
      const style = getComputedStyle(document.documentElement);
      this.#colours.set(name, style.getPropertyValue(name).trim());
    }
    return this.#colours.get(name);
  }

  /** The colour of a rover; neighbours in the list differ clearly (golden angle). */
  rover(id, alpha = 1) {
    const key = id * 1000 + Math.round(alpha * 100);
    if (!this.#hues.has(key)) {
      const hue = Math.round((190 + (id - 1) * 137.508) % 360);
      const tone = `${this.colour("--rover-saturation")} ${this.colour("--rover-lightness")}`;
      this.#hues.set(key, `hsl(${hue} ${tone} / ${alpha})`);
    }
    return this.#hues.get(key);
  }

  #next() {
    const names = Object.keys(CHOICES);
    this.#choice = names[(names.indexOf(this.#choice) + 1) % names.length];
    localStorage.setItem(KEY, this.#choice);
    this.#apply();
  }

  #apply() {
    if (!(this.#choice in CHOICES)) this.#choice = "auto";
    const system = this.#system.matches ? "dark" : "light";
    document.documentElement.dataset.theme = this.#choice === "auto" ? system : this.#choice;
    this.#button.textContent = CHOICES[this.#choice];
    this.#button.setAttribute("aria-label", `Colours: ${WORDS[this.#choice]}`);
    this.#button.title = `Colours: ${WORDS[this.#choice]}`;
    this.#colours.clear();
    this.#hues.clear();
    this.dispatchEvent(new Event("change"));
  }
}
