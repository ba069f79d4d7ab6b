// Filters, sorting and labels of the page; it can be read without them. Shortcuts are in shortcuts.js.
"use strict";
(() => {
  const table = document.querySelector("table.all");
  const byId = (id) => document.getElementById(id);
  const form = document.querySelector("form.filters");
  const more = form.querySelector("details");
  const heads = [...table.tHead.rows[0].cells];
  const run = table.dataset.run;
  const RANKS = { error: 0, fail: 1, unscored: 2, ungated: 3, pass: 4, worse: 0, other: 1, new: 2, "": 3, better: 4 };
  const unit = byId("count").textContent.split(" ").at(-1); // cases or trials
  const rows = [...table.tBodies].map((body, place) => ({ body, place, id: body.querySelector("dl").id.slice(1) }));
  const rowOf = new Map(rows.map((row) => [row.body, row]));
  const scores = heads.map((head, at) => (head.dataset.by === "score" ? at : -1)).filter((at) => at >= 0);

  const made = (name, fields = {}, ...inside) => {
    const node = Object.assign(document.createElement(name), fields);
    node.append(...inside);
    return node;
  };

  // The number of a cell: its text, or its data attribute if the text is not the number.
  const number = (row, at) => {
    const cell = row.body.rows[0].cells[at];
    const found = cell.dataset.s === undefined ? parseFloat(cell.textContent) : Number(cell.dataset.s);
    return Number.isFinite(found) ? found : null;
  };

  // The filters are in the fragment of the address, so that it can be saved and shared.
  const NAMES = ["text", "verdict", "outcome", "tag", "metric", "low", "high", "label", "sort"];
  let state = {};

  // The first order is the worst first, by what decided the gate; "position" is that of the dataset.
  const [, way, of] = /^(-?)score:(\d+)$/.exec(table.dataset.order) ?? [];
  const FIRST = of ? `${way}score${scores[Number(of)]}` : table.dataset.order;
  const nothing = () => Object.fromEntries(NAMES.map((name) => [name, name === "sort" ? FIRST : ""]));

  const fillIn = () => {
    for (const field of form.elements) if (field.name) field.value = state[field.name] ?? "";
    if ([...more.querySelectorAll("input, select")].some((field) => field.value)) more.open = true;
  };

  // A link opens a case or one of its texts, even if it is filtered out.
  const lead = (target) => {
    const body = target?.closest("table.all > tbody");
    if (!body) return;
    if (body.hidden) {
      state = nothing();
      fillIn();
      show();
    }
    body.querySelector("details").open = true;
    target.scrollIntoView({ block: "nearest" });
  };

  const read = () => {
    const hash = location.hash.slice(1);
    if (hash && !hash.includes("=")) return lead(byId(hash));
    const said = new URLSearchParams(hash);
    state = { ...nothing(), ...Object.fromEntries(NAMES.filter((name) => said.get(name)).map((name) => [name, said.get(name)])) };
    fillIn();
    show();
  };

  const write = () => {
    const said = new URLSearchParams(Object.entries(state).filter(([name, value]) => value && !(name === "sort" && value === FIRST))).toString();
    try {
      history.replaceState(null, "", said ? `#${said}` : location.pathname + location.search);
    } catch {
      location.hash = said; // a page from disk may not change its address otherwise
    }
  };

  const limit = (text) => {
    const found = parseFloat(text.replace(",", "."));
    return Number.isFinite(found) ? found : null;
  };

  const fits = () => {
    const text = state.text.trim().toLowerCase();
    const [low, high] = [limit(state.low), limit(state.high)];
    const columns = state.metric === "" ? scores : [scores[Number(state.metric)]];
    const tests = [];
    if (state.verdict) tests.push((row) => row.body.dataset.v === state.verdict);
    if (state.outcome) tests.push(({ body }) => (state.outcome === "flipped" ? ["worse", "better"].includes(body.dataset.w) : body.dataset.w === state.outcome));
    if (state.tag) tests.push((row) => (row.body.dataset.t ?? "").split("\n").includes(state.tag));
    if (low !== null || high !== null) {
      const within = (found) => found !== null && (low === null || found >= low) && (high === null || found <= high);
      tests.push((row) => columns.some((at) => within(number(row, at))));
    }
    if (state.label) tests.push((row) => (state.label === "none" ? !labels.has(row.id) : state.label === "some" ? labels.has(row.id) : labels.get(row.id)?.label === state.label));
    if (text) tests.push((row) => (row.text ??= row.body.textContent.toLowerCase()).includes(text));
    return (row) => tests.every((test) => test(row));
  };

  const key = (by, at) => {
    if (by === "case") return (row) => (row.name ??= row.body.querySelector("bdi").textContent);
    if (by === "verdict") return (row) => RANKS[row.body.dataset.v];
    if (by === "outcome") return (row) => RANKS[row.body.dataset.w ?? ""];
    return (row) => number(row, at);
  };

  const words = new Intl.Collator("en", { numeric: true });
  let order = "";

  const sort = () => {
    if (order === state.sort) return;
    order = state.sort;
    // The list of the worst cases would repeat the beginning of the table.
    document.querySelector(".looking")?.toggleAttribute("hidden", order === FIRST);
    const down = order.startsWith("-");
    const at = heads.findIndex((head, index) => `${head.dataset.by}${head.dataset.by === "score" ? index : ""}` === order.replace("-", ""));
    heads.forEach((head, index) => {
      if (!head.dataset.by) return;
      head.setAttribute("aria-sort", index !== at ? "none" : down ? "descending" : "ascending");
      head.querySelector(".arrow").textContent = index !== at ? "" : down ? "\u2193" : "\u2191";
    });
    const value = at < 0 ? (row) => row.place : key(heads[at].dataset.by, at);
    const keyed = rows.map((row) => [value(row), row]);
    const compare = (a, b) => (typeof a === "string" ? words.compare(a, b) : a - b);
    keyed.sort(([a, one], [b, other]) => {
      if (a === null || b === null) return (a === null) - (b === null) || one.place - other.place; // unknown values come last
      return (down ? compare(b, a) : compare(a, b)) || one.place - other.place;
    });
    keyed.forEach(([, row], index) => (rows[index] = row));
    table.append(...rows.map((row) => row.body));
  };

  const show = () => {
    sort();
    const test = fits();
    let n = 0;
    for (const row of rows) n += !(row.body.hidden = !test(row));
    byId("count").textContent = `${n === rows.length ? "" : `${n.toLocaleString("en")} of `}${rows.length.toLocaleString("en")} ${unit}`;
    for (const chip of document.querySelectorAll(".chips a")) chip.toggleAttribute("aria-current", chip.hash === `#verdict=${state.verdict}`);
  };

  const change = () => {
    for (const [name, value] of new FormData(form)) state[name] = value.trim();
    write();
    show();
  };

  // Replace links to shared texts by the texts, and add the label form.
  const open = (details) => {
    for (const link of details.querySelectorAll("dd > a")) {
      const whole = byId(link.hash.slice(1));
      if (whole) link.replaceWith(...whole.cloneNode(true).childNodes);
    }
    labelForm(rowOf.get(details.closest("table.all > tbody")));
  };

  // Labels are stored in the browser, if it allows it, until they are saved as a file.
  const labels = new Map();
  const kept = `evalmark-labels:${run}`;
  const said = byId("said");
  let isKept = true;

  const keep = () => {
    try {
      localStorage.setItem(kept, JSON.stringify({ by: said.elements.by.value, labels: [...labels] }));
    } catch {
      isKept = false;
    }
    const hasCome = said.hidden && labels.size > 0;
    said.hidden = !labels.size;
    if (hasCome) table.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" }); // not behind the bar
    said.querySelector("b").textContent = `${labels.size} ${labels.size === 1 ? "label" : "labels"}`;
    said.querySelector("[role=status]").textContent = labels.size && !isKept ? "This browser does not store them: save them before you leave the page." : "";
  };

  const recall = () => {
    try {
      const found = JSON.parse(localStorage.getItem(kept) ?? "{}");
      said.elements.by.value = String(found.by ?? "");
      for (const [id, one] of found.labels ?? []) if (rows.some((row) => row.id === id)) labels.set(id, one);
    } catch {
      isKept = false;
    }
    for (const row of rows) if (labels.has(row.id)) sign(row);
    keep();
  };

  const sign = (row) => {
    row.body.querySelector(".given")?.remove();
    const one = labels.get(row.id);
    if (!one) return;
    const mark = made("span", { className: `given ${one.label ?? ""}`, title: one.comment ?? "" });
    if (one.label) mark.append(byId("label").content.querySelector(`.${one.label} svg`).cloneNode(true), made("span", { className: "visually-hidden", textContent: one.label === "up" ? "labelled good" : "labelled bad" }));
    else mark.append("labelled");
    row.body.querySelector("th").append(" ", mark);
  };

  const label = (row, changes) => {
    const one = { ...labels.get(row.id), ...changes };
    for (const name of Object.keys(one)) if (one[name] === undefined || one[name] === "") delete one[name];
    if (Object.keys(one).length) labels.set(row.id, one);
    else labels.delete(row.id);
    sign(row);
    fill(row);
    keep();
  };

  // Update the form of a row, if it exists.
  const fill = (row) => {
    const fields = row.body.querySelector("form");
    const one = labels.get(row.id) ?? {};
    for (const button of fields?.querySelectorAll("button") ?? []) button.setAttribute("aria-pressed", String(button.value === one.label));
  };

  const thumb = (row, way) => {
    const isTaken = labels.get(row.id)?.label === way;
    label(row, { label: isTaken ? undefined : way });
    const what = isTaken ? "Withdrawn" : { up: "Good", down: "Bad" }[way];
    document.dispatchEvent(new CustomEvent("evalmark:said", { detail: `${what}: ${row.body.querySelector("bdi").textContent}` }));
  };

  // Created when a row is opened or gets the focus.
  const labelForm = (row) => {
    const details = row.body.querySelector("details");
    if (!run || details.querySelector("form")) return;
    details.append(byId("label").content.cloneNode(true));
    const fields = details.querySelector("form");
    const { score, comment } = fields.elements;
    score.value = labels.get(row.id)?.score ?? "";
    comment.value = labels.get(row.id)?.comment ?? "";
    score.addEventListener("input", () => {
      const text = score.value.trim().replace(",", ".");
      const isOne = text === "" || (/^[0-9.]+$/.test(text) && Number(text) <= 1);
      score.setAttribute("aria-invalid", String(!isOne));
      if (isOne) label(row, { score: text === "" ? undefined : Number(text) });
    });
    comment.addEventListener("input", () => label(row, { comment: comment.value.trim() }));
    for (const button of fields.querySelectorAll("button")) button.addEventListener("click", () => thumb(row, button.value));
    fields.addEventListener("submit", (event) => event.preventDefault());
    fill(row);
  };

  const save = () => {
    const by = said.elements.by.value.trim();
    const lines = [...labels].map(([id, one]) => JSON.stringify({ id: `output:${run}/${id}`, ...one, ...(by && { by }) }));
    const address = URL.createObjectURL(new Blob([lines.join("\n"), "\n"], { type: "application/x-ndjson" }));
    const name = `labels-${run.replace(/[^\w.-]/g, "_")}.jsonl`;
    made("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    said.querySelector("[role=status]").textContent = `Saved; import them with evalmark note --file ${name}.`;
  };

  table.addEventListener("focusin", (event) => event.target.closest("table.all > tbody") && labelForm(rowOf.get(event.target.closest("table.all > tbody"))));
  table.addEventListener("toggle", (event) => event.target.open && event.target.matches("table.all > tbody > tr > td > details") && open(event.target), true);

  for (const head of heads) {
    if (!head.dataset.by) continue;
    const name = `${head.dataset.by}${head.dataset.by === "score" ? heads.indexOf(head) : ""}`;
    const text = head.querySelector("span");
    const first = head.dataset.by === "seconds" ? `-${name}` : name;
    const link = made("a", { className: "sort", href: `#sort=${first}` });
    text.replaceWith(link);
    link.append(text, made("span", { className: "arrow", ariaHidden: "true" }));
    head.setAttribute("aria-sort", "none");
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const other = first === name ? `-${name}` : name;
      state.sort = state.sort === first ? other : state.sort === other ? "position" : first;
      write();
      show();
    });
  }
  for (const chip of document.querySelectorAll(".chips li")) {
    const inside = chip.firstElementChild;
    const link = made("a", { href: `#verdict=${chip.dataset.verdict}` });
    inside.replaceWith(link);
    link.append(inside);
  }
  const tags = new Set(rows.flatMap((row) => (row.body.dataset.t ?? "").split("\n")).filter(Boolean));
  byId("tags").append(...[...tags].sort(words.compare).slice(0, 500).map((value) => made("option", { value })));
  if (!tags.size) form.elements.tag.closest("label").remove();
  more.hidden = !more.querySelector("input, select");

  let waiting = 0;
  form.hidden = false;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(change, 120);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    change();
  });
  form.addEventListener("reset", () => setTimeout(change));
  if (run) {
    said.addEventListener("submit", (event) => {
      event.preventDefault();
      save();
    });
    said.elements.by.addEventListener("input", keep);
    recall();
    addEventListener("beforeunload", (event) => labels.size && !isKept && event.preventDefault());
  }
  addEventListener("hashchange", read);
  state = nothing();
  read();
  document.querySelectorAll(".all > tbody > tr > td > details[open]").forEach(open);
})();
