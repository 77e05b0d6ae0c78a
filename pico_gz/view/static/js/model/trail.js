/** Where one rover has been: a bounded list of points, at least a bit apart. */

const SPACING_M = 0.15;
const MAX_POINTS = 1500;
// No vehicle moves this far between two updates, in seconds at its top speed: it was put somewhere else.
const JUMP_S = 4;
const LEAST_JUMP_M = 4;

export class Trail {
  /** north, east, north, east ...; NaN, NaN is a gap. */
  points = [];

  /**
   * @param {number[]} flat earlier points in centimetres: north, east, ...
   * @param {number} [topSpeed] of the vehicle, metres per second
   */
  constructor(flat = [], topSpeed = 0) {
    this.jump = Math.max(LEAST_JUMP_M, JUMP_S * topSpeed);
    for (let i = 0; i + 1 < flat.length; i += 2) this.add(flat[i] / 100, flat[i + 1] / 100);
  }

  add(north, east) {
    const { points } = this;
    const end = points.length;
    if (end) {
      const apart = Math.hypot(north - points[end - 2], east - points[end - 1]);
      if (apart < SPACING_M) return;
      if (apart > this.jump) points.push(NaN, NaN);
    }
    points.push(north, east);
    if (points.length > 2 * MAX_POINTS) points.splice(0, MAX_POINTS / 2);
  }
}
