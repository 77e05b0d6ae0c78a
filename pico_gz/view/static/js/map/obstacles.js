/** Posts, walls and boxes. */

/** @param {object[]} obstacles as the fleet file describes them */
export function drawObstacles(context, view, theme, obstacles) {
  context.fillStyle = theme.colour("--map-obstacle");
  context.strokeStyle = theme.colour("--map-obstacle-edge");
  context.lineWidth = 1.5;
  for (const obstacle of obstacles) {
    context.beginPath();
    SHAPES[obstacle.kind]?.(context, view, obstacle);
    context.fill();
    context.stroke();
  }
}

const SHAPES = {
  disc(context, view, { north_m: north, east_m: east, radius_m: radius }) {
    context.arc(view.x(east), view.y(north), Math.max(2, radius * view.scale), 0, 2 * Math.PI);
  },

  wall(context, view, { north_m, east_m, north2_m, east2_m, thickness_m }) {
    const along = Math.hypot(north2_m - north_m, east2_m - east_m);
    const yaw = Math.atan2(east2_m - east_m, north2_m - north_m);
    const thickness = Math.max(thickness_m, 2 / view.scale);
    rectangle(context, view, (north_m + north2_m) / 2, (east_m + east2_m) / 2, along, thickness, yaw);
  },

  box(context, view, { north_m, east_m, size_n_m, size_e_m, yaw_deg }) {
    rectangle(context, view, north_m, east_m, size_n_m, size_e_m, (yaw_deg * Math.PI) / 180);
  },
};

/** A rectangle with its first side along `yaw`. */
function rectangle(context, view, north, east, along, across, yaw) {
  const [cos, sin] = [Math.cos(yaw), Math.sin(yaw)];
  for (const [a, b] of [[1, 1], [1, -1], [-1, -1], [-1, 1]]) {
    const n = north + (a * along * cos - b * across * sin) / 2;
    const e = east + (a * along * sin + b * across * cos) / 2;
    context.lineTo(view.x(e), view.y(n));
  }
  context.closePath();
}
