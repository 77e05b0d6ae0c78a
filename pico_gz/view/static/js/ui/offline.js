/** What the page says while there is no run behind it. */

import { byId, setText, show } from "./dom.js";

const LOST = "The run has ended, or the connection is lost.\nTrying again…";
const REFUSED = "This page may not look at the run any more.\nOpen the address that the run printed.";

export class OfflineNote {
  /** @param {import("../model/fleet.js").Fleet} fleet */
  constructor(fleet) {
    fleet.addEventListener("online", async () => {
      const note = byId("offline");
      show(note, !fleet.online);
      if (!fleet.online) setText(note, LOST);
    });
    fleet.connection.addEventListener("closed", () => this.#askWhy(fleet));
  }

  /** A new run has a new token: then trying again is of no use without its address. */
  async #askWhy(fleet) {
    try {
      const { status } = await fetch("api/state", { cache: "no-store" });
      if (!fleet.online) setText(byId("offline"), status === 403 ? REFUSED : LOST);
    } catch {
      // No answer: LOST says so already.
    }
  }
}
