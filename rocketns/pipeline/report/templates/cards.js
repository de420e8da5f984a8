const CARDS_ON_A_PAGE = 20;

// The list of incidents: search, filters, pages. Returns what shows the card with an id: false if there is none.
const cardList = (list) => {
  const controls = one("[data-controls=cards]");
  const cards = all(".card", list);
  const words = cards.map((card) => card.textContent.toLowerCase());
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
    const wanted = wordsOf(search.value);
    shown = cards.filter((card, place) => (!kind.value || card.dataset.kind === kind.value)
      && (!still.checked || "still" in card.dataset) && wanted.every((word) => words[place].includes(word)));
    show(0);
  };
  for (const control of [search, kind, still]) control.addEventListener("input", filter);
  controls.hidden = false;
  const rest = one("[data-unseen]");
  if (rest) rest.hidden = true;
  show(0);
  return (id) => {
    const card = document.getElementById(id);
    if (!card || !cards.includes(card)) return false;
    if (!shown.includes(card)) {
      search.value = ""; kind.value = ""; still.checked = false;
      shown = cards;
    }
    show(Math.floor(shown.indexOf(card) / CARDS_ON_A_PAGE));
    card.open = true;
    card.scrollIntoView({ block: "start", behavior: "instant" });
    one("summary", card).focus({ preventScroll: true });
    return true;
  };
};
