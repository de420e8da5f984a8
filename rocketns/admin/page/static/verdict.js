// Whether all is well, and the figures of the name server.

import {N_, _, age, byId, count, isolated, listed, make, plural, setText} from "./dom.js";

const WORDS = {ok: N_("All is well"), attention: N_("Needs attention"), critical: N_("Something is wrong")};

export function showVerdict(status) {
  setText(byId("name"), isolated(status.name));
  setText(byId("version"), status.version);
  byId("verdict").className = `verdict ${status.level}`;
  setText(byId("verdict-title"), _(WORDS[status.level]));
  document.title = `${status.level === "ok" ? "" : "⚠ "}${isolated(status.name)} · rocketns`;
  const shown = JSON.stringify(status.reasons);
  if (shown === byId("reasons").dataset.shown) return;
  byId("reasons").dataset.shown = shown;
  byId("reasons").replaceChildren(...status.reasons.map(trouble));
}

function trouble(reason) {
  const message = reason.many !== null && reason.n !== 1 ? reason.many : reason.message;
  const values = {names: listed(reason.names, reason.more), n: count(reason.n ?? 0)};
  const item = make("li", reason.level, make("span", "", _(message, values)));
  item.dataset.name = reason.name;
  if (reason.name === "disagreeBroker" && reason.n) item.append(" ", make("span", "follows", following(reason.n)));
  if (reason.detail) item.append(" ", make("code", "", _(reason.detail)));
  return item;
}

export const following = (n) => plural("%(n)s topic differs only because of it", "%(n)s topics differ only because of it", n);

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
