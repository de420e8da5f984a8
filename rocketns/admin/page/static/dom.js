// The page is made of text nodes only: no name from the network is ever read as markup.

export const byId = (id) => document.getElementById(id);

// An element with a class, and with children that are elements or texts.
export function make(tag, name = "", ...children) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.append(...children.flatMap((child) => child instanceof Node ? [child] : parts(String(child))));
  return element;
}

// Control characters and marks of direction, which would let a name pretend to be another one, are shown as escapes.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

export function visible(text) {
  return text.replace(HIDDEN, (one) => "\\u" + one.charCodeAt(0).toString(16).padStart(4, "0"));
}

// Letters that are written from right to left move the digits and names beside them, so they are isolated: by elements,
// or by characters where only text can be.
const LETTERS = "\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefc\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}";
const RUN = new RegExp(`([${LETTERS}](?:[${LETTERS}0-9%.:/_-]*[${LETTERS}])?)`, "u");

function parts(text) {
  return visible(text).split(RUN).map((part, place) => place % 2 ? make("bdi", "", document.createTextNode(part)) : part);
}

export function isolated(text) {
  return visible(text).split(RUN).map((part, place) => place % 2 ? `\u2068${part}\u2069` : part).join("");
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// The cells of a table's row.
export const row = (...cells) => make("tr", "", ...cells);
