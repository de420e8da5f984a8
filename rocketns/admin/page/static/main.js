// Connects the parts of the page with the stream of the name server.

import {byId, setText} from "./dom.js";
import {asksForToken, read} from "./asking.js";
import {onBeats, readBrokers, setClock, showBrokers, startBrokers} from "./brokers.js";
import {onChanges, readChanges} from "./changes.js";
import {readFleet} from "./fleet.js";
import {follow} from "./stream.js";
import {startTopics} from "./topics.js";
import {showStatus} from "./verdict.js";
import {clock} from "./words.js";

const REDRAW_MS = 1000;
const LOST_MS = 5000;
const REREAD_MS = 500;
const FLEET_MS = 3000;

let heardMs = Date.now();
let rereading = 0;

function onStatus(status) {
  heardMs = Date.now();
  setClock(status.now);
  showStatus(status);
  showLive();
}

function showLive() {
  const lost = Date.now() - heardMs > LOST_MS;
  byId("live").classList.toggle("lost", lost);
  setText(byId("live"), lost ? `no news since ${clock(heardMs)}: what is shown is old` : "live");
}

// Brokers came or went: read them again, once for many changes.
function reread() {
  clearTimeout(rereading);
  rereading = setTimeout(() => Promise.all([readBrokers(), readChanges()]).catch(() => undefined), REREAD_MS);
}

const OF_BROKERS = new Set(["reg", "back", "down", "doubt", "conflict"]);

function takeChanges(changes) {
  onChanges(changes);
  if (changes.some((change) => OF_BROKERS.has(change.event))) reread();
}

function start() {
  startBrokers();
  startTopics();
  reread();
  follow("/api/v1/stream", {status: onStatus, beats: onBeats, changes: takeChanges, gap: reread}, reread);
  const fleet = () => { if (!document.hidden) readFleet().catch(() => undefined); };
  fleet();
  setInterval(fleet, FLEET_MS);
  setInterval(() => { showLive(); if (!document.hidden) showBrokers(); }, REDRAW_MS);
}

// One request shows whether a token is missing. The page is loaded again when there is one.
read("status").then(onStatus).catch(() => undefined).then(() => {
  if (asksForToken()) setText(byId("live"), "waits for a token");
  else start();
});
