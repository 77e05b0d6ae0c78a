/** Where everybody has been. */

const ALL_POINTS = 24000;

/** @param {Map<number, import("../model/rover.js").Rover>} rovers */
export function drawTrails(context, view, theme, rovers, selectedId) {
  const most = 2 * Math.max(60, Math.floor(ALL_POINTS / Math.max(1, rovers.size)));
  const crowded = rovers.size > 40;
  context.lineJoin = "round";
  context.lineCap = "round";
  for (const rover of rovers.values()) {
    const chosen = rover.id === selectedId;
    context.strokeStyle = theme.rover(rover.id, chosen ? 0.9 : crowded ? 0.35 : 0.55);
    context.lineWidth = chosen ? 2.5 : crowded ? 1 : 1.75;
    drawTrail(context, view, rover, chosen ? Infinity : most);
  }
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
