// A table: sorted by its headings, filtered by words, in pages. Returns what shows a row by its number.
const sortable = (place) => {
  const data = JSON.parse(one("script", place).textContent);
  const size = 10, columns = data.columns, count = Number(place.dataset.count);
  const body = one("tbody", place), headings = all("th", place);
  const linked = data.refs.length > 0;
  const valueOf = (column, row) => column.values[column.rows[row]];
  const textOf = (column, row) => { const value = valueOf(column, row); return Array.isArray(value) ? value[0] : value; };
  const numberOf = (column, row) => { const value = valueOf(column, row); return Array.isArray(value) ? value[1] : null; };
  let lines = null;
  const searched = () => lines ??= Array.from({ length: count }, (_, row) => columns.map((column) => textOf(column, row)).join("\n").toLowerCase());
  let order = Array.from({ length: count }, (_, row) => row), sorting = null;
  let search = { value: "" }, told = () => {};

  const cell = (column, row) => {
    const text = textOf(column, row);
    const element = made("td", {}, ...texts(text));
    element.className = text === "-" ? `none ${column.style}` : column.style;
    if (column.most) element.style.setProperty("--part", `${Math.min(100, (100 * (numberOf(column, row) ?? 0)) / column.most)}%`);
    element.dataset.label = column.label;
    element.setAttribute("role", "cell");
    return element;
  };
  const line = (row) => {
    const element = made("tr", { id: `${data.name}-${row + 1}`, tabIndex: -1 }, ...columns.map((column) => cell(column, row)));
    element.setAttribute("role", "row");
    if (linked) {
      const link = made("td", {}, ...(data.refs[row] ? [made("a", { href: `#${data.refs[row]}`, textContent: _("show") })] : []));
      link.dataset.label = _("Incident");
      link.setAttribute("role", "cell");
      element.append(link);
    }
    return element;
  };
  const show = (page) => {
    body.replaceChildren(...order.slice(page * size, (page + 1) * size).map(line));
    told(page, size, order.length);
  };
  const compare = (column, down) => (a, b) => {
    const x = numberOf(column, a), y = numberOf(column, b), s = textOf(column, a), t = textOf(column, b);
    if ((s === "-") !== (t === "-")) return s === "-" ? 1 : -1;  // what is not known comes last, in both directions
    const found = x !== null && y !== null ? x - y : s.localeCompare(t, "en", { numeric: true });
    return (down ? -found : found) || a - b;
  };
  const arrange = () => {
    const words = wordsOf(search.value);
    order = Array.from({ length: count }, (_, row) => row).filter((row) => words.every((word) => searched()[row].includes(word)));
    if (sorting) order.sort(compare(columns[sorting.column], sorting.down));
    show(0);
  };

  columns.forEach((column, index) => {
    const heading = headings[index];
    const press = made("button", { type: "button", className: "sort" }, ...heading.childNodes);
    press.addEventListener("click", () => {
      // numbers are sorted from the largest at first, texts from A
      const first = column.values.some(Array.isArray);
      sorting = { column: index, down: sorting?.column === index ? !sorting.down : first };
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", sorting.down ? "descending" : "ascending");
      arrange();
    });
    heading.replaceChildren(press);
  });

  if (count > size) {
    const controls = made("div", { className: "controls" });
    search = made("input", { type: "search", placeholder: _("any column") });
    search.addEventListener("input", arrange);
    controls.append(made("label", {}, `${_("Search")} `, search));
    const pages = made("span", { className: "pager" });
    controls.append(pages);
    told = pager(pages, show);
    told(0, size, count);
    place.prepend(controls);
    const rest = one("[data-rest]", place);
    if (rest) rest.hidden = true;
  }

  return (row) => {
    if (row < 0 || row >= count) return false;
    if (!order.includes(row)) {
      search.value = "";
      arrange();
    }
    show(Math.floor(order.indexOf(row) / size));
    const element = document.getElementById(`${data.name}-${row + 1}`);
    element.classList.add("hit");
    element.scrollIntoView({ block: "center", behavior: "instant" });
    element.focus({ preventScroll: true });
    return true;
  };
};
