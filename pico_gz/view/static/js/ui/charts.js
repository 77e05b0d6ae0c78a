/** The charts: three of the chosen rover, two of the run. */

import { Series } from "../model/series.js";
import { byId } from "./dom.js";
import { LineChart } from "./line_chart.js";

const REDRAW_MS = 200;
const KEEP_MS = 100;

export class Charts {
  #speed = new Series();
  #headingError = new Series();
  #crossTrack = new Series();
  #p50 = new Series();
  #p99 = new Series();
  #factor = new Series();
  #keptAt = 0;
  #shownTime = 0;

  /** @param {import("../model/fleet.js").Fleet} fleet @param {import("./theme.js").Theme} theme */
  constructor(fleet, theme) {
    this.fleet = fleet;
    this.charts = [
      new LineChart({ title: "Speed", unit: "m/s", digits: 2, least: 0.5, lines: [{ series: this.#speed }] }),
      new LineChart({ title: "Heading error", unit: "°", digits: 1, least: 10, signed: true, liveOnly: true, lines: [{ series: this.#headingError }] }),
      new LineChart({ title: "Cross-track", unit: "m", digits: 2, least: 0.2, signed: true, lines: [{ series: this.#crossTrack }] }),
      new LineChart({
        title: "Step latency", unit: "ms", digits: 2, least: 0.2, liveOnly: true,
        lines: [{ series: this.#p50, name: "p50" }, { series: this.#p99, name: "p99" }],
      }),
      new LineChart({ title: "Real-time factor", unit: "×", digits: 2, least: 1, lines: [{ series: this.#factor }] }),
    ];
    byId("chart-list").append(...this.charts.map((chart) => chart.element));
    fleet.addEventListener("frame", () => this.#keepRover());
    fleet.addEventListener("figures", () => this.#keepRun());
    fleet.addEventListener("select", () => this.#clearRover());
    setInterval(() => this.#draw(theme), REDRAW_MS);
  }

  #keepRover() {
    const now = performance.now();
    const { selected, focus, state, time } = this.fleet;
    if (time < this.#shownTime) this.#clearRover();  // an earlier time of a recording
    this.#shownTime = time;
    if (!selected?.place || state === "paused" || now - this.#keptAt < KEEP_MS) return;
    this.#keptAt = now;
    this.#speed.add(now / 1000, selected.place.speed);
    this.#headingError.add(now / 1000, focus?.heading_error_deg);
    this.#crossTrack.add(now / 1000, focus?.cross_track_m);
  }

  #keepRun() {
    const now = performance.now() / 1000;
    const { figures } = this.fleet;
    this.#p50.add(now, figures.paused ? null : figures.latency_p50_ms);
    this.#p99.add(now, figures.paused ? null : figures.latency_p99_ms);
    this.#factor.add(now, figures.rtf);
  }

  #clearRover() {
    for (const series of [this.#speed, this.#headingError, this.#crossTrack]) series.clear();
  }

  #draw(theme) {
    if (document.hidden) return;
    const now = performance.now() / 1000;
    for (const chart of this.charts) chart.draw(now, theme);
  }
}
