// The name servers of the fleet, and what they disagree about.

import {N_, _, byId, count, joined, make, permission, plural, roleOf, row, showChanged, whole} from "./dom.js";
import {read} from "./asking.js";
import {timeOf} from "./changes.js";
import {following} from "./verdict.js";

const OWN = "this name server"; // its address in the API
const MISSING = "missing"; // what a side says that lacks the thing
const NOT_READ = "not read yet"; // the error of one whose first reading has not ended

const FOLLOWERS_READ = 200;
const NAMES_SHOWN = 50;
const TITLES = {
  broker: N_("Broker %(name)s: %(parts)s"),
  topic: N_("Topic %(name)s: %(parts)s"),
  "order configuration": N_("Order configuration of %(name)s: %(parts)s"),
};
const PARTS = {
  missing: N_("not everywhere"),
  brokers: N_("its brokers differ"),
  cluster: N_("the cluster differs"),
  addresses: N_("the addresses differ"),
  permission: N_("the permission differs"),
  queues: N_("the number of queues differs"),
  flags: N_("the flags differ"),
  unread: N_("being compared"),
};

const memberName = (address) => address === OWN ? _("this name server") : address;

// Topics that differ in exactly the same way are one entry.
function groupsOf(items) {
  const groups = new Map();
  for (const one of items) {
    const key = one.kind === "topic" ? JSON.stringify([one.parts, one.sides]) : `${one.kind} ${one.name}`;
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return [...groups.values()];
}

function sidesOf(one) {
  return make("ul", "", ...one.sides.map((side) => {
    const members = joined(side.members.map(memberName));
    return make("li", "", _("%(members)s: %(says)s", {members, says: says(one, side)}));
  }));
}

function says(one, side) {
  if (side.says === MISSING) return _("not there");
  if (one.kind === "broker") return ofBroker(one, side);
  if (one.kind !== "topic") return side.says;
  if (!side.queues.length) return _("its queues are not read yet");
  return joined(side.queues.map((queues) => ofQueues(one.parts, queues)));
}

function ofBroker(one, side) {
  const addresses = joined(Object.entries(side.addresses).map(([id, address]) => _("%(role)s at %(address)s", {role: roleOf(Number(id)), address})));
  return addresses && one.parts.includes("cluster") && side.cluster !== null
    ? _("%(addresses)s in cluster %(cluster)s", {addresses, cluster: side.cluster}) : addresses || side.says;
}

function ofQueues(parts, {broker, readQueues, writeQueues, permission: bits}) {
  if (bits === null) return _("no queues on %(broker)s", {broker});
  const values = {broker, read: count(readQueues), write: count(writeQueues), permission: permission(bits)};
  if (parts.includes("queues") || !parts.includes("permission")) {
    return _("%(read)s read and %(write)s write queues on %(broker)s, permission: %(permission)s", values);
  }
  return _("on %(broker)s: %(permission)s", values);
}

// One number that opens: the topics that differ only because a broker is missing somewhere.
function followers(broker, n, open) {
  const details = make("details", "", make("summary", "", following(n)));
  details.dataset.of = broker;
  details.addEventListener("toggle", async () => {
    if (!details.open || details.childElementCount > 1) return;
    const note = make("p", "quiet", _("reading …"));
    details.append(note);
    const found = await read("disagreements", {kind: "topic", follows: broker, limit: FOLLOWERS_READ, sort: "name"}).catch(() => null);
    note.replaceWith(found === null ? make("p", "quiet", _("the name server does not answer")) :
      nameList(found.items.map((one) => one.name), n));
  });
  details.open = open.get(broker) ?? false;
  return details;
}

function nameList(some, total) {
  const list = make("ul", "names", ...some.slice(0, NAMES_SHOWN).map((name) => make("li", "", name)));
  const more = total - Math.min(some.length, NAMES_SHOWN);
  if (more > 0) list.append(make("li", "quiet", _("and %(n)s more", {n: count(more)})));
  return list;
}

const READ = 50;

export async function readFleet() {
  const servers = await read("nameservers", {limit: 100});
  byId("fleet").hidden = servers.items.length < 2;
  if (byId("fleet").hidden) return;
  const found = await read("disagreements", {limit: READ, follows: "", sort: "kind"});
  servers.items.sort((one, other) => (other.address === OWN) - (one.address === OWN));
  byId("servers").replaceChildren(...servers.items.map(server));
  moveFleet(found.total > 0 || servers.items.some((one) => one.error && one.error !== NOT_READ));
  const more = found.total - found.items.length;
  showChanged(byId("differ"), found, (open) => [
    ...groupsOf(found.items).map((group) => disagreement(group, open)),
    ...(more > 0 ? [make("li", "", make("span"), _("%(n)s more are in the API.", {n: count(more)}))] : []),
  ]);
}

// What needs attention stands before what is well.
function moveFleet(troubled) {
  const fleet = byId("fleet");
  if (fleet.dataset.troubled === String(troubled) || fleet.contains(document.activeElement)) return;
  fleet.dataset.troubled = String(troubled);
  if (troubled) byId("columns").before(fleet); else byId("columns").after(fleet);
}

const number = (value, more = "") => make("td", `number ${more}`, value === null ? "–" : count(value));

function server(one) {
  const differs = one.differingBrokers + one.differingTopics;
  const state = one.error === NOT_READ ? make("td", "quiet", _("being compared"))
    : one.error ? make("td", "state critical", _("cannot be read"), " ", make("code", "wide", one.error))
    : make("td", differs ? "state attention" : "state ok", differs ? _("says otherwise") : _("the same"));
  return row(make("td", "name", whole(memberName(one.address))), state, number(one.brokerGroups, "wide"), number(one.topics, "wide"),
    number(one.error ? null : one.differingBrokers), number(one.error ? null : one.differingTopics - one.followingTopics),
    number(one.error ? null : one.followingTopics, "wide"));
}

function disagreement([one, ...others], open) {
  const differ = joined((one.parts.length ? one.parts : ["unread"]).map((part) => _(PARTS[part])));
  const parts = [make("strong", "", _(TITLES[one.kind], {name: one.name, parts: differ})), sidesOf(one)];
  if (one.kind === "broker" && one.topics) parts.push(followers(one.name, one.topics, open));
  const more = Math.max(others.length, one.kind === "topic" ? one.topics - 1 : 0);
  if (more > 0) {
    const summary = plural("%(n)s more topic differs in the same way", "%(n)s more topics differ in the same way", more);
    parts.push(make("details", "", make("summary", "", summary), nameList(others.map((other) => other.name), more)));
  }
  return make("li", "", timeOf(one.since), make("div", "", ...parts));
}
