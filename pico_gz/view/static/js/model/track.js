/** Where a rover was in a recording, by time. */

export class Track {
  /** @param {number[]} flat time [ms], north [cm], east [cm], in turn */
  constructor(flat) {
    this.times = [];
    /** @type {[number, number][]} north and east in metres */
    this.points = [];
    for (let i = 0; i + 2 < flat.length; i += 3) {
      this.times.push(flat[i] / 1000);
      this.points.push([flat[i + 1] / 100, flat[i + 2] / 100]);
    }
  }

  /** How many of the points lie before a time [s]. */
  reached(time) {
    let [low, high] = [0, this.times.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
