// The numbers. Those of the same thing stand in one field.

import {byId, make} from "./dom.js";
import {_, age, count, plural} from "./texts.js";

let before = null;

export function showFigures(status) {
  const fields = [
    [_("Brokers"), count(status.brokers), status.brokers ? "" : "critical", [
      plural("%(n)s group", "%(n)s groups", status.groups), plural("%(n)s cluster", "%(n)s clusters", status.clusters),
    ]],
    [_("Topics"), count(status.topics), "", status.missingTopics ? [_("%(n)s not found", {n: count(status.missingTopics)})] : []],
    [_("Lookups per second"), perSecond(status, "lookups"), "",
      [_("%(n)s without a route", {n: perSecond(status, "lookupsMissed")})]],
    [_("Registrations per second"), perSecond(status, "registrations"), "",
      [plural("%(n)s request waits", "%(n)s requests wait", status.waitingRequests)]],
    [_("Connections"), count(status.connections), "", []],
    [_("Running for"), age(status.now - status.started), "", []],
  ];
  byId("figures").replaceChildren(...fields.map(([name, value, level, more]) =>
    make("div", level, make("dt", "", name), make("dd", "", value), ...more.map((text) => make("dd", "more", text)))));
  before = status;
}

function perSecond(status, name) {
  const ms = before === null ? 0 : status.now - before.now;
  return ms > 0 ? count(Math.round((status[name] - before[name]) * 1000 / ms)) : "–";
}
