// Brokers: a cell for each with its heartbeats as they come. `brokertable.js` shows some of them in a table.

import {byId, make} from "./dom.js";
import {read} from "./asking.js";
import {showTable} from "./brokertable.js";
import {_, count} from "./texts.js";

const READ_AT_ONCE = 500;
const BROKERS_MAX = 3000;
const CELLS_MAX = 600;
export const LATE = 0.55; // of its time-out, as in the server
const BEAT_MS = 300;

let brokers = new Map();
let byAddress = new Map();
let cells = new Map();
let lost = [];
let wiped = new Set();
let masterless = new Set();
let total = 0;
let skewMs = 0; // of the server's clock against the browser's

const key = (broker) => `${broker.broker}\n${broker.id}`;
const addressKey = (cluster, address) => `${cluster}\n${address}`;

export function setClock(serverMs) {
  skewMs = serverMs - Date.now();
}

export const silentMs = (broker) => broker.state === "lost" ? Date.now() + skewMs - broker.at
  : broker.lastHeartbeat === null ? null : Math.max(0, Date.now() + skewMs - broker.lastHeartbeat);

// The worst trouble of a broker, or that it is live.
export function stateOf(broker) {
  if (broker.state === "lost" || broker.state === "gone" || broker.state === "unconfirmed") return broker.state;
  if (masterless.has(broker.broker)) return "masterless";
  if (silentMs(broker) > broker.timeoutMs * LATE) return "late";
  return wiped.has(broker.broker) ? "wiped" : "live";
}

export async function readBrokers() {
  const found = [];
  do {
    const page = await read("brokers", {limit: READ_AT_ONCE, offset: found.length});
    found.push(...page.items);
    total = page.total;
    if (!page.items.length) break;
  } while (found.length < Math.min(total, BROKERS_MAX));
  brokers = new Map(found.map((broker) => [key(broker), broker]));
  byAddress = new Map();
  for (const broker of found) {
    const place = addressKey(broker.cluster, broker.address);
    byAddress.set(place, [...(byAddress.get(place) ?? []), broker]);
  }
  const withMaster = new Set(found.filter((broker) => broker.id === 0).map((broker) => broker.broker));
  masterless = new Set(found.map((broker) => broker.broker).filter((name) => !withMaster.has(name)));
  if (found.length < total) masterless = new Set(); // the master may be among those that were not read
  makeCells();
  showBrokers();
}

// Lost brokers are not in the routes: the status has them.
export function onTroubles(status) {
  lost = status.lost.map((one) => ({...one, state: "lost"}));
  wiped = new Set(status.wiped);
}

function makeCells() {
  cells = new Map([...brokers].slice(0, CELLS_MAX).map(([name]) => [name, make("i", "cell")]));
  byId("cells").replaceChildren(...cells.values());
}

// Heartbeats: [cluster, address, time].
export function onBeats(beats) {
  for (const [cluster, address, time] of beats) {
    for (const broker of byAddress.get(addressKey(cluster, address)) ?? []) {
      broker.lastHeartbeat = time;
      if (broker.state === "unconfirmed") broker.state = "live";
      flash(cells.get(key(broker)));
    }
  }
}

function flash(cell) {
  if (!cell) return;
  cell.classList.add("beat");
  setTimeout(() => cell.classList.remove("beat"), BEAT_MS);
}

export function showBrokers() {
  const all = [...lost, ...brokers.values()].map((broker) => [stateOf(broker), broker]);
  for (const [state, broker] of all) {
    const cell = cells.get(key(broker));
    if (cell && broker.state !== "lost" && cell.dataset.state !== state) {
      cell.dataset.state = state;
      cell.className = `cell ${state}`;
    }
  }
  byId("cells-text").hidden = total <= cells.size;
  byId("cells-text").textContent = _("The first %(n)s have a cell.", {n: count(cells.size)});
  showTable(all);
}
