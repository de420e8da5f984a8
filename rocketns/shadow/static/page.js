// Asks for the content again. Texts come as nodes of a parsed document, in which no script runs.
"use strict";

const EVERY_MS = 3000;
const said = document.getElementById("said");

async function renew() {
  const open = new Set([...document.querySelectorAll("details[open] > summary > b")].map((one) => one.textContent));
  const answer = await fetch("/", { cache: "no-store" });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  const next = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("content");
  for (const one of next.querySelectorAll("details")) {
    one.open = open.has(one.querySelector("summary > b").textContent);
  }
  document.getElementById("content").replaceWith(next);
}

async function again() {
  try {
    await renew();
  } catch (error) {
    said.textContent = `The shadow does not answer: ${error.message}`;
  }
  setTimeout(again, EVERY_MS);
}

setTimeout(again, EVERY_MS);
