/** One small chart of the last minute. */

import { niceStep } from "../map/grid.js";
import { SPAN_S } from "../model/series.js";
import { make, setText } from "./dom.js";
import { fixed } from "./format.js";

const LEFT_PX = 34;

export class LineChart {
  element;
  #canvas = make("canvas");
  #value = make("output");

  /**
   * @param {object} options
   * @param {string} options.title
   * @param {string} options.unit
   * @param {number} options.digits of the value that is shown as text
   * @param {{series: import("../model/series.js").Series, name?: string}[]} options.lines the first is shown as text
   * @param {number} [options.least] smallest span of the vertical axis
   * @param {boolean} [options.signed] zero is in the middle
   * @param {boolean} [options.liveOnly] a recording does not have it
   */
  constructor(options) {
    this.options = { least: 1, signed: false, ...options };
    this.#canvas.setAttribute("role", "img");
    this.#canvas.setAttribute("aria-label", `${options.title} of the last ${SPAN_S} seconds`);
    const head = make("h3", {}, make("span", { textContent: options.title }), this.#value);
    this.element = make("figure", { className: options.liveOnly ? "chart live-only" : "chart" }, head, this.#canvas);
    this.element.style.margin = "0";
  }

  /** @param {number} now seconds, the right edge */
  draw(now, theme) {
    const { lines, unit, digits } = this.options;
    const words = lines.map(({ series, name }) => [name, fixed(series.last, digits, unit)].filter(Boolean).join(" "));
    setText(this.#value, words.join("  "));
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    if (width < 20 || height < 10) return;
    const density = window.devicePixelRatio || 1;
    const [w, h] = [Math.round(width * density), Math.round(height * density)];
    if (this.#canvas.width !== w || this.#canvas.height !== h) Object.assign(this.#canvas, { width: w, height: h });
    const context = this.#canvas.getContext("2d");
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, width, height);
    const [low, high] = this.#range();
    const frame = {
      x: (time) => LEFT_PX + ((time - now) / SPAN_S + 1) * (width - LEFT_PX - 2),
      y: (value) => 5 + ((high - value) / (high - low)) * (height - 10),
      left: LEFT_PX, right: width - 2, low, high, from: now - SPAN_S,
    };
    drawAxis(context, frame, theme);
    lines.forEach(({ series }, i) => drawLine(context, frame, series, theme.colour(`--chart-${i + 1}`)));
  }

  #range() {
    const { lines, least, signed } = this.options;
    let [low, high] = [0, 0];
    for (const { series } of lines) {
      for (const value of series.values) {
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
    const most = Math.max(high, -low, least);
    const edge = niceStep(most);
    return [signed || low < 0 ? -edge : 0, edge];
  }
}

function drawAxis(context, { y, left, right, low, high }, theme) {
  context.font = "10.5px ui-monospace, monospace";
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.lineWidth = 1;
  context.strokeStyle = theme.colour("--line");
  context.fillStyle = theme.colour("--muted");
  for (const value of low < 0 ? [low, 0, high] : [0, high / 2, high]) {
    const at = Math.round(y(value)) + 0.5;
    context.beginPath();
    context.moveTo(left, at);
    context.lineTo(right, at);
    context.stroke();
    context.fillText(String(Number(value.toPrecision(3))), left - 5, at);
  }
}

function drawLine(context, { x, y, left, from }, { times, values }, colour) {
  context.strokeStyle = colour;
  context.lineWidth = 1.6;
  context.lineJoin = "round";
  context.beginPath();
  let pen = false;
  for (let i = 0; i < times.length; i += 1) {
    if (times[i] < from || Number.isNaN(values[i])) pen = false;
    else {
      const px = Math.max(left, x(times[i]));
      if (pen) context.lineTo(px, y(values[i]));
      else context.moveTo(px, y(values[i]));
      pen = true;
    }
  }
  context.stroke();
}
