// Server-sent events, read by fetch: an EventSource cannot send a token.

import {asksForToken, request} from "./asking.js";

const RETRY_MS = 2000;

// Call `takers[event]` with the value of each message, and `onOpen` at the beginning of each connection.
export async function follow(path, takers, onOpen) {
  while (!asksForToken()) {
    try {
      const answer = await request(path);
      if (answer.ok) {
        onOpen();
        await readMessages(answer.body, takers);
      }
    } catch {
      // It is tried again.
    }
    await new Promise((over) => setTimeout(over, RETRY_MS));
  }
}

async function readMessages(body, takers) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    const messages = (rest + value).split("\n\n");
    rest = messages.pop();
    for (const message of messages) take(message, takers);
  }
}

// The value is JSON, which has no line ends, so a message has one line of data.
function take(message, takers) {
  const fields = new Map(message.split("\n").map((line) => {
    const place = line.indexOf(": ");
    return [line.slice(0, place), line.slice(place + 2)];
  }));
  const taker = takers[fields.get("event")];
  if (taker) taker(JSON.parse(fields.get("data")));
}
