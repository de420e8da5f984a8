"use strict";

const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
const one = (selector, root = document) => root.querySelector(selector);
const made = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
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
  const back = button("Previous", "Previous page", () => turn(page - 1));
  const next = button("Next", "Next page", () => turn(page + 1));
  place.append(where, back, next);
  return (now, size, count) => {
    page = now;
    const from = now * size;
    where.textContent = count ? `${counted(from + 1)} to ${counted(Math.min(count, from + size))} of ${counted(count)}` : "nothing";
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
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      copy.textContent = "Selected: press Ctrl+C";
    }
    setTimeout(() => { copy.textContent = "Copy"; }, 3000);
  });
}
