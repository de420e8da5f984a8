// Topics: found by a part of their names, and those that are asked for and not there.

import {
  N_, _, byId, count, isolated, linked, make, makeList, permission, plural, roleOf, row, seen, setText, whole,
} from "./dom.js";
import {read} from "./asking.js";
import {timeOf} from "./changes.js";

const ROWS = innerWidth < 600 ? 8 : 15;
const WAIT_MS = 150;

let timer = 0;
let asking = null;
let chosen = "";
let broker = ""; // whose topics are listed; empty: all
let list = null;

export function startTopics() {
  byId("find").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(searchAgain, WAIT_MS); });
  byId("of-topics").addEventListener("keydown", onKey);
  byId("topics-all").addEventListener("click", () => { location.hash = "topicsOf="; });
  list = makeList("topics", ROWS, "topic", search);
  search();
}

const links = () => [...byId("topics").querySelectorAll("a")];

// The arrows go from the field through the links, Escape goes back to it, and Enter in it opens the first one.
function onKey(event) {
  const stops = [byId("find"), ...links()];
  const index = stops.indexOf(document.activeElement);
  const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
  const target = event.key === "Escape" ? stops[0] : step && index >= 0 ? stops[index + step] : undefined;
  if (event.key === "Enter" && index === 0) stops[1]?.click();
  if (!target) return;
  event.preventDefault();
  target.focus();
}

function searchAgain() {
  list.at = 0;
  search();
}

async function search() {
  asking?.abort();
  asking = new AbortController();
  try {
    const q = byId("find").value.trim().slice(0, 512);
    const sort = `${list.down ? "-" : ""}${list.column}`;
    const wanted = {limit: ROWS, offset: list.at, sort, ...(q && {q}), ...(broker && {broker})};
    const page = await read("topics", wanted, asking.signal);
    byId("topics").replaceChildren(...page.items.map(topicRow));
    list.count(page.items.length, page.total, plural("%(n)s topic", "%(n)s topics", page.total));
  } catch (error) {
    if (error.name !== "AbortError") setText(byId("topics-count"), _("the name server does not answer"));
  }
}

function topicRow(topic) {
  const link = linked("topic", topic.topic);
  if (topic.topic === chosen) link.setAttribute("aria-current", "true");
  link.dataset.topic = topic.topic;
  const closed = topic.notWritable ? make("div", "state attention", _("%(n)s not writable", {n: count(topic.notWritable)})) : "";
  return row(make("td", "name", link, closed), make("td", "number", count(topic.brokers)), make("td", "number", count(topic.writeQueues)));
}

export function showTopicsOf(name) {
  broker = name;
  byId("find").value = "";
  byId("topics-of").hidden = !broker;
  setText(byId("topics-of-text"), _("Topics of broker %(broker)s", {broker: isolated(broker)}));
  searchAgain();
  seen(byId("of-topics"));
}

const ROUTE_ROWS = 50;

export async function showRoute(topic) {
  chosen = topic;
  for (const link of links()) link.toggleAttribute("aria-current", link.dataset.topic === chosen);
  const route = await read("route", {topic}).catch(() => undefined);
  setText(byId("route-topic"), isolated(topic));
  byId("route-found").hidden = !route;
  byId("route-queues").replaceChildren(...(route?.queues ?? []).slice(0, ROUTE_ROWS).map(queueRow));
  byId("route-notes").replaceChildren(...notesOf(route, topic));
  byId("route").hidden = false;
  seen(byId("route"), "nearest");
}

// Without a route it is null, without an answer undefined.
function notesOf(route, topic) {
  if (route === null) return [make("p", "toned critical", _("%(topic)s has no route.", {topic}))];
  if (route === undefined) return [make("p", "toned critical", _("The route of %(topic)s cannot be read.", {topic}))];
  const more = route.queues.length - ROUTE_ROWS;
  return [
    more > 0 ? _("%(n)s more are in the API.", {n: count(more)}) : "",
    route.orderConfiguration ? _("Order configuration: %(text)s", {text: route.orderConfiguration}) : "",
    route.staticMappings ? _("Static topic with %(n)s mappings.", {n: count(route.staticMappings)}) : "",
  ].filter(Boolean).map((note) => make("p", "quiet", note));
}

function queueRow(queues) {
  const addresses = Object.entries(queues.addresses).map(([id, address]) =>
    make("div", "", make("span", "quiet", roleOf(Number(id))), " ", whole(address)));
  return row(
    make("td", "name", linked("broker", queues.broker)),
    addresses.length ? make("td", "", ...addresses) : make("td", "toned critical", _("not registered")),
    make("td", "number", count(queues.readQueues)),
    make("td", "number", count(queues.writeQueues)),
    make("td", queues.writable ? "" : "toned attention", permission((queues.readable ? 4 : 0) + (queues.writable ? 2 : 0))),
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
  const found = status.missingTopics ? await read("missing", {limit: READ}) : {items: [], total: 0};
  const items = found.items.sort((one, other) => ORDER.indexOf(one.reason) - ORDER.indexOf(other.reason));
  byId("missing").hidden = !items.length;
  byId("missing-rows").replaceChildren(...items.slice(0, MISSING_SHOWN).map(missingRow));
  const more = found.total - MISSING_SHOWN;
  setText(byId("missing-more"), more > 0 ? plural("%(n)s more is in the API.", "%(n)s more are in the API.", more) : "");
}

const parted = (texts, made) => texts.length ? texts.map((text) => make("div", "", made(text))) : ["–"];

function missingRow(one) {
  return row(
    make("td", "name", whole(one.topic, "strong"), make("div", "quiet", _(REASONS[one.reason]))),
    make("td", "", ...(one.nearest === null ? ["…"] : parted(one.nearest, (name) => linked("topic", name)))),
    make("td", "", ...parted(one.peers, (peer) => whole(peer))),
    make("td", "wide", timeOf(one.sinceMs)),
    make("td", "number wide", count(one.lookups)),
  );
}
