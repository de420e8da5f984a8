// Topics: found by a part of their names, and those that are asked for and not there.

import {N_, _, byId, count, isolated, joined, make, plural, row, setText} from "./dom.js";
import {read} from "./asking.js";
import {timeOf} from "./changes.js";

const SHOWN = 8;
const ALLOWED = [N_("neither read nor write"), N_("read only"), N_("write only"), N_("read and write")];
const WAIT_MS = 150;

let timer = 0;
let asking = null;
let chosen = "";

export function startTopics() {
  const find = byId("find");
  find.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, WAIT_MS); });
  find.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") move(event, buttons()[0]);
    if (event.key === "Enter") buttons()[0]?.click();
  });
  byId("topics").addEventListener("keydown", onKey);
  addEventListener("hashchange", openLinked);
  openLinked();
  search();
}

const buttons = () => [...byId("topics").querySelectorAll("button")];

function move(event, target) {
  if (!target) return;
  event.preventDefault();
  target.focus();
}

function onKey(event) {
  const all = buttons();
  const place = all.indexOf(document.activeElement);
  if (event.key === "ArrowDown") move(event, all[place + 1]);
  if (event.key === "ArrowUp") move(event, place > 0 ? all[place - 1] : byId("find"));
  if (event.key === "Escape") move(event, byId("find"));
}

async function search() {
  asking?.abort();
  asking = new AbortController();
  try {
    const q = byId("find").value.trim();
    const page = await read("topics", {limit: SHOWN, ...(q ? {q: q.slice(0, 512)} : {})}, asking.signal);
    byId("topics").replaceChildren(...page.items.map(topicItem));
    const total = plural("%(n)s topic", "%(n)s topics", page.total);
    const shown = count(page.items.length);
    setText(byId("topics-count"), page.total > page.items.length ? _("%(total)s, the first %(shown)s are shown", {total, shown})
      : total);
  } catch (error) {
    if (error.name !== "AbortError") setText(byId("topics-count"), _("the name server does not answer"));
  }
}

function topicItem(topic) {
  const facts = joined([
    plural("%(n)s group", "%(n)s groups", topic.brokers), plural("%(n)s queue", "%(n)s queues", topic.writeQueues),
    ...(topic.notWritable ? [_("%(n)s not writable", {n: count(topic.notWritable)})] : []),
  ]);
  const button = make("button", "", make("span", "", topic.topic), make("span", "quiet", facts));
  button.type = "button";
  button.setAttribute("aria-current", String(topic.topic === chosen));
  button.dataset.topic = topic.topic;
  button.addEventListener("click", () => { location.hash = `topic=${encodeURIComponent(topic.topic)}`; });
  return make("li", "", button);
}

async function openLinked() {
  if (!location.hash.startsWith("#topic=")) return;
  chosen = decoded(location.hash.slice("#topic=".length));
  for (const button of buttons()) button.setAttribute("aria-current", String(button.dataset.topic === chosen));
  const place = byId("route");
  try {
    const route = await read("route", {topic: chosen});
    place.replaceChildren(...(route === null ? [make("p", "critical-text", _("%(topic)s has no route.", {topic: chosen}))] : routeOf(route)));
  } catch {
    place.replaceChildren(make("p", "critical-text", _("The route of %(topic)s cannot be read.", {topic: chosen})));
  }
}

// A link that somebody typed may have a % that encodes nothing: then it is a part of the name.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const ROUTE_ROWS = 50;
const HEADS = [
  [N_("Group"), ""], [N_("Addresses"), ""], [N_("Read"), "number"], [N_("Write"), "number"], [N_("Permission"), ""],
];

function routeOf(route) {
  const head = row(...HEADS.map(([name, kind]) => {
    const cell = make("th", kind, _(name));
    cell.scope = "col";
    return cell;
  }));
  const table = make("table", "", make("thead", "", head),
    make("tbody", "", ...route.queues.slice(0, ROUTE_ROWS).map(queueRow)));
  const scroll = make("div", "scroll", table);
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", _("Route of %(topic)s", {topic: isolated(route.topic)}));
  const more = route.queues.length - ROUTE_ROWS;
  const notes = [
    more > 0 ? _("%(n)s more are in the API.", {n: count(more)}) : "",
    route.orderConfiguration ? _("Order configuration: %(text)s", {text: route.orderConfiguration}) : "",
    route.staticMappings ? _("Static topic with %(n)s mappings.", {n: count(route.staticMappings)}) : "",
  ].filter(Boolean);
  return [make("h3", "", route.topic), scroll, ...notes.map((note) => make("p", "quiet", note))];
}

function queueRow(queues) {
  const addresses = Object.entries(queues.addresses).map(([id, address]) => make("div", "", `${id}: ${address}`));
  const allowed = _(ALLOWED[(queues.readable ? 1 : 0) + (queues.writable ? 2 : 0)]);
  return row(
    make("td", "name", queues.broker),
    addresses.length ? make("td", "address", ...addresses) : make("td", "critical-text", _("not registered")),
    make("td", "number", count(queues.readQueues)),
    make("td", "number", count(queues.writeQueues)),
    make("td", queues.writable ? "" : "attention-text", allowed),
  );
}

const READ = 100;
const MISSING_SHOWN = 8;
const REASONS = {
  absent: N_("no broker has it, and none creates it"),
  brokersGone: N_("its brokers are not registered any more"),
  notAName: N_("no topic can have this name"),
  created: N_("its first message creates it"),
  noBrokers: N_("no broker is registered here"),
  group: N_("brokers make it for a consumer group"),
  system: N_("a topic of RocketMQ itself"),
};
const ORDER = Object.keys(REASONS); // the real faults first

export async function readMissing(status) {
  byId("missing").hidden = !status.missingTopics;
  if (!status.missingTopics) return;
  const found = await read("missing", {limit: READ});
  const items = found.items.sort((one, other) => ORDER.indexOf(one.reason) - ORDER.indexOf(other.reason));
  byId("missing").hidden = !items.length;
  byId("missing-rows").replaceChildren(...items.slice(0, MISSING_SHOWN).map(missingRow));
  const more = found.total - MISSING_SHOWN;
  setText(byId("missing-more"), more > 0 ? plural("%(n)s more is in the API.", "%(n)s more are in the API.", more) : "");
}

function missingRow(one) {
  return row(
    make("td", "name", make("strong", "", one.topic), make("div", "quiet", _(REASONS[one.reason]))),
    make("td", "near", one.nearest === null ? "…" : joined(one.nearest) || "–"),
    make("td", "address", joined(one.peers) || "–"),
    make("td", "", timeOf(one.sinceMs)),
    make("td", "number", count(one.lookups)),
  );
}
