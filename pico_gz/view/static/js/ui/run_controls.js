/** Pause, step, speed, reset, and the figures of the run. */

import { byId, setOptions, setText, show } from "./dom.js";
import { clock, fixed } from "./format.js";
import { showRefusal, toast } from "./toast.js";

const SPEEDS = ["0.1", "0.5", "1", "2", "5", "10", "20", "max"];
const SURE_MS = 3000;
const BIG_STEP = 10;

export class RunControls {
  #sure = 0;

  /** @param {import("../model/fleet.js").Fleet} fleet */
  constructor(fleet) {
    this.fleet = fleet;
    setOptions(byId("speed"), SPEEDS, speedName);
    byId("pause").addEventListener("click", () => this.toggle());
    byId("step").addEventListener("click", (event) => this.step(event.shiftKey ? BIG_STEP : 1));
    byId("speed").addEventListener("change", (event) => this.#setSpeed(event.target.value));
    byId("reset").addEventListener("click", () => this.#reset());
    fleet.addEventListener("hello", () => this.#begin());
    fleet.addEventListener("frame", () => this.#showState());
    fleet.addEventListener("figures", () => this.#showFigures());
    fleet.addEventListener("online", () => this.#showState());
  }

  toggle() {
    this.#ask(this.fleet.state === "paused" ? "resume" : "pause");
  }

  /** Do single steps; a running run is paused first. */
  async step(count = 1) {
    if (this.fleet.state !== "paused") await this.#ask("pause");
    this.#ask("step", { count });
  }

  #ask(command, options) {
    return this.fleet.request(command, options).catch(showRefusal);
  }

  #setSpeed(value) {
    this.#ask("speed", { speed: value === "max" ? "max" : Number(value) });
  }

  /** Asks once more, in place. */
  #reset() {
    const button = byId("reset");
    const calm = () => {
      clearTimeout(this.#sure);
      this.#sure = 0;
      button.classList.remove("sure");
      setText(button, "Reset");
    };
    if (!this.#sure) {
      button.classList.add("sure");
      setText(button, "Sure?");
      this.#sure = setTimeout(calm, SURE_MS);
      return;
    }
    calm();
    this.fleet.request("reset")
      .then(() => toast("Every rover is back at its start."))
      .catch(showRefusal);
  }

  #begin() {
    const { name, seed, version } = this.fleet.about;
    setText(byId("run-name"), name);
    byId("run-name").title = `${name}, seed ${seed}, pico_gz ${version}`;
    document.title = `${name} · pico_gz`;
    document.body.classList.toggle("replay", !this.fleet.isLive);
    show(byId("reset"), this.fleet.can("reset"));
  }

  #showState() {
    const { state, online, time } = this.fleet;
    const pill = byId("run-state");
    pill.dataset.state = online ? state : "offline";
    setText(pill, online ? state : "offline");
    setText(byId("pause"), state === "paused" ? "Resume" : "Pause");
    setText(byId("figure-time"), clock(time));
    for (const id of ["pause", "step", "speed", "reset"]) byId(id).disabled = !online;
  }

  #showFigures() {
    const { rtf, latency_p99_ms: p99, lost_steps: lost, speed } = this.fleet.figures;
    setText(byId("figure-rtf"), `${rtf >= 10 ? rtf.toFixed(0) : rtf.toFixed(2)}×`);
    setText(byId("figure-latency"), fixed(p99, 2, "ms"));
    setText(byId("figure-lost"), String(lost));
    const select = byId("speed");
    if (document.activeElement === select) return;
    const value = String(speed);
    if (![...select.options].some((option) => option.value === value)) {
      select.add(new Option(speedName(value), value));
    }
    select.value = value;
  }
}

function speedName(value) {
  return value === "max" ? "max" : `${value}×`;
}
