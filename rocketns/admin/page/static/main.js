// Connects the parts of the page with the stream of the name server.

import {_, byId, clock, seen, setText, translatePage} from "./dom.js";
import {asksForToken, follow, read} from "./asking.js";
import {onBeats, readBrokers, showBrokers, showBrokersOf, startTable, noteStatus} from "./brokers.js";
import {onChanges, readChanges} from "./changes.js";
import {readFleet} from "./fleet.js";
import {readMissing, showRoute, showTopicsOf, startTopics} from "./topics.js";
import {readHistory, showFigures, showVerdict} from "./verdict.js";

const REDRAW_MS = 1000;
const LOST_MS = 5000;
// Longer than the server shares a copy (COPY_AGE_S of view.py): an earlier answer may lack the change.
const REREAD_MS = 1500;
const RETRY_MS = 2000;
const FLEET_MS = 3000;
const HISTORY_MS = 30000;

let heardMs = Date.now();
let rereading = 0;
let isReading = false;
let status = null;

function onStatus(now) {
  status = now;
  heardMs = Date.now();
  noteStatus(status);
  showVerdict(status);
  showFigures(status);
  showLive();
}

function showLive() {
  const lost = Date.now() - heardMs > LOST_MS;
  byId("live").classList.toggle("lost", lost);
  setText(byId("live"), lost
    ? _("no news since %(time)s: what is shown is old", {time: clock(heardMs)}) : _("live updates"));
}

// Brokers came or went: read them again, once for many changes.
const reread = () => rereadAfter(REREAD_MS);

function rereadAfter(ms) {
  clearTimeout(rereading);
  rereading = setTimeout(readLists, ms);
}

// One reading at a time: an answer that was made earlier would take the place of a later one.
async function readLists() {
  if (isReading) return reread();
  isReading = true;
  const isRead = await Promise.all([readBrokers(), readChanges()]).then(() => true, asksForToken);
  isReading = false;
  if (!isRead) rereadAfter(RETRY_MS);
}

const OF_BROKERS = new Set(["reg", "back", "down", "doubt", "conflict"]);

function noteChanges(changes) {
  onChanges(changes);
  if (changes.some((change) => OF_BROKERS.has(change.event))) reread();
}

// What the part of the address after # names: #topic=orders, #topicsOf=broker-a, #broker=broker-a, #state=late, or a
// section of the page.
const LINKED = {
  topic: showRoute, topicsOf: showTopicsOf, broker: (name) => showBrokersOf("", name), state: (state) => showBrokersOf(state),
  section: (id) => seen(byId(id)),
};

function showLinked() {
  for (const [kind, name] of new URLSearchParams(location.hash.slice(1))) {
    if (Object.hasOwn(LINKED, kind)) LINKED[kind](name);
  }
}

// Now and then, while somebody looks. What fails is tried again the next time.
function every(ms, act) {
  const run = () => { if (!document.hidden) act().catch(() => undefined); };
  run();
  setInterval(run, ms);
}

function start() {
  startTable();
  startTopics();
  addEventListener("hashchange", showLinked);
  // The same link once more: somebody has scrolled or filtered since then.
  addEventListener("click", (event) => { if (event.target.closest?.("a")?.hash === location.hash) showLinked(); });
  showLinked();
  reread();
  every(HISTORY_MS, readHistory);
  follow("/api/v1/stream", {status: onStatus, beats: onBeats, changes: noteChanges, gap: reread}, reread);
  every(FLEET_MS, () => Promise.all(status === null ? [] : [readFleet(), readMissing(status)]));
  setInterval(() => { showLive(); if (!document.hidden) showBrokers(); }, REDRAW_MS);
}

translatePage();
document.documentElement.classList.add("ready");
setText(byId("zone"), _("times of %(zone)s", {zone: Intl.DateTimeFormat().resolvedOptions().timeZone}));
// One request shows whether a token is missing. The page is loaded again when there is one.
read("status").then(onStatus).catch(() => undefined).then(() => {
  if (asksForToken()) setText(byId("live"), _("waits for a token"));
  else start();
});
