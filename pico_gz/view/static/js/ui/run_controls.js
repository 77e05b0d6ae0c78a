/** Pause, step, speed, reset, and the figures of the run. */

import { byId, setOptions, setText, show } from "./dom.js";
import { clock, fixed } from "./format.js";
import { Sure } from "./sure.js";
import { showRefusal, toast } from "./toast.js";

const SPEEDS = ["0.1", "0.5", "1", "2", "5", "10", "20", "max"];
const BIG_STEP = 10;

export class RunControls {
  /** @param {import("../model/fleet.js").Fleet} fleet */
  constructor(fleet) {
    this.fleet = fleet;
    setOptions(byId("speed"), SPEEDS, speedName);
    byId("pause").addEventListener("click", () => this.toggle());
    byId("step").addEventListener("click", (event) => this.step(event.shiftKey ? BIG_STEP : 1));
    byId("speed").addEventListener("change", (event) => this.#setSpeed(event.target.value));
    new Sure(byId("reset"), () => this.#reset());
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

  #reset() {
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
    const { state, online, ended, time } = this.fleet;
    const pill = byId("run-state");
    const shown = online ? state : ended ? (ended.failed ? "failed" : "ended") : "offline";
    pill.dataset.state = shown;
    setText(pill, shown);
    if (!online) show(byId("run-slow"), false);
    setText(byId("pause"), state === "paused" ? "Resume" : "Pause");
    setText(byId("figure-time"), clock(time));
  }

  /** Below 0.9 of the wanted speed the figure is amber, and what costs the time is named. */
  #showSlow(slow) {
    byId("figure-rtf").classList.toggle("warn", Boolean(slow));
    byId("figure-rtf").title = slow?.text ?? "";
    show(byId("run-slow"), Boolean(slow));
    if (!slow) return;
    const [most] = slow.costs;
    const what = slow.overloaded ? "overloaded" : "slow";
    setText(byId("run-slow"), most ? `${what}: ${most.part} ${most.percent}\u202f%` : what);
    byId("run-slow").title = slow.text;
  }

  #showFigures() {
    const { rtf, latency_p99_ms: p99, lost_steps: lost, speed, slow } = this.fleet.figures;
    this.#showSlow(slow);
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
