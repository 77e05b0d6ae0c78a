/** Grid in metres, its labels, and the scale bar. */

import { length } from "../ui/format.js";

const WANTED_PX = 80;
const BAR_PX = 110;

/** The nearest 1, 2 or 5 times a power of ten that is not below `metres`. */
export function niceStep(metres) {
  const power = 10 ** Math.floor(Math.log10(metres));
  const digit = [1, 2, 5, 10].find((candidate) => candidate * power >= metres * 0.999);
  return digit * power;
}

/** @param {CanvasRenderingContext2D} context */
export function drawGrid(context, view, theme) {
  const step = niceStep(WANTED_PX / view.scale);
  const { north: top, east: left } = view.place(0, 0);
  const { north: bottom, east: right } = view.place(view.width, view.height);
  context.lineWidth = 1;
  for (const strong of [false, true]) {
    context.strokeStyle = theme.colour(strong ? "--map-grid-strong" : "--map-grid");
    context.beginPath();
    for (let i = Math.ceil(left / step); i * step <= right; i += 1) {
      if ((i % 5 === 0) !== strong) continue;
      const x = Math.round(view.x(i * step)) + 0.5;
      context.moveTo(x, 0);
      context.lineTo(x, view.height);
    }
    for (let i = Math.ceil(bottom / step); i * step <= top; i += 1) {
      if ((i % 5 === 0) !== strong) continue;
      const y = Math.round(view.y(i * step)) + 0.5;
      context.moveTo(0, y);
      context.lineTo(view.width, y);
    }
    context.stroke();
  }
  drawOrigin(context, view, theme);
}

function drawOrigin(context, view, theme) {
  const x = view.x(0);
  const y = view.y(0);
  context.strokeStyle = theme.colour("--map-ink");
  context.globalAlpha = 0.6;
  context.beginPath();
  context.moveTo(x - 6, y);
  context.lineTo(x + 6, y);
  context.moveTo(x, y - 6);
  context.lineTo(x, y + 6);
  context.stroke();
  context.globalAlpha = 1;
}

/** Scale bar and north arrow, lower left. */
export function drawScale(context, view, theme) {
  const metres = niceStep(BAR_PX / view.scale / 2);
  const width = metres * view.scale;
  const x = 14;
  const y = view.height - 16;
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  for (const [colour, thickness] of [["--map-halo", 4], ["--map-ink", 2]]) {
    context.strokeStyle = theme.colour(colour);
    context.lineWidth = thickness;
    context.beginPath();
    context.moveTo(x, y - 5);
    context.lineTo(x, y);
    context.lineTo(x + width, y);
    context.lineTo(x + width, y - 5);
    context.moveTo(x + 4, y - 46);
    context.lineTo(x + 8, y - 58);
    context.lineTo(x + 12, y - 46);
    context.stroke();
  }
  drawText(context, theme, length(metres), x + 6, y - 8);
  drawText(context, theme, "N", x + 3.5, y - 30);
}

/** Text with a halo, readable on anything. */
export function drawText(context, theme, text, x, y, colour = "--map-ink") {
  context.lineWidth = 3.5;
  context.lineJoin = "round";
  context.strokeStyle = theme.colour("--map-halo");
  context.strokeText(text, x, y);
  context.fillStyle = colour.startsWith("--") ? theme.colour(colour) : colour;
  context.fillText(text, x, y);
}
