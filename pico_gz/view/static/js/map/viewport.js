/** Which part of the ground is shown: metres north and east to pixels and back. */

const MIN_SCALE = 0.02;
const MAX_SCALE = 800;
const FIT_MARGIN_PX = 60;
// The toolbar covers the top of the map.
const FIT_TOP_PX = 40;

export class Viewport {
  width = 1;
  height = 1;
  north = 0;
  east = 0;
  /** pixels per metre */
  scale = 20;

  resize(width, height) {
    this.width = width;
    this.height = height;
  }

  x(east) {
    return (east - this.east) * this.scale + this.width / 2;
  }

  y(north) {
    return (this.north - north) * this.scale + this.height / 2;
  }

  /** @returns {{north: number, east: number}} the place under a pixel */
  place(x, y) {
    return {
      north: this.north - (y - this.height / 2) / this.scale,
      east: this.east + (x - this.width / 2) / this.scale,
    };
  }

  /** Move the picture by pixels. */
  pan(dx, dy) {
    this.east -= dx / this.scale;
    this.north += dy / this.scale;
  }

  /** Zoom by a factor; the place under the pixel stays there. */
  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const before = this.place(x, y);
    this.scale = Math.min(MAX_SCALE, Math.max(MIN_SCALE, this.scale * factor));
    const after = this.place(x, y);
    this.north += before.north - after.north;
    this.east += before.east - after.east;
  }

  center(north, east) {
    this.north = north;
    this.east = east;
  }

  /** Show a whole area [m]. */
  fit({ south, north, west, east }) {
    const across = Math.max(4, east - west);
    const along = Math.max(4, north - south);
    const free = Math.max(1, this.height - FIT_TOP_PX);
    this.scale = Math.min(MAX_SCALE, withoutMargins(this.width) / across, withoutMargins(free) / along);
    this.center((south + north) / 2 + FIT_TOP_PX / 2 / this.scale, (west + east) / 2);
  }

  /** Whether a circle around a place [m] may be seen. */
  shows(north, east, radius = 0) {
    const dx = Math.abs(east - this.east) - radius;
    const dy = Math.abs(north - this.north) - radius;
    return dx * this.scale < this.width / 2 && dy * this.scale < this.height / 2;
  }
}

/** What is left of a length [px] between two margins; small screens have small ones. */
function withoutMargins(length) {
  return length - 2 * Math.min(FIT_MARGIN_PX, length / 8);
}
