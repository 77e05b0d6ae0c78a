/** Missions, fences, home and the point a rover is heading for. */

import { drawText } from "./grid.js";

// With more rovers only the chosen one's plan is shown: the others would hide everything.
const SHOW_ALL_UP_TO = 12;
const NUMBER_PX = 26;
const ESTIMATE_LABEL_PX = 22;

export function drawPlans(context, view, theme, fleet) {
  const all = fleet.rovers.size <= SHOW_ALL_UP_TO;
  for (const rover of fleet.rovers.values()) {
    const chosen = rover.id === fleet.selectedId;
    if (!rover.plan || !(all || chosen)) continue;
    drawFence(context, view, theme, rover.plan.fence, chosen);
    drawMission(context, view, theme, rover, chosen);
  }
  drawTarget(context, view, theme, fleet);
}

function drawMission(context, view, theme, rover, chosen) {
  const { mission, home } = rover.plan;
  context.globalAlpha = chosen ? 1 : 0.4;
  context.strokeStyle = context.fillStyle = theme.rover(rover.id);
  if (mission.length) {
    context.lineWidth = chosen ? 1.75 : 1;
    context.setLineDash([6, 5]);
    context.beginPath();
    for (const [, north, east] of mission) context.lineTo(view.x(east), view.y(north));
    context.stroke();
    context.setLineDash([]);
  }
  if (home && chosen) drawHome(context, view, theme, home);
  context.strokeStyle = theme.rover(rover.id);
  const numbered = chosen && hasRoom(view, mission);
  for (const [seq, north, east] of mission) {
    drawWaypoint(context, view, theme, rover, { seq, north, east, numbered });
  }
  context.globalAlpha = 1;
}

/** Whether numbers at the waypoints would not cover each other. */
function hasRoom(view, mission) {
  const apart = mission.slice(1).map(([, north, east], i) =>
    Math.hypot(north - mission[i][1], east - mission[i][2]) * view.scale);
  return !apart.some((pixels) => pixels > 0 && pixels < NUMBER_PX);
}

function drawWaypoint(context, view, theme, rover, { seq, north, east, numbered }) {
  const x = view.x(east);
  const y = view.y(north);
  const next = numbered && seq === rover.row.waypoint;
  context.beginPath();
  context.arc(x, y, numbered ? 9 : 3, 0, 2 * Math.PI);
  context.fillStyle = numbered && !next ? theme.colour("--map-ground") : theme.rover(rover.id);
  context.fill();
  if (!numbered) return;
  context.lineWidth = 1.75;
  context.stroke();
  context.font = "600 11px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = next ? theme.colour("--map-halo") : theme.colour("--map-ink");
  context.fillText(String(seq), x, y + 0.5);
}

function drawHome(context, view, theme, [north, east]) {
  const x = view.x(east);
  const y = view.y(north);
  context.strokeStyle = theme.colour("--map-ink");
  context.fillStyle = theme.colour("--map-halo");
  context.lineWidth = 1.5;
  context.beginPath();
  for (const [dx, dy] of [[-6, 7], [-6, -1], [0, -8], [6, -1], [6, 7]]) context.lineTo(x + dx, y + dy);
  context.closePath();
  context.fill();
  context.stroke();
}

function drawFence(context, view, theme, shapes, chosen) {
  for (const { corners, center, radius_m: radius, inside } of shapes) {
    context.beginPath();
    if (corners) {
      for (const [north, east] of corners) context.lineTo(view.x(east), view.y(north));
      context.closePath();
    } else {
      context.arc(view.x(center[1]), view.y(center[0]), radius * view.scale, 0, 2 * Math.PI);
    }
    const colour = theme.colour(inside ? "--map-fence-in" : "--map-fence-out");
    context.strokeStyle = context.fillStyle = colour;
    context.globalAlpha = inside ? 0 : 0.12;
    context.fill();
    context.globalAlpha = chosen ? 0.95 : 0.5;
    context.lineWidth = chosen ? 2 : 1.25;
    context.setLineDash([10, 4, 2, 4]);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  }
}

/** Where the chosen rover is heading, and where it believes to be. */
function drawTarget(context, view, theme, { selected, focus }) {
  if (!selected?.place || !focus) return;
  const colour = theme.rover(selected.id);
  if (focus.target) {
    const [x, y] = [view.x(focus.target[1]), view.y(focus.target[0])];
    context.strokeStyle = colour;
    context.lineWidth = 1.25;
    context.setLineDash([2, 4]);
    context.beginPath();
    context.moveTo(view.x(selected.place.east), view.y(selected.place.north));
    context.lineTo(x, y);
    context.stroke();
    context.setLineDash([]);
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, 13, 0, 2 * Math.PI);
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.moveTo(x + 10 * dx, y + 10 * dy);
      context.lineTo(x + 18 * dx, y + 18 * dy);
    }
    context.stroke();
  }
  if (focus.estimate && view.scale > 8) drawEstimate(context, view, theme, selected.place, focus.estimate);
}

function drawEstimate(context, view, theme, place, [north, east]) {
  const [x, y] = [view.x(east), view.y(north)];
  context.strokeStyle = theme.colour("--map-ink");
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x - 5, y - 5);
  context.lineTo(x + 5, y + 5);
  context.moveTo(x - 5, y + 5);
  context.lineTo(x + 5, y - 5);
  context.stroke();
  if (Math.hypot(view.x(place.east) - x, view.y(place.north) - y) < ESTIMATE_LABEL_PX) return;
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "left";
  context.textBaseline = "top";
  drawText(context, theme, "estimate", x + 7, y + 4);
}
