// The name servers of the fleet side by side, and what they disagree about. Hidden where there are no peers.

import {byId, make, row} from "./dom.js";
import {read} from "./asking.js";
import {clock, count} from "./words.js";

const SHOWN = 20;
const OWN = "this name server";

export async function readFleet() {
  const servers = await read("nameservers", {limit: 100});
  byId("fleet").hidden = servers.items.length < 2;
  if (byId("fleet").hidden) return;
  const found = await read("disagreements", {limit: SHOWN});
  servers.items.sort((one, other) => (other.address === OWN) - (one.address === OWN));
  byId("servers").replaceChildren(...servers.items.map(server));
  byId("differ").replaceChildren(...found.items.map(disagreement));
  if (found.total > found.items.length) {
    byId("differ").append(make("li", "", make("span"), `and ${count(found.total - found.items.length)} more`));
  }
}

const number = (value) => make("td", "number", value === null ? "–" : count(value));

function server(one) {
  const differs = one.differingBrokers + one.differingTopics;
  const state = one.error ? make("td", "state gone", one.error)
    : make("td", differs ? "state late" : "state live", differs ? "says otherwise" : "the same");
  return row(make("td", "name", one.address), state, number(one.brokerGroups), number(one.topics),
    number(one.differingBrokers), number(one.differingTopics));
}

function disagreement(one) {
  const time = make("time", "", clock(one.since));
  time.dateTime = new Date(one.since).toISOString();
  const says = Object.entries(one.says).map(([address, value]) => make("li", "", `${address}: ${value}`));
  return make("li", "", time, make("div", "", make("strong", "", `${one.kind} ${one.name}`), make("ul", "", ...says)));
}
