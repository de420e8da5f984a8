// Topics that clients asked for and that have no route: who asked, since when, and the nearest names. Hidden without any.

import {byId, make, row, setText} from "./dom.js";
import {read} from "./asking.js";
import {timeOf} from "./changes.js";
import {_, N_, count, joined, plural} from "./texts.js";

const READ = 100;
const SHOWN = 8;
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
  byId("missing-rows").replaceChildren(...items.slice(0, SHOWN).map(missingRow));
  const more = found.total - SHOWN;
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
