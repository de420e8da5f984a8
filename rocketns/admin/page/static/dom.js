// Elements and their texts, in the language of the document.

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

function visible(text) {
  return text.replace(HIDDEN, (one) => "\\u" + one.charCodeAt(0).toString(16).padStart(4, "0"));
}

// Letters that are written from right to left move the digits and names beside them, so they are isolated: by elements,
// or by characters where only text can be.
const LETTERS = "\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefc\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}";
const RUN = new RegExp(`([${LETTERS}](?:[${LETTERS}0-9%.:/_-]*[${LETTERS}])?)`, "u");

function parts(text) {
  return visible(text).split(RUN).map((part, index) => index % 2 ? make("bdi", "", document.createTextNode(part)) : part);
}

export function isolated(text) {
  return visible(text).split(RUN).map((part, index) => index % 2 ? `\u2068${part}\u2069` : part).join("");
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// The cells of a table's row.
export const row = (...cells) => make("tr", "", ...cells);

const WHOLE_CHARACTERS = 48;

// A name that no line breaks in, unless it is longer than a line may be.
export const whole = (text, tag = "span") => make(tag, text.length > WHOLE_CHARACTERS ? "long" : "whole", text);

// A link to what `showLinked` in main.js shows: #topic=orders.
export function linked(kind, name, text = name) {
  const link = whole(text, "a");
  link.href = `#${new URLSearchParams({[kind]: name})}`;
  return link;
}

// Bring an element to the screen, and the keyboard to it.
export function seen(element, block = "start") {
  if (!element || element.hidden) return;
  if (!element.hasAttribute("tabindex")) element.tabIndex = -1;
  element.scrollIntoView({block});
  element.focus({preventScroll: true});
}

// Of a member of a broker group.
export const roleOf = (id) => id === 0 ? _("master") : _("slave %(id)s", {id});

// Make the children of a list again, if what it shows has changed: somebody may read in it. `made` gets which details
// were open, by what `data-of` names.
export function showChanged(list, value, made) {
  const shown = JSON.stringify(value);
  if (list.dataset.shown === shown) return;
  list.dataset.shown = shown;
  list.replaceChildren(...made(new Map([...list.querySelectorAll("details")].map((one) => [one.dataset.of, one.open]))));
}

// A button with what a click does.
export function makeButton(name, act, ...children) {
  const button = make("button", name, ...children);
  button.type = "button";
  button.addEventListener("click", act);
  return button;
}

// A table with Previous and Next below it, by the elements NAME-table, NAME-back …, whose heads with `data-sort` become
// buttons. `show` is called when other rows, from `at`, or another order was chosen.
export function makeList(name, size, column, show) {
  const list = {at: 0, column, down: false};
  const turn = (by) => { list.at = Math.max(0, list.at + by); show(); };
  const [back, next] = [byId(`${name}-back`), byId(`${name}-next`)];
  back.addEventListener("click", () => turn(-size));
  next.addEventListener("click", () => turn(size));
  const heads = [...byId(`${name}-table`).querySelectorAll("th[data-sort]")];
  const mark = () => {
    for (const head of heads) {
      if (head.dataset.sort === list.column) head.setAttribute("aria-sort", list.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
  };
  const order = (by) => {
    Object.assign(list, {at: 0, column: by, down: by === list.column && !list.down});
    mark();
    show();
  };
  for (const head of heads) head.replaceChildren(makeButton("sort", () => order(head.dataset.sort), ...head.childNodes));
  mark();
  // Say which rows of how many are shown; `total` has the number in words.
  list.count = (shown, number, total) => {
    setText(byId(`${name}-count`), number > size
      ? _("%(first)s to %(last)s of %(total)s", {first: count(list.at + 1), last: count(list.at + shown), total}) : total);
    back.disabled = list.at === 0;
    next.disabled = list.at + size >= number;
    byId(`${name}-pager`).hidden = number <= size;
  };
  return list;
}

const language = document.documentElement.lang;

// Without the catalogue the page speaks English.
const messages = language === "en" ? {} : await fetch("/page/zh.json").then((answer) => answer.json()).catch(() => ({}));

const fill = (message, values) => message.replace(/%\((\w+)\)s/g, (_, name) => values[name]);

// A mark for messages that are looked up when they are shown.
export const N_ = (message) => message;

export const _ = (message, values = {}) => fill(messages[message] ?? message, values);

// Of a topic's queues: 4 is read, 2 is write.
const ALLOWED = [N_("neither read nor write"), N_("write only"), N_("read only"), N_("read and write")];

export const permission = (bits) => _(ALLOWED[bits >> 1 & 3]);

// A sentence of the server as children of an element: a text, a list, or a message with values, which are such sentences.
// No line breaks in a name.
export function spoken(said) {
  if (typeof said === "string") return said.split(" ").flatMap((word, index) => index ? [" ", whole(word)] : [whole(word)]);
  if (Array.isArray(said)) return said.flatMap((one, index) => index ? [_(", "), ...spoken(one)] : spoken(one));
  return (messages[said.message] ?? said.message).split(/%\((\w+)\)s/)
    .flatMap((part, index) => index % 2 ? spoken(said.values[part]) : part);
}

// The form for a number, which is %(n)s in it. English has two, and is its own key.
export function plural(one, many, n, values = {}) {
  const translated = messages[one];
  return fill(translated ?? (n === 1 ? one : many), {n: count(n), ...values});
}

export function translatePage() {
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = _(element.textContent);
  for (const name of ["aria-label", "placeholder"]) {
    for (const element of document.querySelectorAll(`[${name}]`)) element.setAttribute(name, _(element.getAttribute(name)));
  }
}

export const count = (number) => number.toLocaleString(language);

export function age(ms) {
  if (ms === null || ms === undefined) return _("never");
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 100) return _("%(n)s s", {n: count(s)});
  if (s < 6000) return _("%(n)s min", {n: count(Math.floor(s / 60))});
  if (s < 172800) return _("%(n)s h", {n: count(Math.floor(s / 3600))});
  return _("%(n)s days", {n: count(Math.floor(s / 86400))});
}

const DAY_MS = 86400000;
const TIME = new Intl.DateTimeFormat(language, {hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23"});
const DATE = new Intl.DateTimeFormat(language, {month: "short", day: "numeric"});

// The time of day; of what is older than a day also the date.
export const clock = (at) => Date.now() - at < DAY_MS ? TIME.format(at) : `${DATE.format(at)} ${TIME.format(at)}`;

export const joined = (names) => names.join(_(", "));
