// Whether all is well, and if not, what to do first; and the figures, each with a small picture of its last hour.

import {N_, _, age, byId, count, isolated, linked, make, makeButton, plural, setText, showChanged, spoken} from "./dom.js";
import {read} from "./asking.js";

const WORDS = {ok: N_("All is well"), attention: N_("Needs attention"), critical: N_("Something is wrong")};
const OPEN = innerWidth < 600 ? 1 : 3; // remedies that are open at first
const COPIED_MS = 3000;

// Where the rows of a trouble are in this page, and what they are.
const BROKERS = N_("Show these brokers");
const DIFFER = ["section", "fleet", N_("Show what differs")];
const HAPPENED = ["section", "happened", N_("Show what happened")];
const ROWS = {
  lost: ["state", "lost", BROKERS], noMaster: ["state", "masterless", BROKERS], late: ["state", "late", BROKERS],
  gone: ["state", "gone", BROKERS], unconfirmed: ["state", "unconfirmed", BROKERS], wiped: ["state", "wiped", BROKERS],
  viewed: ["section", "of-brokers", N_("Show the brokers")], missing: ["section", "missing", N_("Show who asks")],
  disagreeBroker: DIFFER, disagreeTopic: DIFFER, disagreeOrder: DIFFER,
  unreadable: ["section", "fleet", N_("Show the name servers")], stall: HAPPENED, overloaded: HAPPENED,
};

export function showVerdict(status) {
  setText(byId("name"), isolated(status.name));
  setText(byId("version"), status.version);
  byId("verdict").className = `verdict ${status.level}`;
  setText(byId("verdict-title"), _(WORDS[status.level]));
  document.title = `${status.level === "ok" ? "" : "⚠ "}${isolated(status.name)} · rocketns`;
  showChanged(byId("reasons"), status.reasons, (open) =>
    status.reasons.map((reason, index) => trouble(reason, open.get(reason.name) ?? index < OPEN)));
}

function trouble(reason, open) {
  const item = make("li", reason.level, make("span", "says", ...spoken(reason.said)));
  item.dataset.name = reason.name;
  if (reason.detail) item.append(" ", make("code", "", _(reason.detail)));
  const [kind, target, text] = ROWS[reason.name] ?? [];
  if (kind) item.append(" ", linked(kind, target, _(text)));
  if (reason.name === "disagreeBroker" && reason.n) item.append(" ", make("span", "follows", following(reason.n)));
  if (reason.remedy) item.append(remedy(reason, open));
  return item;
}

function remedy(reason, open) {
  const summary = make("summary", "", make("b", "", _("First:")), " ", ...spoken(reason.remedySaid));
  const details = make("details", "remedy", summary);
  if (reason.commands.length) details.append(copied(reason.commands));
  details.dataset.of = reason.name;
  details.open = open;
  return details;
}

// Lines with a button that copies them. Without a clipboard they are selected instead.
function copied(lines) {
  const code = make("code", "", ...lines.flatMap((line, index) => [document.createTextNode(index ? "\n" : ""), line]));
  const button = makeButton("", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      setText(button, _("Copied"));
    } catch {
      getSelection().selectAllChildren(code);
      setText(button, _("Selected: press Ctrl+C"));
    }
    setTimeout(() => setText(button, _("Copy")), COPIED_MS);
  }, _("Copy"));
  return make("div", "copy", code, button);
}

export const following = (n) => plural("%(n)s topic differs only because of it", "%(n)s topics differ only because of it", n);

const SAMPLES = 120; // of an hour
const [WIDTH, HEIGHT] = [120, 22];
const SVG = "http://www.w3.org/2000/svg";

let before = null;
let samples = [];

export async function readHistory() {
  samples = (await read("history", {limit: SAMPLES, sort: "at"})).items;
}

export function showFigures(status) {
  const perHour = (name) => samples.slice(1).map((one, index) =>
    Math.max(0, one[name] - samples[index][name]) * 1000 / Math.max(1, one.at - samples[index].at));
  const noBroker = status.reasons.find((reason) => reason.name === "noBroker");
  const fields = [
    [_("Brokers"), count(status.brokers), noBroker?.level ?? "", null, [
      plural("%(n)s group", "%(n)s groups", status.groups), plural("%(n)s cluster", "%(n)s clusters", status.clusters),
    ]],
    [_("Late heartbeats"), count(status.late), status.late ? "attention" : "", samples.map((one) => one.late), []],
    [_("Topics"), count(status.topics), "", null, status.missingTopics ? [_("%(n)s not found", {n: count(status.missingTopics)})] : []],
    [_("Lookups per second"), perSecond(status, "lookups"), "", perHour("lookups"),
      [_("%(n)s without a route", {n: perSecond(status, "lookupsMissed")})]],
    [_("Registrations per second"), perSecond(status, "registrations"), "", perHour("registrations"),
      [plural("%(n)s request waits", "%(n)s requests wait", status.waitingRequests)]],
    [_("Connections"), count(status.connections), "", samples.map((one) => one.connections), []],
  ];
  byId("figures").replaceChildren(...fields.map(([name, value, level, hour, more]) => make("div", level,
    make("dt", "", name), make("dd", "", value), ...more.map((text) => make("dd", "more", text)),
    ...(hour && hour.length > 1 ? [make("dd", "hour", picture(hour))] : []))));
  byId("uptime").textContent = _("running for %(age)s", {age: age(status.now - status.started)});
  before = status;
}

function perSecond(status, name) {
  const ms = before === null ? 0 : status.now - before.now;
  return ms > 0 ? count(Math.round((status[name] - before[name]) * 1000 / ms)) : "–";
}

// A line from the left, an hour ago, to the right, now. Its highest point is the greatest value, its lowest one is 0.
function picture(values) {
  const most = Math.max(...values, 1e-9);
  const point = (value, index) =>
    `${(WIDTH - (values.length - 1 - index) * WIDTH / (SAMPLES - 1)).toFixed(1)},${(HEIGHT - 1 - value / most * (HEIGHT - 2)).toFixed(1)}`;
  const svg = document.createElementNS(SVG, "svg");
  const line = document.createElementNS(SVG, "polyline");
  line.setAttribute("points", values.map(point).join(" "));
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  const short = (value) => count(Math.round(value * 10) / 10);
  svg.setAttribute("aria-label", _("the last hour: %(least)s to %(most)s", {least: short(Math.min(...values)), most: short(Math.max(...values))}));
  svg.append(line);
  return svg;
}
