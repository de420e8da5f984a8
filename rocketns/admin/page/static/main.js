// Connects the parts of the page with the stream of the name server.

import {byId, read, setText} from "./dom.js";
import {onBeats, readBrokers, setClock, showBrokers, startBrokers} from "./brokers.js";
import {onChanges, readChanges} from "./changes.js";
import {readFleet} from "./fleet.js";
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

function listen() {
  const stream = new EventSource("/api/v1/stream");
  const on = (name, take) => stream.addEventListener(name, (event) => take(JSON.parse(event.data)));
  on("status", onStatus);
  on("beats", onBeats);
  on("changes", (changes) => {
    onChanges(changes);
    if (changes.some((change) => OF_BROKERS.has(change.event))) reread();
  });
  on("gap", reread);
  stream.addEventListener("open", reread);
}

startBrokers();
startTopics();
read("status").then(onStatus).catch(() => undefined);
reread();
listen();
const fleet = () => { if (!document.hidden) readFleet().catch(() => undefined); };
fleet();
setInterval(fleet, FLEET_MS);
setInterval(() => { showLive(); if (!document.hidden) showBrokers(); }, REDRAW_MS);
