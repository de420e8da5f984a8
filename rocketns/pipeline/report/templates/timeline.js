const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const STEPS = [1, 2, 5, 10, 15, 30].map((n) => n * SECOND).concat([1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  [1, 2, 3, 6, 12].map((n) => n * HOUR), [1, 2, 7, 14, 28].map((n) => n * DAY));
const SHORTEST = 10 * SECOND, ROWS_MAX = 60, SPANS_MAX = 4000;
const WORDS = {
  severe: _("severe"), major: _("major"), minor: _("minor"), gone: _("gone after a failure"),
  left: _("gone without a failure or not there yet"), differs: _("name servers disagree"),
  down: _("name server away or not known"), unseen: _("gone, cause not visible from outside"), unwatched: _("not watched"),
};

const moment = (ms) => new Date(ms).toISOString().slice(0, 19).replace("T", " ");
const lasting = (ms) => {
  const parts = [[DAY, "%(n)s d"], [HOUR, "%(n)s h"], [MINUTE, "%(n)s min"], [SECOND, "%(n)s s"]];
  const first = parts.findIndex(([size]) => ms >= size);
  if (first < 0) return _("%(n)s ms", { n: ms });
  const [size, unit] = parts[first], [next, name] = parts[first + 1] ?? [1, ""];
  const rest = name ? Math.floor((ms % size) / next) : 0;
  return [_(unit, { n: Math.floor(ms / size) }), rest ? _(name, { n: rest }) : ""].filter(Boolean).join(" ");
};

// The timeline: an overview with the chosen part marked, and that part in detail.
const timeline = (place) => {
  const data = JSON.parse(one("script", place).textContent);
  const whole = data.t1 - data.t0;
  const overview = one("[data-overview]", place);
  let view = [0, whole], group = data.groups[0];

  const mark = made("div", { className: "brush" });
  const range = made("span", { className: "range" });
  range.setAttribute("role", "status");
  const choose = made("select", {}, ...data.groups.map((one, value) => made("option", { value, textContent: isolated(one.name) })));
  const rows = made("div", { className: "rows" }), note = made("p", { className: "cut" });
  const detail = made("div", { className: "detail", tabIndex: 0 }, made("div", { className: "row ticks" }, made("span"), made("span")), rows);
  detail.setAttribute("role", "group");
  detail.setAttribute("aria-label", _("A part of the timeline. Arrow keys move it, plus and minus zoom, Home shows everything."));

  const set = (from, to) => {
    const length = Math.min(whole, Math.max(Math.min(SHORTEST, whole), to - from));
    const begin = Math.max(0, Math.min(whole - length, from));
    view = [begin, begin + length];
    draw();
  };
  const move = (part) => set(view[0] + part * (view[1] - view[0]), view[1] + part * (view[1] - view[0]));
  const zoom = (factor) => {
    const centre = (view[0] + view[1]) / 2, half = ((view[1] - view[0]) * factor) / 2;
    set(centre - half, centre + half);
  };

  const bar = ([from, to, state, words, anchor]) => {
    const tip = _("%(what)s: %(begin)s to %(end)s UTC, %(length)s",
      { what: isolated(words), begin: moment(data.t0 + from), end: moment(data.t0 + to), length: lasting(to - from) });
    const element = made(anchor ? "a" : "i", { className: `span ${state}`, title: tip });
    if (anchor) {
      element.href = `#${anchor}`;
      element.setAttribute("aria-label", tip);
    }
    const length = view[1] - view[0], left = Math.max(from, view[0]);
    element.style.left = `${(100 * (left - view[0])) / length}%`;
    element.style.width = `${(100 * (Math.min(to, view[1]) - left)) / length}%`;
    return element;
  };
  const ticks = () => {
    const length = view[1] - view[0], most = detail.clientWidth < 600 ? 3 : 7;
    const step = STEPS.find((size) => length / size <= most) ?? Math.ceil(length / most / DAY) * DAY;
    const found = [];
    for (let at = Math.ceil((data.t0 + view[0]) / step) * step; at < data.t0 + view[1]; at += step) {
      const text = moment(at);
      const label = at % DAY === 0 ? text.slice(5, 10) : step < MINUTE ? text.slice(11) : text.slice(11, 16);
      const element = made("span", { textContent: label });
      element.style.left = `${(100 * (at - data.t0 - view[0])) / length}%`;
      found.push(element);
    }
    one(".ticks", detail).lastChild.replaceChildren(...found);
  };
  const draw = () => {
    const inView = (span) => span[0] < view[1] && Math.max(span[1], span[0] + 1) > view[0];
    const some = group.rows.map((row) => [row.label, row.spans.filter(inView)]).filter(([, spans]) => spans.length);
    let drawn = 0;
    const shown = some.slice(0, ROWS_MAX).filter(([, spans]) => (drawn += spans.length) <= SPANS_MAX);
    rows.replaceChildren(...shown.map(([label, spans]) => made("div", { className: "row" },
      made("span", { className: "label", title: isolated(label) }, ...texts(label)),
      made("span", { className: "bars plain" }, ...spans.map(bar)))));
    const states = new Set(shown.flatMap(([, spans]) => spans.map((span) => span[2])));
    const legend = Object.keys(WORDS).filter((state) => states.has(state)).map((state) => made("span", {}, made("i", { className: state }), WORDS[state]));
    const more = some.length - shown.length;
    const facts = [some.length ? "" : _("Nothing was wrong in this time."),
      more ? _("%(n)s more rows have something in this time: choose a shorter one.", { n: counted(more) }) : "", group.steady];
    note.replaceChildren(made("span", { className: "legend" }, ...legend), facts.filter(Boolean).join(" "));
    range.textContent = _("%(begin)s to %(end)s UTC, %(length)s",
      { begin: moment(data.t0 + view[0]), end: moment(data.t0 + view[1]), length: lasting(view[1] - view[0]) });
    ticks();
    paint();
  };
  const paint = () => {
    const bars = one(".bars", overview), outer = overview.getBoundingClientRect(), inner = bars.getBoundingClientRect();
    mark.style.left = `${inner.left - outer.left + (inner.width * view[0]) / whole}px`;
    mark.style.width = `${Math.max(3, (inner.width * (view[1] - view[0])) / whole)}px`;
  };

  overview.append(mark);
  overview.after(made("div", { className: "controls" },
    made("label", {}, `${_("Show")} `, choose), button("◀", _("Earlier"), () => move(-0.5)), button("▶", _("Later"), () => move(0.5)),
    button("+", _("Zoom in"), () => zoom(0.5)), button("−", _("Zoom out"), () => zoom(2)), button(_("All"), _("Show everything"), () => set(0, whole)), range),
  detail, note);
  choose.addEventListener("input", () => { group = data.groups[Number(choose.value)]; draw(); });
  detail.addEventListener("keydown", (event) => {
    const acts = { ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), Home: () => set(0, whole) };
    const act = event.ctrlKey || event.metaKey || event.altKey ? null : acts[event.key];
    if (act) {
      event.preventDefault();
      act();
    }
  });
  const at = (event) => {
    const inner = one(".bars", overview).getBoundingClientRect();
    return (whole * Math.max(0, Math.min(inner.width, event.clientX - inner.left))) / inner.width;
  };
  overview.addEventListener("pointerdown", (event) => {
    const from = at(event), length = view[1] - view[0];
    overview.setPointerCapture(event.pointerId);
    const drag = (moved) => set(Math.min(from, at(moved)), Math.max(from, at(moved)));
    const release = (last) => {
      overview.removeEventListener("pointermove", drag);
      // a click without a drag moves the part there
      if (Math.abs(last.clientX - event.clientX) < 4) set(from - Math.min(length, whole / 8) / 2, from + Math.min(length, whole / 8) / 2);
    };
    overview.addEventListener("pointermove", drag);
    overview.addEventListener("pointerup", release, { once: true });
    event.preventDefault();
  });
  addEventListener("resize", draw);
  place.closest("details")?.addEventListener("toggle", draw);  // while it is closed nothing has a width
  draw();
};
