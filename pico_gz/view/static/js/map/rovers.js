/** The rovers: arrows that point where they head, in more or less detail. */

import { drawText } from "./grid.js";

// Below these sizes [px] a rover is drawn as a plain arrow head, or as a dot.
const BODY_PX = 34;
const CROWDED_PX = 26;
const LABEL_PX = 13;

/** How much room a rover has on the screen [px]: the typical distance to a neighbour. */
export function roomPerRover(view, rovers) {
  const places = [...rovers.values()].filter((r) => r.place).map((r) => r.place);
  const seen = places.filter((place) => view.shows(place.north, place.east));
  if (seen.length < 2) return Infinity;
  return Math.sqrt((view.width * view.height) / seen.length) * spread(view, seen);
}

/** The share of the screen, 0..1, that the rovers in view are spread over. */
function spread(view, places) {
  const norths = places.map((place) => place.north);
  const easts = places.map((place) => place.east);
  const along = ((Math.max(...norths) - Math.min(...norths)) * view.scale + 20) / view.height;
  const across = ((Math.max(...easts) - Math.min(...easts)) * view.scale + 20) / view.width;
  return Math.sqrt(Math.min(1, along) * Math.min(1, across));
}

export function drawRovers(context, view, theme, fleet, { labels, hoveredId }) {
  const room = roomPerRover(view, fleet.rovers);
  const shown = [...fleet.rovers.values()].filter(
    ({ place }) => place && view.shows(place.north, place.east, 20 / view.scale),
  );
  // The chosen one is drawn last, on top; before it those in trouble.
  shown.sort((a, b) => rank(a, fleet, hoveredId) - rank(b, fleet, hoveredId));
  for (const rover of shown) drawRover(context, view, theme, rover, fleet, room);
  if (labels) drawLabels(context, view, theme, shown.reverse(), fleet, hoveredId);
}

function rank(rover, fleet, hoveredId) {
  if (rover.id === fleet.selectedId) return 3;
  return rover.id === hoveredId ? 2 : rover.isWell ? 0 : 1;
}

function drawRover(context, view, theme, rover, fleet, room) {
  const { place } = rover;
  const chosen = rover.id === fleet.selectedId;
  const size = Math.max(rover.length_m * view.scale, chosen ? 22 : room < CROWDED_PX ? 9 : 18);
  context.save();
  context.translate(view.x(place.east), view.y(place.north));
  if (chosen) drawRing(context, theme, size);
  if (!rover.isWell) drawAlarm(context, theme, size);
  context.rotate(place.yaw);
  context.fillStyle = theme.rover(rover.id);
  context.strokeStyle = theme.colour(chosen ? "--text" : "--map-halo");
  context.lineWidth = chosen ? 2 : 1;
  context.lineJoin = "round";
  if (size >= BODY_PX) drawBody(context, theme, rover, size);
  else drawArrow(context, size, rover.row.armed);
  context.restore();
}

/** Filled when armed, hollow when not. */
function drawArrow(context, size, armed) {
  const h = size / 2;
  context.beginPath();
  context.moveTo(0, -h * 1.15);
  context.lineTo(h * 0.8, h);
  context.lineTo(0, h * 0.5);
  context.lineTo(-h * 0.8, h);
  context.closePath();
  if (!armed) {
    context.globalAlpha = 0.35;
    context.fill();
    context.globalAlpha = 1;
    context.strokeStyle = context.fillStyle;
    context.lineWidth = 1.5;
  } else {
    context.fill();
  }
  context.stroke();
}

function drawBody(context, theme, rover, size) {
  const width = Math.max(size * (rover.width_m / rover.length_m), size * 0.4);
  const [l, w] = [size / 2, width / 2];
  context.save();
  context.fillStyle = theme.colour("--map-ink");
  for (const [x, y] of [[-w, -l * 0.6], [w, -l * 0.6], [-w, l * 0.6], [w, l * 0.6]]) {
    context.fillRect(x - w * 0.14, y - l * 0.26, w * 0.28, l * 0.52);
  }
  context.restore();
  context.beginPath();
  context.roundRect(-w * 0.85, -l, width * 0.85, size, w * 0.3);
  context.globalAlpha = rover.row.armed ? 1 : 0.55;
  context.fill();
  context.globalAlpha = 1;
  context.stroke();
  context.fillStyle = theme.colour("--map-halo");
  context.beginPath();
  context.moveTo(0, -l * 0.75);
  context.lineTo(w * 0.5, -l * 0.15);
  context.lineTo(-w * 0.5, -l * 0.15);
  context.fill();
}

function drawRing(context, theme, size) {
  context.beginPath();
  context.arc(0, 0, size * 0.95, 0, 2 * Math.PI);
  context.strokeStyle = theme.colour("--accent");
  context.lineWidth = 2;
  context.stroke();
}

function drawAlarm(context, theme, size) {
  context.beginPath();
  context.arc(0, 0, size * 0.8 + 3, 0, 2 * Math.PI);
  context.fillStyle = theme.colour("--bad");
  context.globalAlpha = 0.4;
  context.fill();
  context.globalAlpha = 1;
  context.strokeStyle = theme.colour("--bad");
  context.lineWidth = 1.5;
  context.stroke();
}

/** Names where they do not cover each other; the first ones win. */
function drawLabels(context, view, theme, rovers, fleet, hoveredId) {
  const taken = new Set();
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const rover of rovers) {
    const important = rover.id === fleet.selectedId || rover.id === hoveredId;
    const text = rovers.length > 60 && !important ? String(rover.id) : rover.name;
    context.font = `${important ? "600 " : ""}12px system-ui, sans-serif`;
    const x = view.x(rover.place.east) + Math.max(13, rover.length_m * view.scale * 0.6);
    const y = view.y(rover.place.north) - 1;
    const cells = cellsOf(x, y, context.measureText(text).width);
    if (!important && cells.some((cell) => taken.has(cell))) continue;
    for (const cell of cells) taken.add(cell);
    drawText(context, theme, text, x, y, important ? "--text" : "--map-ink");
  }
}

function cellsOf(x, y, width) {
  const row = Math.round(y / LABEL_PX);
  const cells = [];
  for (let column = Math.floor((x - 20) / 12); column * 12 < x + width; column += 1) {
    cells.push(`${column},${row}`, `${column},${row + 1}`);
  }
  return cells;
}

/** The rover nearest to a pixel, or null. */
export function roverAt(view, rovers, x, y, reach = 20) {
  let nearest = null;
  let best = reach;
  for (const rover of rovers.values()) {
    if (!rover.place) continue;
    const apart = Math.hypot(view.x(rover.place.east) - x, view.y(rover.place.north) - y);
    if (apart < Math.max(best, 0)) {
      nearest = rover;
      best = apart;
    }
  }
  return nearest;
}
