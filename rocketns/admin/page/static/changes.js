// What changed lately. The server says it in words, by messages.

import {_, byId, clock, make, spoken} from "./dom.js";
import {read} from "./asking.js";

const SHOWN = innerWidth < 600 ? 10 : 20;
let last = 0;
let late = []; // changes since the list was asked for, the oldest first: its answer may lack them

export async function readChanges() {
  late = [];
  const page = await read("events", {limit: SHOWN});
  last = page.items[0]?.seq ?? 0;
  byId("changes").replaceChildren(...page.items.map(item));
  if (!page.items.length) byId("changes").append(make("li", "none", make("span"), _("Nothing since the start.")));
  onChanges(late);
}

// New changes, the oldest first.
export function onChanges(changes) {
  late = [...late, ...changes].slice(-SHOWN);
  const fresh = changes.filter((change) => change.seq > last);
  if (!fresh.length) return;
  last = fresh[fresh.length - 1].seq;
  const list = byId("changes");
  list.querySelector(".none")?.remove();
  // Pauses that follow each other are one change, which comes again with each.
  if (fresh.some((change) => change.event === "stall" && change.times > 1)) list.querySelector("li:has(> .stall)")?.remove();
  list.prepend(...fresh.reverse().map(item));
  while (list.children.length > SHOWN) list.lastChild.remove();
}

export function timeOf(at) {
  const time = make("time", "", clock(at));
  time.dateTime = new Date(at).toISOString();
  return time;
}

const item = (change) => make("li", "", timeOf(change.at), make("span", change.event, ...spoken(change.said)));
