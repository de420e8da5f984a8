// Brokers: a cell for each with its heartbeats as they come, and a table of some, the longest silent first.

import {byId, make, row, setText} from "./dom.js";
import {read} from "./asking.js";
import {age, plural} from "./words.js";

const READ_AT_ONCE = 500;
const BROKERS_MAX = 3000;
const CELLS_MAX = 600;
const ROWS = innerWidth < 600 ? 10 : 25;
const LATE = 0.55; // of its time-out, as in the server
const BEAT_MS = 300;

let brokers = new Map();
let byAddress = new Map();
let cells = new Map();
let total = 0;
let at = 0;
let skewMs = 0; // of the server's clock against the browser's

const key = (broker) => `${broker.broker}\n${broker.id}`;
const addressKey = (cluster, address) => `${cluster}\n${address}`;

export function setClock(serverMs) {
  skewMs = serverMs - Date.now();
}

const silentMs = (broker) => broker.lastHeartbeat === null ? null : Math.max(0, Date.now() + skewMs - broker.lastHeartbeat);

function stateOf(broker) {
  if (broker.state === "gone" || broker.state === "unconfirmed") return broker.state;
  return silentMs(broker) > broker.timeoutMs * LATE ? "late" : "live";
}

// The share of its time-out that is used up; those without a sign of life come first.
const urgency = (broker) => {
  const state = stateOf(broker);
  return state === "gone" ? 9 : state === "unconfirmed" ? 8 : silentMs(broker) / broker.timeoutMs;
};

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
  makeCells();
  showBrokers();
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
  const states = {live: 0, late: 0, unconfirmed: 0, gone: 0};
  for (const [name, broker] of brokers) {
    const state = stateOf(broker);
    states[state] += 1;
    const cell = cells.get(name);
    if (cell && cell.dataset.state !== state) {
      cell.dataset.state = state;
      cell.className = `cell ${state}`;
    }
  }
  const more = total > cells.size ? ` The first ${cells.size} have a cell.` : "";
  setText(byId("cells-text"), `${plural(states.live, "broker", "brokers")} live, ${states.late} late, ` +
    `${states.unconfirmed} unconfirmed, ${states.gone} without a live entry.${more}`);
  showTable();
}

function chosen() {
  const wanted = byId("brokers-find").value.trim().toLowerCase();
  const fields = (broker) => [broker.broker, broker.address, broker.cluster ?? "", broker.zone ?? ""];
  return [...brokers.values()]
    .filter((broker) => !wanted || fields(broker).some((field) => field.toLowerCase().includes(wanted)))
    .map((broker) => [urgency(broker), broker])
    .sort((one, other) => other[0] - one[0])
    .map(([, broker]) => broker);
}

function showTable() {
  const found = chosen();
  at = Math.max(0, Math.min(at, Math.floor((found.length - 1) / ROWS) * ROWS));
  const shown = found.slice(at, at + ROWS);
  byId("brokers").replaceChildren(...shown.map(brokerRow));
  const range = found.length > ROWS ? `${at + 1} to ${at + shown.length} of ` : "";
  setText(byId("brokers-count"), `${range}${plural(found.length, "broker", "brokers")}`);
  byId("brokers-back").disabled = at === 0;
  byId("brokers-on").disabled = at + ROWS >= found.length;
}

function brokerRow(broker) {
  const state = stateOf(broker);
  const silent = silentMs(broker);
  const heard = make("td", "", silent === null ? "never heard" : `${age(silent)} ago`);
  if (broker.timeoutMs) heard.append(` of ${age(broker.timeoutMs)}`, bar(silent ?? broker.timeoutMs, broker));
  const role = broker.role === "master" ? "master" : `slave ${broker.id}`;
  return row(
    make("td", "name", broker.broker, " ", make("span", "quiet", role)),
    make("td", `state ${state}`, broker.unconfirmed ? `${state}: ${broker.unconfirmed}` : state),
    heard,
    make("td", "", broker.address),
    make("td", "", broker.cluster ?? "–", broker.zone ? ` / ${broker.zone}` : ""),
    make("td", "", broker.versionName ?? "–"),
  );
}

function bar(silent, broker) {
  const meter = make("meter", "bar");
  Object.assign(meter, {min: 0, max: broker.timeoutMs, high: broker.timeoutMs * LATE, optimum: 0,
    value: Math.min(silent, broker.timeoutMs), ariaLabel: "share of the time-out"});
  return meter;
}

export function startBrokers() {
  byId("brokers-find").addEventListener("input", () => { at = 0; showTable(); });
  byId("brokers-back").addEventListener("click", () => { at -= ROWS; showTable(); });
  byId("brokers-on").addEventListener("click", () => { at += ROWS; showTable(); });
}
