"use strict";
(() => {
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  const one = (selector, root = document) => root.querySelector(selector);
  const made = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  // Buttons that copy the command beside them. Without a clipboard the command is selected instead.
  for (const button of all("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const code = one("code", button.parentElement);
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
        button.textContent = "Selected: press Ctrl+C";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 3000);
    });
  }

  // A pager: previous, "11 to 20 of 400", next. `turn` is called with the number of the page to show.
  const pager = (place, turn) => {
    const back = made("button", { type: "button", textContent: "Previous" });
    const next = made("button", { type: "button", textContent: "Next" });
    const where = made("span");
    where.setAttribute("role", "status");
    place.append(where, back, next);
    let page = 0;
    back.addEventListener("click", () => turn(page - 1));
    next.addEventListener("click", () => turn(page + 1));
    return (now, size, count) => {
      page = now;
      const from = now * size;
      where.textContent = count ? `${(from + 1).toLocaleString("en")} to ${Math.min(count, from + size).toLocaleString("en")} of ${count.toLocaleString("en")}` : "none";
      back.disabled = now === 0;
      next.disabled = from + size >= count;
    };
  };

  const CARDS_ON_A_PAGE = 20;

  const cardList = (() => {
    const list = one("[data-cards]");
    if (!list) return { reveal: () => false };
    const controls = one("[data-controls=cards]");
    const cards = all(".card", list);
    const texts = cards.map((card) => card.textContent.toLowerCase());
    const search = one("[data-search]", controls), kind = one("[data-kind]", controls), still = one("[data-still]", controls);
    let shown = cards;
    const told = pager(one("[data-pager]", controls), (page) => show(page));
    const show = (page) => {
      const from = page * CARDS_ON_A_PAGE;
      const visible = new Set(shown.slice(from, from + CARDS_ON_A_PAGE));
      for (const card of cards) card.hidden = !visible.has(card);
      told(page, CARDS_ON_A_PAGE, shown.length);
    };
    const filter = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      shown = cards.filter((card, place) => (!kind.value || card.dataset.kind === kind.value)
        && (!still.checked || "still" in card.dataset) && words.every((word) => texts[place].includes(word)));
      show(0);
    };
    for (const control of [search, kind, still]) control.addEventListener("input", filter);
    controls.hidden = false;
    one("[data-more-cards]").firstChild.textContent = "All incidents as lines of JSON: ";
    show(0);
    return {
      // Shows the card with this id, on its page, open. False if it is no card.
      reveal(id) {
        const card = document.getElementById(id);
        if (!card || !cards.includes(card)) return false;
        if (!shown.includes(card)) {
          search.value = ""; kind.value = ""; still.checked = false;
          shown = cards;
        }
        show(Math.floor(shown.indexOf(card) / CARDS_ON_A_PAGE));
        card.open = true;
        card.scrollIntoView({ block: "start" });
        one("summary", card).focus({ preventScroll: true });
        return true;
      },
    };
  })();

  const follow = () => cardList.reveal(decodeURIComponent(location.hash.slice(1)));
  addEventListener("hashchange", follow);
  follow();
})();
