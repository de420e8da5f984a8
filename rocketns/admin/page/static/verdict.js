// The top of the page: whether all is well, and each trouble in a sentence, the worst first.

import {byId, isolated, make, setText} from "./dom.js";
import {_, N_, count, listed, plural} from "./texts.js";

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
