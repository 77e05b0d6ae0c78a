/** Puts the page together. */

import { MapInput } from "./map/map_input.js";
import { MapView } from "./map/map_view.js";
import { Fleet } from "./model/fleet.js";
import { Connection } from "./net/connection.js";
import { Charts } from "./ui/charts.js";
import { EventLog } from "./ui/event_log.js";
import { FleetTable } from "./ui/fleet_table.js";
import { OfflineNote } from "./ui/offline.js";
import { RoverPanel } from "./ui/rover_panel.js";
import { RunControls } from "./ui/run_controls.js";
import { Shortcuts } from "./ui/shortcuts.js";
import { Tabs } from "./ui/tabs.js";
import { Theme } from "./ui/theme.js";
import { Timeline } from "./ui/timeline.js";

const url = new URL("ws", document.baseURI);
url.protocol = url.protocol === "https:" ? "wss:" : "ws:";

const theme = new Theme();
const connection = new Connection(url);
const fleet = new Fleet(connection);
const map = new MapView(fleet, theme);
const input = new MapInput(map);
const controls = new RunControls(fleet);
const panel = new RoverPanel(fleet, theme, map.tools);
new FleetTable(fleet, theme);
new Charts(fleet, theme);
new EventLog(fleet);
new OfflineNote(fleet);
new Tabs(fleet);
new Timeline(fleet);
new Shortcuts({ fleet, map, input, controls, panel });

// For the console and for tests; nothing on the page uses it.
window.picoGz = { fleet, map };

connection.open();
