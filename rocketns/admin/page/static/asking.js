// Asks the server, with the token of this tab. A server with a file of tokens refuses what is asked without one, and then
// the page asks for it.

import {N_, _, byId, setText} from "./dom.js";

const KEY = "rocketns-token";
const SENDABLE = /^[\x21-\x7e]+$/;

let isAsking = false;

export const asksForToken = () => isAsking;

// Some browsers have no storage for a page. It works without, where the server asks for no token.
function savedToken() {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

// What the server answers. Whoever lacks the token is asked for it, and no further request is sent until it is there.
async function request(path, signal = undefined) {
  if (isAsking) throw new Error("the token is missing");
  const token = savedToken();
  const answer = await fetch(path, {signal, headers: token ? {Authorization: `Bearer ${token}`} : {}});
  if (answer.status === 401 || answer.status === 403) {
    ask(token ? why(answer.status) : "");
    throw new Error(`${path}: ${answer.status}`);
  }
  return answer;
}

export async function read(path, parameters = {}, signal = undefined) {
  const answer = await request(`/api/v1/${path}?${new URLSearchParams(parameters)}`, signal);
  if (answer.status === 404) return null;
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

const why = (status) => _(status === 403 ? N_("This token lacks the class read.") : N_("The server does not know this token."));

function ask(problem) {
  if (isAsking) return;
  isAsking = true;
  setText(byId("token-why"), problem);
  byId("token").hidden = false;
  byId("token-text").focus();
  byId("token-form").addEventListener("submit", use);
}

// The form itself is never sent: neither to the address of the page, nor with the token in it.
function use(event) {
  event.preventDefault();
  const token = byId("token-text").value.trim();
  if (!SENDABLE.test(token)) {
    setText(byId("token-why"), _("A token has no spaces, and ASCII characters only."));
    return;
  }
  try {
    sessionStorage.setItem(KEY, token);
  } catch {
    setText(byId("token-why"), _("This browser keeps nothing for this page, so the token cannot be used."));
    return;
  }
  location.reload();
}

const RETRY_MS = 2000;

// Call `handlers[event]` with the value of each message, and `onOpen` at the beginning of each connection.
export async function follow(path, handlers, onOpen) {
  while (!asksForToken()) {
    try {
      const answer = await request(path);
      if (answer.ok) {
        onOpen();
        await readMessages(answer.body, handlers);
      }
    } catch {
      // It is tried again.
    }
    await new Promise((over) => setTimeout(over, RETRY_MS));
  }
}

async function readMessages(body, handlers) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    const messages = (rest + value).split("\n\n");
    rest = messages.pop();
    for (const message of messages) {
      // The value is JSON, which has no line ends, so a message has one line of data.
      const [, event, data] = /^event: (.*)\ndata: (.*)$/.exec(message) ?? [];
      handlers[event]?.(JSON.parse(data));
    }
  }
}
