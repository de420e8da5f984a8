// The top of the page: whether all is well, why not, and the numbers.

import {byId, isolated, make, setText} from "./dom.js";
import {age, count} from "./words.js";

const WORDS = {ok: "All is well", attention: "Needs attention", critical: "Something is wrong"};
let before = null;

export function showStatus(status) {
  setText(byId("name"), isolated(status.name));
  setText(byId("version"), status.version);
  byId("verdict").className = `verdict ${status.level}`;
  setText(byId("verdict-title"), WORDS[status.level]);
  document.title = `${status.level === "ok" ? "" : "⚠ "}${isolated(status.name)} · rocketns`;
  const reasons = status.reasons.map((reason) => reason.text);
  if (reasons.join("\n") !== byId("reasons").dataset.shown) {
    byId("reasons").dataset.shown = reasons.join("\n");
    byId("reasons").replaceChildren(...reasons.map((text) => make("li", "", text)));
  }
  showFigures(status);
  before = status;
}

function perSecond(status, name) {
  const ms = before === null ? 0 : status.now - before.now;
  return ms > 0 ? count(Math.round((status[name] - before[name]) * 1000 / ms)) : "–";
}

function showFigures(status) {
  const figures = [
    ["brokers", count(status.brokers), status.brokers ? "" : "critical"],
    ["late", count(status.late), status.late ? "attention" : ""],
    ["unconfirmed", count(status.unconfirmed), status.unconfirmed ? "attention" : ""],
    ["without master", count(status.masterless), status.masterless ? "critical" : ""],
    ["clusters", count(status.clusters), ""],
    ["broker groups", count(status.groups), ""],
    ["topics", count(status.topics), ""],
    ["connections", count(status.connections), ""],
    ["lookups / s", perSecond(status, "lookups"), ""],
    ["registrations / s", perSecond(status, "registrations"), ""],
    ["requests waiting", count(status.waitingRequests), ""],
    ["running for", age(status.now - status.started), ""],
  ];
  byId("figures").replaceChildren(...figures.map(([name, value, level]) =>
    make("div", level, make("dt", "", name), make("dd", "", value))));
}
