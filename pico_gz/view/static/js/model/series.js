/** Values of the last minute, for a chart. */

export const SPAN_S = 60;

export class Series {
  times = [];
  values = [];

  /** @param {number} time seconds, rising; @param {number | null} value null is a gap */
  add(time, value) {
    this.times.push(time);
    this.values.push(value ?? NaN);
    let old = 0;
    while (this.times[old] < time - SPAN_S) old += 1;
    // Dropped in blocks: shifting an array for every value is slow.
    if (old > 100) {
      this.times.splice(0, old);
      this.values.splice(0, old);
    }
  }

  clear() {
    this.times.length = this.values.length = 0;
  }

  get last() {
    return this.values.at(-1) ?? NaN;
  }
}
