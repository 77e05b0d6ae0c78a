/** Where the rovers have been. */

const ALL_POINTS = 24000;

/** @param {import("../model/fleet.js").Fleet} fleet */
export function drawTrails(context, view, theme, { rovers, selectedId, time }) {
  const most = 2 * Math.max(60, Math.floor(ALL_POINTS / Math.max(1, rovers.size)));
  const crowded = rovers.size > 40;
  context.lineJoin = "round";
  context.lineCap = "round";
  for (const rover of rovers.values()) {
    const chosen = rover.id === selectedId;
    context.lineWidth = chosen ? 2.5 : crowded ? 1 : 1.75;
    if (rover.track) {
      context.strokeStyle = theme.rover(rover.id, crowded && !chosen ? 0.1 : 0.25);
      drawTrack(context, view, rover.track.points);
    }
    context.strokeStyle = theme.rover(rover.id, chosen ? 0.9 : crowded ? 0.35 : 0.55);
    if (rover.track) drawTrack(context, view, pastOf(rover, time));
    else drawTrail(context, view, rover, chosen ? Infinity : most);
  }
}

/** The part of a recorded track that lies behind the rover. */
function pastOf({ track, place }, time) {
  const past = track.points.slice(0, track.reached(time));
  if (place) past.push([place.north, place.east]);
  return past;
}

function drawTrack(context, view, points) {
  context.beginPath();
  for (const [north, east] of points) context.lineTo(view.x(east), view.y(north));
  context.stroke();
}

function drawTrail(context, view, { trail, place }, most) {
  const { points } = trail;
  let pen = false;
  context.beginPath();
  for (let i = Math.max(0, points.length - most); i < points.length; i += 2) {
    const x = view.x(points[i + 1]);
    const y = view.y(points[i]);
    if (Number.isNaN(x)) pen = false;
    else if (pen) context.lineTo(x, y);
    else {
      context.moveTo(x, y);
      pen = true;
    }
  }
  if (pen && place) context.lineTo(view.x(place.east), view.y(place.north));
  context.stroke();
}
