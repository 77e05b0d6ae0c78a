/** A button that asks once more, in place, where its work cannot be undone. */

import { setText } from "./dom.js";

const SURE_MS = 3000;

export class Sure {
  #timer = 0;

  /**
   * @param {HTMLButtonElement} button
   * @param {() => void} act
   * @param {() => boolean} [needed] whether to ask at all
   */
  constructor(button, act, needed = () => true) {
    this.button = button;
    this.act = act;
    this.needed = needed;
    this.text = button.textContent;
    button.addEventListener("click", () => this.press());
  }

  /** Ask, or act when it was asked; returns whether it acted. */
  press() {
    const asked = this.#timer !== 0;
    this.#calm();
    if (asked || !this.needed()) {
      this.act();
      return true;
    }
    this.button.classList.add("sure");
    setText(this.button, "Sure?");
    this.#timer = setTimeout(() => this.#calm(), SURE_MS);
    return false;
  }

  #calm() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.button.classList.remove("sure");
    setText(this.button, this.text);
  }
}
