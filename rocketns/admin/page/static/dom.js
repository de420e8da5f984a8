// The page is made of text nodes only: no name from the network is ever read as markup.

export const byId = (id) => document.getElementById(id);

// An element with a class, and with children that are elements or texts.
export function make(tag, name = "", ...children) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.append(...children.map((child) => child instanceof Node ? child : visible(String(child))));
  return element;
}

// Control characters and marks of direction, which would let a name pretend to be another one, are shown as escapes.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

export function visible(text) {
  return text.replace(HIDDEN, (one) => "\\u" + one.charCodeAt(0).toString(16).padStart(4, "0"));
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// The cells of a table's row.
export const row = (...cells) => make("tr", "", ...cells);

export async function read(path, parameters = {}, signal = undefined) {
  const answer = await fetch(`/api/v1/${path}?${new URLSearchParams(parameters)}`, {signal});
  if (answer.status === 404) return null;
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}
