const cards = one("[data-cards]") ? cardList(one("[data-cards]")) : () => false;
const rows = new Map(all("[data-table]").filter((place) => one("script", place)).map((place) => [place.id, sortable(place)]));

// An anchor may be of a card or of a row that is on another page of its list.
const anchorOf = (hash) => { try { return decodeURIComponent(hash.slice(1)); } catch { return ""; } };
const follow = () => {
  const anchor = anchorOf(location.hash);
  const [, table, number] = anchor.match(/^(t-.*)-(\d+)$/) ?? [];
  const section = document.getElementById(rows.has(table) ? table : anchor)?.closest("details.section");
  if (section) section.open = true;
  return cards(anchor) || (rows.has(table) && rows.get(table)(Number(number) - 1));
};
addEventListener("hashchange", follow);
document.addEventListener("click", (event) => {
  // a second click on the same link, after the list was turned
  const link = event.target.closest?.("a[href^='#']");
  if (link && link.hash === location.hash) follow();
});
follow();
