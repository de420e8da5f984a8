// What the page says, in the language of the document: messages of the catalogue, numbers, times and lists.

export const language = document.documentElement.lang;

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

export const listed = (names, more) => more > 0
  ? _("%(names)s and %(n)s more", {names: joined(names), n: count(more)}) : joined(names);
