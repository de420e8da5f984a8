// Brokers: a cell for each with its heartbeats as they come, and a table of those in trouble, or of a chosen state.

import {
  N_, _, age, byId, count, linked, make, makeButton, makeList, plural, roleOf, row, seen, setText, whole,
} from "./dom.js";
import {read} from "./asking.js";

const READ_AT_ONCE = 500;
const BROKERS_MAX = 3000;
const CELLS_MAX = 600;
const BEAT_MS = 300;
const SAME_MS = 10; // a heartbeat may come again: its time is of two clocks, each in whole ms

let brokers = new Map();
let cells = new Map();
let lost = [];
let wiped = new Set();
let masterless = new Set();
let isStarting = false; // then masters may register after their slaves
let skewMs = 0; // of the server's clock against the browser's

const key = (broker) => `${broker.broker}\n${broker.id}`;

const silentMs = (broker) => broker.state === "lost" ? Date.now() + skewMs - broker.at
  : broker.lastHeartbeat === null ? null : Math.max(0, Date.now() + skewMs - broker.lastHeartbeat);

// The worst trouble of a broker, or that it is live.
function stateOf(broker) {
  if (broker.state === "lost" || broker.state === "gone" || broker.state === "unconfirmed") return broker.state;
  if (masterless.has(broker.broker) && !isStarting) return "masterless";
  if (silentMs(broker) > broker.lateMs) return "late";
  return wiped.has(broker.broker) ? "wiped" : "live";
}

export async function readBrokers() {
  const found = [];
  let total = 0;
  do {
    const page = await read("brokers", {limit: READ_AT_ONCE, offset: found.length});
    found.push(...page.items);
    total = page.total;
    if (!page.items.length) break;
  } while (found.length < Math.min(total, BROKERS_MAX));
  brokers = new Map(found.map((broker) => [key(broker), broker]));
  const withMaster = new Set(found.filter((broker) => broker.id === 0).map((broker) => broker.broker));
  const isWhole = found.length === total; // otherwise a master may be among those that were not read
  masterless = new Set(found.map((broker) => broker.broker).filter((name) => isWhole && !withMaster.has(name)));
  showBrokers();
}

// Lost brokers are not in the routes: the status has them.
export function noteStatus(status) {
  skewMs = status.now - Date.now();
  lost = status.lost.map((one) => ({...one, state: "lost"}));
  wiped = new Set(status.wiped);
  isStarting = status.reasons.some((reason) => reason.name === "notReady" && reason.level !== "critical");
}

// Heartbeats of the last seconds: [group, id, time].
export function onBeats(beats) {
  for (const [group, id, time] of beats) {
    const name = key({broker: group, id});
    const [broker, cell] = [brokers.get(name), cells.get(name)];
    if (!broker || time - broker.lastHeartbeat < SAME_MS) continue;
    broker.lastHeartbeat = time;
    if (broker.state === "unconfirmed") broker.state = "live";
    cell?.classList.add("beat");
    setTimeout(() => cell?.classList.remove("beat"), BEAT_MS);
  }
}

// By name and id. A lost broker stays where it was.
export function showBrokers() {
  const members = new Map([...brokers.values(), ...lost].map((broker) => [key(broker), broker]));
  all = [...members.values()].sort((one, other) => compared(one.broker, other.broker) || one.id - other.id)
    .map((broker) => [stateOf(broker), broker]);
  showCells(all.slice(0, CELLS_MAX));
  showTable();
}

function showCells(shown) {
  const names = shown.map(([, broker]) => key(broker));
  if (names.join() !== [...cells.keys()].join()) {
    cells = new Map(names.map((name) => [name, cells.get(name) ?? make("i", "cell")]));
    byId("cells").replaceChildren(...cells.values());
  }
  for (const [state, broker] of shown) {
    const cell = cells.get(key(broker));
    if (cell.dataset.state === state) continue;
    cell.dataset.state = state;
    cell.className = `cell ${state} ${STATES[state][1]}`;
    cell.title = _("%(broker)s (%(role)s)", {broker: broker.broker, role: roleOf(broker.id)});
  }
  byId("cells-text").hidden = all.length === shown.length;
  setText(byId("cells-text"), _("The first %(n)s have a cell.", {n: count(shown.length)}));
}

const ROWS = innerWidth < 600 ? 10 : 25;
// The worst first, with their levels.
const STATES = {
  lost: [N_("lost"), "critical"],
  masterless: [N_("without master"), "critical"],
  gone: [N_("without a live entry"), "critical"],
  unconfirmed: [N_("not confirmed"), "attention"],
  late: [N_("late"), "attention"],
  wiped: [N_("takes no messages"), "attention"],
  live: [N_("live"), "ok"],
};
const ORDER = Object.keys(STATES);

let all = [];
let chosen = ""; // the state whose button is pressed; empty: all that are in trouble
let list = null;

function showTable() {
  const numbers = new Map(ORDER.map((state) => [state, 0]));
  for (const [state] of all) numbers.set(state, numbers.get(state) + 1);
  if (chosen && brokers.size && !numbers.get(chosen)) chosen = ""; // a link may choose before they are read
  showButtons(numbers);
  showRows();
}

function showButtons(numbers) {
  for (const [state, number] of numbers) {
    const button = byId(`state-${state}`);
    button.hidden = !number && state !== "live";
    button.setAttribute("aria-pressed", String(chosen === state));
    setText(button.lastChild, count(number));
  }
}

// All brokers in a state, or with a part of a name.
function choose(state, name = "") {
  [chosen, list.at] = [state, 0];
  byId("brokers-find").value = name;
  showTable();
}

export function showBrokersOf(state, name = "") {
  if (state && !Object.hasOwn(STATES, state)) return;
  choose(state, name);
  seen(byId("of-brokers"));
}

function matching() {
  const wanted = byId("brokers-find").value.trim().toLowerCase();
  const fields = (broker) => [broker.broker, broker.address ?? "", broker.cluster ?? "", broker.zone ?? ""];
  if (wanted) return all.filter(([, broker]) => fields(broker).some((field) => field.toLowerCase().includes(wanted)));
  if (chosen) return all.filter(([state]) => state === chosen);
  const troubled = all.filter(([state]) => state !== "live");
  return troubled.length ? troubled : all;
}

const compared = (one, other) => one < other ? -1 : one > other ? 1 : 0;

// What a column is ordered by. Brokers with the same stand by name.
const KEYS = {
  broker: (_state, broker) => broker.broker,
  state: (state) => ORDER.indexOf(state),
  heard: (_state, broker) => silentMs(broker) ?? Infinity,
  address: (_state, broker) => broker.address ?? "",
  cluster: (_state, broker) => `${broker.cluster ?? ""}/${broker.zone ?? ""}`,
  version: (_state, broker) => broker.version ?? 0,
};

function showRows() {
  const by = KEYS[list.column];
  const found = matching().map(([state, broker]) => [by(state, broker), broker, state])
    .sort(([one], [other]) => list.down ? compared(other, one) : compared(one, other));
  list.at = Math.max(0, Math.min(list.at, Math.floor((found.length - 1) / ROWS) * ROWS));
  const shown = found.slice(list.at, list.at + ROWS);
  byId("brokers").replaceChildren(...shown.map(([, broker, state]) => brokerRow(state, broker)));
  list.count(shown.length, found.length, totalOf(found.length));
}

function totalOf(found) {
  if (found === all.length) return plural("%(n)s broker", "%(n)s brokers", found);
  const values = {n: count(found), all: count(all.length)};
  return found > ROWS ? _("%(n)s (%(all)s brokers in all)", values) : _("%(n)s of %(all)s brokers shown", values);
}

function brokerRow(state, broker) {
  const [text, level] = STATES[state];
  const topics = broker.state !== "lost" && broker.id === 0 ? [" · ", linked("topicsOf", broker.broker, _("topics"))] : [];
  const where = [broker.address, broker.cluster, broker.zone].filter(Boolean).flatMap((one) => [whole(one), " "]);
  return row(
    make("td", "name", whole(broker.broker), make("div", "quiet", roleOf(broker.id), ...topics), make("div", "second quiet", ...where)),
    make("td", `state ${state} ${level}`, _(text), broker.why && broker.state === state ? make("div", "why", _(broker.why)) : ""),
    heardCell(broker),
    make("td", "wide", whole(broker.address ?? "–")),
    make("td", "wide", whole(broker.cluster ?? "–"), broker.zone ? ` / ${broker.zone}` : ""),
    make("td", "wide", broker.versionName ?? "–"),
  );
}

function heardCell(broker) {
  const silent = silentMs(broker);
  if (broker.state === "lost") return make("td", "", _("lost %(age)s ago", {age: age(silent)}));
  if (silent === null) return make("td", "", _("never heard"));
  const ago = whole(_("%(age)s ago", {age: age(silent)}));
  if (!broker.timeoutMs) return make("td", "", ago);
  return make("td", "", ago, make("div", "quiet", _("time-out %(limit)s", {limit: age(broker.timeoutMs)})));
}

export function startTable() {
  for (const [state, [text, level]] of Object.entries(STATES)) {
    const button = makeButton(`chip ${state} ${level}`, () => choose(chosen === state ? "" : state),
      make("span", "", _(text)), " ", make("b"));
    Object.assign(button, {id: `state-${state}`, hidden: true});
    byId("states").append(button);
  }
  byId("brokers-find").addEventListener("input", () => { list.at = 0; showRows(); });
  list = makeList("brokers", ROWS, "state", showRows);
}
