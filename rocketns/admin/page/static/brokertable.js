// The brokers by trouble: a button for each kind with its number, and a table of those in trouble. Those that are well
// are a number that opens.

import {byId, make, row, setText} from "./dom.js";
import {LATE, silentMs, stateOf} from "./brokers.js";
import {whyDoubted, whyGone} from "./sentences.js";
import {_, N_, age, count, plural} from "./texts.js";

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

export function showTable(brokers) {
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
  Object.assign(meter, {min: 0, max: broker.timeoutMs, high: broker.timeoutMs * LATE, optimum: 0,
    value: Math.min(silent, broker.timeoutMs), ariaLabel: _("share of the time-out")});
  return meter;
}

export function startTable() {
  byId("brokers-find").addEventListener("input", () => { at = 0; showRows(); });
  byId("brokers-back").addEventListener("click", () => { at -= ROWS; showRows(); });
  byId("brokers-on").addEventListener("click", () => { at += ROWS; showRows(); });
}
