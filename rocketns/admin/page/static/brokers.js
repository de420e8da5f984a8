// Brokers: a cell for each with its heartbeats as they come, and a table of those in trouble, or of a chosen state.

import {N_, _, age, byId, count, make, plural, row, setText} from "./dom.js";
import {read} from "./asking.js";
import {whyDoubted, whyGone} from "./changes.js";

const READ_AT_ONCE = 500;
const BROKERS_MAX = 3000;
const CELLS_MAX = 600;
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

const silentMs = (broker) => broker.state === "lost" ? Date.now() + skewMs - broker.at
  : broker.lastHeartbeat === null ? null : Math.max(0, Date.now() + skewMs - broker.lastHeartbeat);

// The worst trouble of a broker, or that it is live.
function stateOf(broker) {
  if (broker.state === "lost" || broker.state === "gone" || broker.state === "unconfirmed") return broker.state;
  if (masterless.has(broker.broker)) return "masterless";
  if (silentMs(broker) > broker.lateMs) return "late";
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

const ROWS = innerWidth < 600 ? 10 : 25;
// The worst first.
const STATES = {
  lost: N_("lost"),
  masterless: N_("without master"),
  gone: N_("without a live entry"),
  unconfirmed: N_("not confirmed"),
  late: N_("late"),
  wiped: N_("takes no messages"),
  live: N_("live"),
};
const ORDER = Object.keys(STATES);

let all = [];
let chosen = ""; // the state whose button is pressed; empty: all that are in trouble
let at = 0;

function showTable(brokers) {
  all = brokers;
  const numbers = new Map(ORDER.map((state) => [state, 0]));
  for (const [state] of all) numbers.set(state, numbers.get(state) + 1);
  if (chosen && !numbers.get(chosen)) chosen = "";
  showButtons(numbers);
  showRows();
}

// They are changed and not made again: one may have the focus.
function showButtons(numbers) {
  for (const [state, number] of numbers) {
    const id = `state-${state}`;
    const button = byId(id) ?? made(state, id);
    button.hidden = !number && state !== "live";
    button.setAttribute("aria-pressed", String(chosen === state));
    setText(button.lastChild, count(number));
  }
}

function made(state, id) {
  const button = make("button", `chip ${state}`, make("span", "", _(STATES[state])), " ", make("b"));
  Object.assign(button, {id, type: "button"});
  button.addEventListener("click", () => { chosen = chosen === state ? "" : state; at = 0; showTable(all); });
  byId("states").append(button);
  return button;
}

function matching() {
  const wanted = byId("brokers-find").value.trim().toLowerCase();
  const fields = (broker) => [broker.broker, broker.address ?? "", broker.cluster ?? "", broker.zone ?? ""];
  if (wanted) return all.filter(([, broker]) => fields(broker).some((field) => field.toLowerCase().includes(wanted)));
  if (chosen) return all.filter(([state]) => state === chosen);
  const troubled = all.filter(([state]) => state !== "live");
  return troubled.length ? troubled : all;
}

// By trouble, then by the share of the time-out that is used up.
const urgency = (broker) => broker.timeoutMs ? silentMs(broker) / broker.timeoutMs : 0;

function showRows() {
  const found = matching().map(([state, broker]) => [ORDER.indexOf(state), -urgency(broker), broker])
    .sort((one, other) => one[0] - other[0] || one[1] - other[1]).map(([, , broker]) => broker);
  at = Math.max(0, Math.min(at, Math.floor((found.length - 1) / ROWS) * ROWS));
  const shown = found.slice(at, at + ROWS);
  byId("brokers").replaceChildren(...shown.map(brokerRow));
  const total = plural("%(n)s broker", "%(n)s brokers", found.length);
  setText(byId("brokers-count"), found.length > ROWS
    ? _("%(first)s to %(last)s of %(total)s", {first: count(at + 1), last: count(at + shown.length), total}) : total);
  byId("brokers-back").disabled = at === 0;
  byId("brokers-on").disabled = at + ROWS >= found.length;
  byId("brokers-pager").hidden = found.length <= ROWS;
}

function brokerRow(broker) {
  const state = stateOf(broker);
  const role = broker.id === 0 ? _("master") : _("slave %(id)s", {id: broker.id});
  return row(
    make("td", "name", broker.broker, " ", make("span", "quiet", role)),
    stateCell(broker, state),
    heardCell(broker),
    make("td", "address", broker.address ?? "–"),
    make("td", "cluster", broker.cluster ?? "–", broker.zone ? ` / ${broker.zone}` : ""),
    make("td", "", broker.versionName ?? "–"),
  );
}

function stateCell(broker, state) {
  const why = state === "lost" ? whyGone(broker.cause) : broker.unconfirmed ? whyDoubted(broker.unconfirmed) : "";
  return make("td", `state ${state}`, _(STATES[state]), why ? make("div", "why", why) : "");
}

function heardCell(broker) {
  const silent = silentMs(broker);
  if (broker.state === "lost") return make("td", "", _("lost %(age)s ago", {age: age(silent)}));
  if (silent === null) return make("td", "", _("never heard"));
  if (!broker.timeoutMs) return make("td", "", _("%(age)s ago", {age: age(silent)}));
  return make("td", "", _("%(age)s ago, time-out %(limit)s", {age: age(silent), limit: age(broker.timeoutMs)}),
    bar(silent, broker));
}

function bar(silent, broker) {
  const meter = make("meter", "bar");
  Object.assign(meter, {min: 0, max: broker.timeoutMs, high: broker.lateMs, optimum: 0,
    value: Math.min(silent, broker.timeoutMs), ariaLabel: _("share of the time-out")});
  return meter;
}

export function startTable() {
  byId("brokers-find").addEventListener("input", () => { at = 0; showRows(); });
  byId("brokers-back").addEventListener("click", () => { at -= ROWS; showRows(); });
  byId("brokers-on").addEventListener("click", () => { at += ROWS; showRows(); });
}
