// What happened lately, the newest first.

import {byId, make} from "./dom.js";
import {read} from "./asking.js";
import {clock} from "./words.js";

const SHOWN = 20;
let last = 0;

export async function readChanges() {
  const page = await read("events", {limit: SHOWN});
  last = page.items[0]?.seq ?? 0;
  byId("changes").replaceChildren(...page.items.map(item));
  if (!page.items.length) byId("changes").append(make("li", "none", make("span"), "Nothing since the start."));
}

// New changes, the oldest first.
export function onChanges(changes) {
  const fresh = changes.filter((change) => change.seq > last);
  if (!fresh.length) return;
  last = fresh[fresh.length - 1].seq;
  const list = byId("changes");
  list.querySelector(".none")?.remove();
  list.prepend(...fresh.reverse().map(item));
  while (list.children.length > SHOWN) list.lastChild.remove();
}

function item(change) {
  const time = make("time", "", clock(change.at));
  time.dateTime = new Date(change.at).toISOString();
  return make("li", "", time, make("span", change.event, change.text));
}
