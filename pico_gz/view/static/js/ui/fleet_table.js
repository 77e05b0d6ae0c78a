/** The fleet as a table: sort, filter, choose; only cells that changed are written. */

import { byId, make, setOptions, setText, show } from "./dom.js";
import { fixed, NOTHING, stateText, troubleText } from "./format.js";
import { Sure } from "./sure.js";
import { showRefusal } from "./toast.js";

const REFRESH_MS = 250;

/** @type {{name: string, title: string, kind: string, value: Function, text: Function, badge?: Function, hint?: Function}[]} */
const COLUMNS = [
  { title: "Rover", kind: "name", value: (r) => r.id, text: (r) => r.name },
  {
    title: "Mode", kind: "", value: (r) => r.row.mode ?? "", text: (r) => r.row.mode ?? NOTHING,
    badge: (r) => (r.isWell ? "" : "bad"),
  },
  {
    title: "State", kind: "", value: stateText, text: stateText, hint: troubleText,
    badge: (r) => (!r.isWell ? "bad" : r.row.armed ? "good" : ""),
  },
  { title: "Speed m/s", kind: "number", value: (r) => r.place?.speed ?? 0, text: (r) => fixed(r.place?.speed, 2) },
  { title: "Battery", kind: "number", value: (r) => r.row.battery_percent ?? -1, text: batteryText },
  { title: "GPS", kind: "", value: (r) => r.row.satellites ?? 0, text: gpsText },
  { title: "Lag ms", kind: "number", value: (r) => r.row.lag_ms ?? -1, text: (r) => fixed(r.row.lag_ms, 0) },
  { title: "Last message", kind: "text", value: (r) => r.row.message ?? "", text: (r) => r.row.message ?? "" },
];

function batteryText({ row }) {
  if (row.battery_percent === null || row.battery_percent === undefined) return fixed(row.battery_v, 1, "V");
  return `${row.battery_percent}\u202f%`;
}

function gpsText({ row }) {
  return row.fix === undefined ? NOTHING : `${row.fix} · ${row.satellites}`;
}

export class FleetTable {
  #rows = new Map();
  // Column -1: rovers in trouble first, then by id.
  #sort = { column: -1, up: true };
  #filter = "";
  #due = 0;

  /** @param {import("../model/fleet.js").Fleet} fleet @param {import("./theme.js").Theme} theme */
  constructor(fleet, theme) {
    this.fleet = fleet;
    this.theme = theme;
    this.body = byId("fleet-body");
    this.#makeHead();
    this.body.addEventListener("click", (event) => this.#click(event));
    this.body.addEventListener("keydown", (event) => this.#key(event));
    byId("fleet-filter").addEventListener("input", (event) => {
      this.#filter = event.target.value.trim().toLowerCase();
      this.#arrange();
    });
    this.#connectActions();
    fleet.addEventListener("hello", () => this.#begin());
    fleet.addEventListener("frame", () => this.#later());
    fleet.addEventListener("rows", () => this.#later());
    fleet.addEventListener("select", () => this.#showSelection());
    theme.addEventListener("change", () => this.#begin());
  }

  #makeHead() {
    COLUMNS.forEach(({ title, kind }, column) => {
      const button = make("button", { type: "button", textContent: title });
      button.addEventListener("click", () => this.#sortBy(column));
      byId("fleet-head").append(make("th", { className: kind, scope: "col" }, button));
    });
  }

  #connectActions() {
    const [arm, disarm] = ["arm", "disarm"].map((name) => document.querySelector(`[data-all=${name}]`));
    arm.addEventListener("click", () => this.#all("arm"));
    const anyMoves = () => [...this.fleet.rovers.values()].some((rover) => rover.moves);
    new Sure(disarm, () => this.#all("disarm"), anyMoves);
    byId("in-trouble").addEventListener("click", () => this.#nextInTrouble());
    byId("all-mode").addEventListener("change", (event) => {
      if (event.target.value) this.#all("mode", { mode: event.target.value });
      event.target.value = "";
    });
  }

  #all(command, options = {}) {
    this.fleet.request(command, { id: 0, ...options }).catch(showRefusal);
  }

  #nextInTrouble() {
    const ids = this.fleet.troubled.map((rover) => rover.id);
    this.fleet.select(ids.find((id) => id > this.fleet.selectedId) ?? ids[0] ?? 0);
  }

  #showTroubleCount() {
    const count = this.fleet.troubled.length;
    show(byId("in-trouble"), count > 0);
    setText(byId("trouble-count"), String(count));
    byId("in-trouble").setAttribute("aria-label", `${count} in trouble: choose the next one`);
  }

  #begin() {
    const { rovers, about } = this.fleet;
    if (!about) return;
    setText(byId("fleet-count"), String(rovers.size));
    setOptions(byId("all-mode"), ["", ...about.modes], (mode) => mode || "Mode of all…");
    const commandable = [...rovers.values()].some((rover) => this.fleet.can("arm", rover));
    show(byId("fleet-actions"), commandable);
    this.#rows = new Map([...rovers.values()].map((rover) => [rover.id, this.#makeRow(rover)]));
    this.#arrange();
    this.#refresh();
    this.#showSelection();
  }

  #makeRow(rover) {
    const row = make("tr", { tabIndex: -1, dataset: { id: rover.id } });
    const cells = COLUMNS.map(({ kind, badge }, column) => {
      const inner = make("span", { className: badge ? "badge" : "" });
      const cell = make("td", { className: kind }, inner);
      if (column === 0) {
        const swatch = make("i", { className: "swatch" });
        swatch.style.background = this.theme.rover(rover.id);
        cell.prepend(swatch);
      }
      row.append(cell);
      return inner;
    });
    return { row, cells };
  }

  #later() {
    this.#due ||= setTimeout(() => {
      this.#due = 0;
      this.#refresh();
    }, REFRESH_MS);
  }

  #refresh() {
    for (const rover of this.fleet.rovers.values()) {
      const { cells } = this.#rows.get(rover.id) ?? {};
      cells?.forEach((cell, column) => {
        const { text, badge, kind, hint } = COLUMNS[column];
        const shown = text(rover);
        setText(cell, shown);
        const title = hint ? hint(rover) : kind === "text" ? shown : "";
        if (cell.title !== title) cell.title = title;
        const look = badge ? `badge ${badge(rover)}` : "";
        if (badge && cell.className !== look) cell.className = look;
      });
    }
    if (this.#sort.column !== 0) this.#arrange();
    this.#showTroubleCount();
  }

  #sortBy(column) {
    const same = this.#sort.column === column;
    this.#sort = { column, up: same ? !this.#sort.up : true };
    this.#arrange();
  }

  /** Put the rows that pass the filter into order. */
  #arrange() {
    const { column, up } = this.#sort;
    const { value } = COLUMNS[column] ?? { value: (rover) => (rover.isWell ? 1 : 0) };
    const shown = [...this.fleet.rovers.values()].filter((rover) => this.#passes(rover));
    const compare = (a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : a.id - b.id);
    shown.sort((a, b) => (up ? compare(a, b) : compare(b, a)));
    const rows = shown.map((rover) => this.#rows.get(rover.id)?.row).filter(Boolean);
    const same = rows.length === this.body.children.length
      && rows.every((row, i) => row === this.body.children[i]);
    if (!same) this.#place(rows);
    [...byId("fleet-head").children].forEach((head, i) => {
      head.setAttribute("aria-sort", i !== column ? "none" : up ? "ascending" : "descending");
    });
  }

  #place(rows) {
    const focused = this.body.contains(document.activeElement) ? document.activeElement : null;
    this.body.replaceChildren(...rows);
    focused?.focus({ preventScroll: true });
    this.#showSelection({ scroll: false });
  }

  #passes(rover) {
    if (!this.#filter) return true;
    const { mode = "", message = "" } = rover.row;
    return `${rover.id} ${rover.name} ${mode} ${stateText(rover)} ${message}`.toLowerCase().includes(this.#filter);
  }

  #showSelection({ scroll = true } = {}) {
    const { selectedId } = this.fleet;
    for (const [id, { row }] of this.#rows) {
      const chosen = id === selectedId;
      row.setAttribute("aria-selected", String(chosen));
      row.tabIndex = chosen ? 0 : -1;
      if (chosen && scroll) row.scrollIntoView({ block: "nearest" });
    }
    const first = this.body.firstElementChild;
    if (first && !this.#rows.get(selectedId)?.row.isConnected) first.tabIndex = 0;
  }

  #click(event) {
    const row = event.target.closest("tr");
    if (row) this.fleet.select(Number(row.dataset.id));
  }

  #key(event) {
    const row = event.target.closest("tr");
    const next = { ArrowDown: row?.nextElementSibling, ArrowUp: row?.previousElementSibling }[event.key];
    if (next) {
      this.fleet.select(Number(next.dataset.id));
      next.focus();
      event.preventDefault();
    } else if (event.key === "Enter" && row) {
      this.fleet.select(Number(row.dataset.id));
      event.preventDefault();
    }
  }
}
