// Whether all is well, and if not, what to do first.

import {N_, _, byId, count, isolated, linked, listedWhole, make, member, phrase, plural, setText} from "./dom.js";

const WORDS = {ok: N_("All is well"), attention: N_("Needs attention"), critical: N_("Something is wrong")};
const OPEN = innerWidth < 600 ? 1 : 3; // remedies that are open at first
const COPIED_MS = 3000;

// Where the rows of a trouble are, in this page.
const ROWS = {
  lost: ["state", "lost"], noMaster: ["state", "masterless"], late: ["state", "late"], gone: ["state", "gone"],
  unconfirmed: ["state", "unconfirmed"], wiped: ["state", "wiped"], missing: ["section", "missing"],
  disagreeBroker: ["section", "fleet"], disagreeTopic: ["section", "fleet"], disagreeOrder: ["section", "fleet"],
  unreadable: ["section", "fleet"], stall: ["section", "happened"], overloaded: ["section", "happened"],
};

export function showVerdict(status) {
  setText(byId("name"), isolated(status.name));
  setText(byId("version"), status.version);
  byId("verdict").className = `verdict ${status.level}`;
  setText(byId("verdict-title"), _(WORDS[status.level]));
  document.title = `${status.level === "ok" ? "" : "⚠ "}${isolated(status.name)} · rocketns`;
  const shown = JSON.stringify(status.reasons);
  if (shown === byId("reasons").dataset.shown) return;
  byId("reasons").dataset.shown = shown;
  const before = new Map([...byId("reasons").children].map((one) => [one.dataset.name, one.querySelector("details")?.open]));
  byId("reasons").replaceChildren(...status.reasons.map((reason, place) => trouble(reason, before.get(reason.name) ?? place < OPEN)));
}

function trouble(reason, open) {
  const message = reason.many !== null && reason.n !== 1 ? reason.many : reason.message;
  const names = reason.ids.length ? reason.names.map((name, place) => member(name, reason.ids[place])) : reason.names;
  const values = {names: listedWhole(names, reason.more), n: count(reason.n ?? 0)};
  const item = make("li", reason.level, make("span", "says", ...phrase(message, values)));
  item.dataset.name = reason.name;
  if (reason.detail) item.append(" ", make("code", "", _(reason.detail)));
  if (ROWS[reason.name]) item.append(" ", linked(...ROWS[reason.name], _("Show")));
  if (reason.name === "disagreeBroker" && reason.n) item.append(" ", make("span", "follows", following(reason.n)));
  if (reason.remedy) item.append(remedy(reason, open));
  return item;
}

function remedy(reason, open) {
  const details = make("details", "remedy", make("summary", "", make("b", "", _("First:")), make("span", "text", ` ${_(reason.remedy)}`)));
  if (reason.commands.length) details.append(copied(reason.commands));
  details.open = open;
  return details;
}

// Lines with a button that copies them. Without a clipboard they are selected instead.
function copied(lines) {
  const code = make("code", "", ...lines.flatMap((line, place) => [document.createTextNode(place ? "\n" : ""), line]));
  const button = make("button", "", _("Copy"));
  button.type = "button";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      setText(button, _("Copied"));
    } catch {
      getSelection().selectAllChildren(code);
      setText(button, _("Selected: press Ctrl+C"));
    }
    setTimeout(() => setText(button, _("Copy")), COPIED_MS);
  });
  return make("div", "copy", code, button);
}

export const following = (n) => plural("%(n)s topic differs only because of it", "%(n)s topics differ only because of it", n);
