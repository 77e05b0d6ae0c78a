/** Shading of the ground: colour by height, light from the north-west. */

const RELIEF = 5;

export class TerrainLayer {
  #terrain = null;
  #image = null;
  #heights = null;

  /** @param {object | null} terrain as the first message has it; null is level ground */
  set(terrain) {
    this.#terrain = terrain;
    this.#image = null;
    if (!terrain) return;
    const bytes = atob(terrain.heights);
    const span = (terrain.high_m - terrain.low_m) / 255;
    this.#heights = Float32Array.from(bytes, (c) => terrain.low_m + c.charCodeAt(0) * span);
  }

  /** Forget the picture, because colours changed. */
  repaint() {
    this.#image = null;
  }

  /** Height [m] of the ground at a place, null where it is unknown. */
  heightAt(north, east) {
    const t = this.#terrain;
    if (!t) return null;
    const row = Math.round((north - t.south_m) / t.cell_m);
    const column = Math.round((east - t.west_m) / t.cell_m);
    if (row < 0 || column < 0 || row >= t.rows || column >= t.columns) return null;
    return this.#heights[row * t.columns + column];
  }

  draw(context, view, theme) {
    const t = this.#terrain;
    if (!t) return;
    this.#image ??= this.#paint(theme);
    const half = t.cell_m / 2;
    const north = t.south_m + (t.rows - 1) * t.cell_m + half;
    context.imageSmoothingEnabled = true;
    context.drawImage(
      this.#image,
      view.x(t.west_m - half),
      view.y(north),
      t.columns * t.cell_m * view.scale,
      t.rows * t.cell_m * view.scale,
    );
  }

  #paint(theme) {
    const { rows, columns, low_m: low, high_m: high } = this.#terrain;
    const canvas = new OffscreenCanvas(columns, rows);
    const context = canvas.getContext("2d");
    const image = context.createImageData(columns, rows);
    const from = rgb(theme.colour("--map-low"));
    const to = rgb(theme.colour("--map-high"));
    for (let row = 0; row < rows; row += 1) {
      for (let column = 0; column < columns; column += 1) {
        const share = (this.#heights[row * columns + column] - low) / (high - low || 1);
        const light = this.#light(row, column);
        const at = 4 * ((rows - 1 - row) * columns + column);
        for (let k = 0; k < 3; k += 1) {
          image.data[at + k] = (from[k] + (to[k] - from[k]) * share) * light;
        }
        image.data[at + 3] = 120;
      }
    }
    context.putImageData(image, 0, 0);
    return canvas;
  }

  /** Brightness of a slope, 0.5..1.3. */
  #light(row, column) {
    const { rows, columns, cell_m: cell } = this.#terrain;
    const at = (r, c) => this.#heights[
      Math.min(rows - 1, Math.max(0, r)) * columns + Math.min(columns - 1, Math.max(0, c))];
    const toNorth = (at(row + 1, column) - at(row - 1, column)) / (2 * cell);
    const toEast = (at(row, column + 1) - at(row, column - 1)) / (2 * cell);
    return Math.min(1.3, Math.max(0.5, 1 + (toEast - toNorth) * 0.15 * RELIEF));
  }
}

function rgb(hex) {
  return [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
}
