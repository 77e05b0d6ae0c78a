/** The slider of a recording: it follows the playback, and shows any other time. */

import { byId, setText, show } from "./dom.js";
import { clock } from "./format.js";
import { showRefusal } from "./toast.js";

const STEP_S = 0.1;
// One request at a time and not more often than this: the newest wish counts.
const PERIOD_MS = 100;

export class Timeline {
  #slider = byId("timeline-slider");
  #held = false;
  #asking = false;
  #wanted = null;

  /** @param {import("../model/fleet.js").Fleet} fleet */
  constructor(fleet) {
    this.fleet = fleet;
    this.#slider.addEventListener("input", () => this.#seek(Number(this.#slider.value)));
    this.#slider.addEventListener("pointerdown", () => { this.#held = true; });
    for (const type of ["pointerup", "pointercancel"]) {
      document.addEventListener(type, () => { this.#held = false; });
    }
    fleet.addEventListener("hello", () => this.#begin());
    fleet.addEventListener("frame", () => this.#follow());
    fleet.addEventListener("online", () => { this.#slider.disabled = !fleet.online; });
  }

  #begin() {
    const { timeline, commands } = this.fleet.about;
    const shown = Boolean(timeline) && commands.includes("seek");
    show(byId("timeline"), shown);
    if (!shown) return;
    this.#slider.min = Math.floor(timeline.start_s / STEP_S) * STEP_S;
    this.#slider.max = Math.ceil(timeline.end_s / STEP_S) * STEP_S;
    this.#slider.step = STEP_S;
    setText(byId("timeline-end"), clock(timeline.end_s));
  }

  /** Nothing moves under a hand, nor back while a wish is on its way. */
  #follow() {
    if (byId("timeline").hidden || this.#held || this.#asking) return;
    this.#slider.value = this.fleet.time;
    this.#showTime(this.fleet.time);
  }

  async #seek(time) {
    this.#showTime(time);
    this.#wanted = time;
    if (this.#asking) return;
    this.#asking = true;
    while (this.#wanted !== null) {
      const wanted = this.#wanted;
      this.#wanted = null;
      const asked = this.fleet.request("seek", { time_s: wanted }).catch(showRefusal);
      await Promise.all([asked, pause(PERIOD_MS)]);
    }
    this.#asking = false;
    this.#follow();
  }

  #showTime(time) {
    const now = clock(time);
    setText(byId("timeline-now"), now);
    this.#slider.setAttribute("aria-valuetext", `${now} of ${byId("timeline-end").textContent}`);
  }
}

function pause(ms) {
  return new Promise((resolve) => { setTimeout(resolve, ms); });
}
