// The name servers side by side, and what they disagree about: causes, and what truly differs. Hidden without peers.

import {byId, make, row} from "./dom.js";
import {read} from "./asking.js";
import {timeOf} from "./changes.js";
import {followers, groupsOf, memberName, OWN} from "./differing.js";
import {_, count} from "./texts.js";

const READ = 50;

export async function readFleet() {
  const servers = await read("nameservers", {limit: 100});
  byId("fleet").hidden = servers.items.length < 2;
  if (byId("fleet").hidden) return;
  const found = await read("disagreements", {limit: READ, follows: "", sort: "kind"});
  servers.items.sort((one, other) => (other.address === OWN) - (one.address === OWN));
  byId("servers").replaceChildren(...servers.items.map(server));
  place(found.total > 0 || servers.items.some((one) => one.error));
  show(found);
}

// What needs attention stands before what is well.
function place(troubled) {
  const fleet = byId("fleet");
  if (fleet.dataset.troubled === String(troubled) || fleet.contains(document.activeElement)) return;
  fleet.dataset.troubled = String(troubled);
  if (troubled) byId("columns").before(fleet); else byId("columns").after(fleet);
}

// The list is made again only if it changed: somebody may read in it.
function show(found) {
  const shown = JSON.stringify(found);
  if (byId("differ").dataset.shown === shown) return;
  byId("differ").dataset.shown = shown;
  const open = new Set([...byId("differ").querySelectorAll("details[open]")].map((one) => one.dataset.of));
  const groups = groupsOf(found.items);
  byId("differ").replaceChildren(...groups.map((group) => disagreement(group, open)));
  const more = found.total - found.items.length;
  if (more > 0) byId("differ").append(make("li", "", make("span"), _("%(n)s more are in the API.", {n: count(more)})));
}

const number = (value) => make("td", "number", value === null ? "–" : count(value));

function server(one) {
  const differs = one.differingBrokers + one.differingTopics;
  const state = one.error ? make("td", "state gone", _("cannot be read"), " ", make("code", "", one.error))
    : make("td", differs ? "state late" : "state live", differs ? _("says otherwise") : _("the same"));
  return row(make("td", "name", memberName(one.address)), state, number(one.brokerGroups), number(one.topics),
    number(one.differingBrokers), number(one.error ? null : one.differingTopics - one.followingTopics),
    number(one.error ? null : one.followingTopics));
}

function disagreement({title, sides, one, alike}, open) {
  const parts = [make("strong", "", title), sides];
  if (one.kind === "broker" && one.topics) parts.push(followers(one.name, one.topics, open));
  if (alike) parts.push(alike);
  return make("li", "", timeOf(one.since), make("div", "", ...parts));
}
