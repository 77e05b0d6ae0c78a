/** What a click on the map does: choose (no tool), send the rover, or measure. */

import { byId, setText, show } from "../ui/dom.js";
import { showRefusal, toast } from "../ui/toast.js";
import { Measure } from "./measure.js";

const HINTS = {
  go: "Click where the rover shall go, or move the cross with the arrow keys and press Enter.",
  measure: "Click points to measure, or arrow keys and Enter. Esc ends it.",
};

export class MapTools {
  tool = "";
  measure = new Measure();

  /** @param {import("../model/fleet.js").Fleet} fleet @param {() => void} redraw */
  constructor(fleet, redraw) {
    this.fleet = fleet;
    this.redraw = redraw;
    for (const name of ["go", "measure"]) byId(name).addEventListener("click", () => this.toggle(name));
    fleet.addEventListener("hello", () => show(byId("go"), fleet.can("goto")));
  }

  toggle(name) {
    this.set(this.tool === name ? "" : name);
  }

  set(name) {
    if (name === "go" && !this.fleet.can("goto")) return;
    if (name === "go" && !this.fleet.selected?.commandable) {
      const why = this.fleet.selected ? "This rover is commanded by its own autopilot." : "Choose a rover first.";
      toast(why, "bad");
      return;
    }
    if (this.tool === "measure" || name === "measure") this.measure.clear();
    this.tool = name;
    byId("go").setAttribute("aria-pressed", String(name === "go"));
    byId("measure").setAttribute("aria-pressed", String(name === "measure"));
    byId("map").classList.toggle("picking", name !== "");
    show(byId("map-hint"), name !== "");
    setText(byId("map-hint"), HINTS[name] ?? "");
    this.redraw();
  }

  /** Use the tool at a place. */
  use(place) {
    if (this.tool === "measure") this.measure.add(place);
    if (this.tool === "go") {
      this.send(place);
      this.set("");
    }
    this.redraw();
  }

  /** Send the chosen rover to a place: arms it and enters GUIDED. */
  send({ north, east }) {
    const rover = this.fleet.selected;
    if (!rover || !this.fleet.can("goto")) return;
    this.fleet
      .request("goto", { id: rover.id, north_m: north, east_m: east })
      .then(() => toast(`${rover.name} goes to north ${north.toFixed(1)} m, east ${east.toFixed(1)} m.`))
      .catch(showRefusal);
  }
}
