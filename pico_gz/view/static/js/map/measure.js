/** A line of points with lengths and bearings. */

import { heading, length } from "../ui/format.js";
import { drawText } from "./grid.js";

export class Measure {
  points = [];

  add(place) {
    this.points.push(place);
  }

  clear() {
    this.points = [];
  }

  /** @param {{north: number, east: number} | null} cursor where the next point would be */
  draw(context, view, theme, cursor) {
    const points = cursor && this.points.length ? [...this.points, cursor] : this.points;
    if (!points.length) return;
    context.strokeStyle = context.fillStyle = theme.colour("--accent");
    context.lineWidth = 2;
    context.beginPath();
    for (const { north, east } of points) context.lineTo(view.x(east), view.y(north));
    context.stroke();
    for (const { north, east } of points) {
      context.beginPath();
      context.arc(view.x(east), view.y(north), 4, 0, 2 * Math.PI);
      context.fill();
    }
    this.#label(context, view, theme, points);
  }

  #label(context, view, theme, points) {
    let total = 0;
    context.font = "600 12px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "bottom";
    for (let i = 1; i < points.length; i += 1) {
      const [a, b] = [points[i - 1], points[i]];
      const apart = Math.hypot(b.north - a.north, b.east - a.east);
      total += apart;
      const text = `${length(apart)}  ${heading(Math.atan2(b.east - a.east, b.north - a.north))}`;
      const x = view.x((a.east + b.east) / 2);
      drawText(context, theme, text, x, view.y((a.north + b.north) / 2) - 6, "--text");
    }
    if (points.length > 2) {
      const end = points.at(-1);
      drawText(context, theme, `total ${length(total)}`, view.x(end.east), view.y(end.north) + 24, "--text");
    }
  }
}
