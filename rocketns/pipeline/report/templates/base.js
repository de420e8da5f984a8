"use strict";

const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
const one = (selector, root = document) => root.querySelector(selector);
// Texts in the language of the page, by the English ones, with values for %(name)s.
const TEXTS = JSON.parse(one("#texts").textContent);
const _ = (text, values = {}) => (TEXTS[text] ?? text).replace(/%\((\w+)\)s/g, (whole, name) => values[name] ?? whole);
const made = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
// Letters that are written from right to left move the digits and names beside them, so they are isolated: by elements,
// or by characters where only text can be.
const LETTERS = "\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefc\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}", JOINING = "0-9%.:/_-";
const RUN = new RegExp(`([${LETTERS}](?:[${LETTERS}${JOINING}]*[${LETTERS}])?)`, "u");
const texts = (text) => text.split(RUN).map((part, place) => (place % 2 ? made("bdi", { textContent: part }) : part));
const isolated = (text) => text.split(RUN).map((part, place) => (place % 2 ? `\u2068${part}\u2069` : part)).join("");
const button = (text, title, act) => {
  const element = made("button", { type: "button", textContent: text, title });
  element.setAttribute("aria-label", title);
  element.addEventListener("click", act);
  return element;
};
const counted = (number) => number.toLocaleString("en");
const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

// A pager: "11 to 20 of 400", previous, next. `turn` is called with the number of the page to show.
const pager = (place, turn) => {
  let page = 0;
  const where = made("span");
  where.setAttribute("role", "status");
  const back = button(_("Previous"), _("Previous page"), () => turn(page - 1));
  const next = button(_("Next"), _("Next page"), () => turn(page + 1));
  place.append(where, back, next);
  return (now, size, count) => {
    page = now;
    const from = now * size;
    where.textContent = count
      ? _("%(from)s to %(to)s of %(all)s", { from: counted(from + 1), to: counted(Math.min(count, from + size)), all: counted(count) })
      : _("nothing");
    back.disabled = now === 0;
    next.disabled = from + size >= count;
  };
};

// Buttons that copy the command beside them. Without a clipboard the command is selected instead.
for (const copy of all("[data-copy]")) {
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    const code = one("code", copy.parentElement);
    try {
      await navigator.clipboard.writeText(code.textContent);
      copy.textContent = _("Copied");
    } catch {
      getSelection().selectAllChildren(code);
      copy.textContent = _("Selected: press Ctrl+C");
    }
    setTimeout(() => { copy.textContent = _("Copy"); }, 3000);
  });
}
