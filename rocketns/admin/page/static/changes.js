// What changed lately, in words.

import {N_, _, age, byId, clock, count, listed, make, member} from "./dom.js";
import {read} from "./asking.js";

const GONE = {
  unregister: N_("it said that it stops"),
  expired: N_("no heartbeat within its time-out"),
  unconfirmed: N_("nobody heard it again"),
  refused: N_("its address refuses connections"),
  channel_close: N_("its connection was closed"),
  channel_exception: N_("its connection failed"),
  channel_idle: N_("its connection was idle"),
  conflict: N_("another address has its id now"),
  register: N_("the address registered under another id"),
  observed: N_("it was not there when somebody looked"),
};
const DOUBTED = {
  restored: N_("known from the journal only"),
  seeded: N_("known from another name server only"),
  silent_together: N_("many brokers are silent at once"),
  stalled: N_("its connection ended while this server did not run"),
};

export const whyGone = (cause) => GONE[cause] ? _(GONE[cause]) : cause;
export const whyDoubted = (cause) => DOUBTED[cause] ? _(DOUBTED[cause]) : cause;

function who(change) {
  const {address, cluster, broker, id} = change;
  if (broker === null) return _("a broker of %(cluster)s at %(address)s", {cluster, address});
  return _("%(broker)s at %(address)s", {broker: id === null ? broker : member(broker, id), address});
}

const topics = (change) => listed(change.names, (change.count ?? 0) - change.names.length);

const SENTENCES = {
  reg: (change) => _("%(who)s registered", {who: who(change)}),
  back: (change) => _("%(who)s is back: it sent a sign of life", {who: who(change)}),
  down: (change) => change.ms === null ? _("%(who)s is gone: %(why)s", {who: who(change), why: whyGone(change.cause)})
    : _("%(who)s is gone: %(why)s (last heard %(age)s before)",
      {who: who(change), why: whyGone(change.cause), age: age(change.ms)}),
  doubt: (change) => _("%(who)s is not confirmed: %(why)s", {who: who(change), why: whyDoubted(change.cause)}),
  tput: (change) => _("%(broker)s has topics %(topics)s", {broker: change.broker, topics: topics(change)}),
  tdel: (change) => _("%(broker)s no longer has topics %(topics)s", {broker: change.broker, topics: topics(change)}),
  map: (change) => _("%(broker)s has queue mappings of %(topics)s", {broker: change.broker, topics: topics(change)}),
  kv: (change) => change.detail === null ? _("KV item %(names)s was deleted", {names: change.names.join(" ")})
    : _("KV item %(names)s is %(value)s", {names: change.names.join(" "), value: change.detail}),
  config: (change) => change.detail === null ? _("property %(name)s is set", {name: change.names[0]})
    : _("property %(name)s is %(value)s", {name: change.names[0], value: change.detail}),
  stall: (change) => change.count > 1
    ? _("this name server did not run for %(age)s, the longest of %(n)s pauses", {age: age(change.ms), n: count(change.count)})
    : _("this name server did not run for %(age)s", {age: age(change.ms)}),
  admin: (change) => asked(change, change.detail === "done" ? N_("%(who)s sent %(request)s: done")
    : N_("%(who)s sent %(request)s: it failed with code %(code)s"), {code: change.detail?.match(/-?\d+/)?.[0]}),
  refused: (change) => asked(change, change.detail === "was refused"
    ? N_("%(who)s was refused %(request)s: %(cause)s (requests: %(n)s)")
    : N_("%(who)s would be refused %(request)s: %(cause)s (requests: %(n)s)"),
  {cause: change.cause, n: count(change.count ?? 0)}),
  conflict: (change) => _("%(who)s was refused: %(holder)s has its id", {who: who(change), holder: change.detail}),
  unregistered: (change) => _("%(who)s was refused: it is not registered", {who: who(change)}),
};

function asked(change, message, values) {
  const [request, by] = change.names;
  const sender = by === undefined ? change.address
    : _("%(address)s as %(principal)s", {address: change.address, principal: by});
  return _(message, {who: sender, request, ...values});
}

const sentence = (change) => SENTENCES[change.event]?.(change) ?? change.text;

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
  if (fresh.some((change) => change.event === "stall" && change.count > 1)) list.querySelector("li:has(> .stall)")?.remove();
  list.prepend(...fresh.reverse().map(item));
  while (list.children.length > SHOWN) list.lastChild.remove();
}

export function timeOf(at) {
  const time = make("time", "", clock(at));
  time.dateTime = new Date(at).toISOString();
  return time;
}

const item = (change) => make("li", "", timeOf(change.at), make("span", change.event, sentence(change)));
