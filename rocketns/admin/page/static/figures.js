// The figures of the name server, each with a small picture of its last hour.

import {_, age, byId, count, make, plural} from "./dom.js";
import {read} from "./asking.js";

const SAMPLES = 120; // of an hour
const [WIDTH, HEIGHT] = [120, 22];
const SVG = "http://www.w3.org/2000/svg";

let before = null;
let samples = [];

export async function readHistory() {
  samples = (await read("history", {limit: SAMPLES, sort: "at"})).items;
}

export function showFigures(status) {
  const perHour = (name) => samples.map((one) => one.seconds ? one[name] / one.seconds : 0);
  const fields = [
    [_("Brokers"), count(status.brokers), status.brokers ? "" : "critical", null, [
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
  const point = (value, place) =>
    `${(WIDTH - (values.length - 1 - place) * WIDTH / (SAMPLES - 1)).toFixed(1)},${(HEIGHT - 1 - value / most * (HEIGHT - 2)).toFixed(1)}`;
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
