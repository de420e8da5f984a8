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

const WHOLE_CHARACTERS = 48;

// A name that no line breaks in, unless it is longer than a line may be.
export const whole = (text, tag = "span") => make(tag, text.length > WHOLE_CHARACTERS ? "long" : "whole", text);

// A link to what `showLinked` in main.js shows: #topic=orders.
export function linked(kind, name, text = name) {
  const link = whole(text, "a");
  link.href = `#${kind}=${encodeURIComponent(name)}`;
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

// "broker-a (master)"
export const member = (broker, id) => _("%(broker)s (%(role)s)", {broker, role: roleOf(id)});

// The heads with `data-sort` become buttons. `order` is {column, down}; `show` is called when another one was chosen.
export function makeSortable(table, order, show) {
  const heads = [...table.querySelectorAll("th[data-sort]")];
  const mark = () => {
    for (const head of heads) {
      if (head.dataset.sort === order.column) head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
  };
  for (const head of heads) {
    const button = make("button", "sort", ...head.childNodes);
    button.type = "button";
    button.addEventListener("click", () => {
      Object.assign(order, {column: head.dataset.sort, down: head.dataset.sort === order.column && !order.down});
      mark();
      show();
    });
    head.replaceChildren(button);
  }
  mark();
}

// Previous and Next, by the elements with these ids. `turn` gets the number of the first row. Returns what says which
// rows of how many are shown.
export function makePager(id, size, turn) {
  let at = 0;
  const [back, next] = [byId(`${id}-back`), byId(`${id}-next`)];
  back.addEventListener("click", () => turn(at - size));
  next.addEventListener("click", () => turn(at + size));
  return (first, shown, number, total) => {
    at = first;
    setText(byId(`${id}-count`), number > size
      ? _("%(first)s to %(last)s of %(total)s", {first: count(first + 1), last: count(first + shown), total}) : total);
    back.disabled = first === 0;
    next.disabled = first + size >= number;
    byId(`${id}-pager`).hidden = number <= size;
  };
}

const language = document.documentElement.lang;

const messages = language === "en" ? {} : await catalogue();

// Without the catalogue the page speaks English.
async function catalogue() {
  try {
    const answer = await fetch("/page/zh.json");
    return answer.ok ? await answer.json() : {};
  } catch {
    return {};
  }
}

const fill = (message, values) => message.replace(/%\((\w+)\)s/g, (_, name) => values[name]);

// A mark for messages that are looked up when they are shown.
export const N_ = (message) => message;

export const _ = (message, values = {}) => fill(messages[message] ?? message, values);

// Of a topic's queues: 4 is read, 2 is write.
const ALLOWED = [N_("neither read nor write"), N_("write only"), N_("read only"), N_("read and write")];

export const permission = (bits) => _(ALLOWED[bits >> 1 & 3]);

// The children of an element: the message with elements in it, so that no line breaks in a name.
export const phrase = (message, values) => (messages[message] ?? message).split(/%\((\w+)\)s/)
  .flatMap((part, place) => place % 2 ? values[part] : part);

const valuesOf = (said, act) => Object.fromEntries(Object.entries(said.values).map(([name, value]) => [name, act(value)]));

// A sentence of the server: a text, or a message with values, which are such sentences.
export const say = (said) => typeof said === "string" ? said : _(said.message, valuesOf(said, say));

// The same as children of an element: no line breaks in a name. A value with spaces is a list or another sentence.
export const spoken = (said) => typeof said !== "string" ? phrase(said.message, valuesOf(said, spoken))
  : [said.includes(" ") ? said : whole(said)];

// The form for a number, which is %(n)s in it. English has two, and is its own key.
export function plural(one, many, n, values = {}) {
  const known = messages[one];
  return fill(known ?? (n === 1 ? one : many), {n: count(n), ...values});
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

export const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

export const joined = (names) => names.join(_(", "));

// Sentences as elements: "a, b and 3 more".
export function listed(said, more) {
  const list = said.flatMap((one, place) => place ? [_(", "), ...spoken(one)] : spoken(one));
  return more > 0 ? phrase("%(names)s and %(n)s more", {names: list, n: count(more)}) : list;
}
