// The grid. What it shows is in the address, after the #, and nowhere else: every state can be sent to somebody.
"use strict";

(function (page) {
  const { el } = page;
  const byId = (id) => document.getElementById(id);
  const table = byId("grid");
  const dialog = byId("details");
  const controls = { kernel: byId("kernel"), outcome: byId("outcome"), regressions: byId("regressions") };
  const REGRESSED = page.changeBit("regressed");
  let state = {};
  let drawn = null;
  let rows = [];
  // The row, by its kernel's number, and the column of the table's one stop for Tab.
  let at = [0, 0];

  // The address

  function read() {
    const given = new URLSearchParams(location.hash.slice(1));
    const lanes = page.grids.map((grid) => grid.lane);
    const lane = lanes.includes(given.get("lane")) ? given.get("lane") : lanes[0];
    const targets = page.grids.filter((grid) => grid.lane === lane).map((grid) => grid.target);
    const target = targets.includes(given.get("target")) ? given.get("target") : targets[0];
    const outcomes = ["", "red", ...page.outcomes, ...page.changes];
    const outcome = outcomes.includes(given.get("outcome")) ? given.get("outcome") : "";
    return { lane, target, kernel: given.get("kernel") || "", outcome: outcome || "",
      regressions: given.get("regressions") === "1", cell: given.get("cell") || "", case: given.get("case") || "" };
  }

  function write(changes, keep) {
    const next = { ...state, ...changes };
    const hash = new URLSearchParams();
    if (next.lane !== page.grids[0].lane) hash.set("lane", next.lane);
    if (next.target && next.target !== page.grids.find((grid) => grid.lane === next.lane)?.target) hash.set("target", next.target);
    for (const name of ["kernel", "outcome", "cell", "case"]) if (next[name]) hash.set(name, next[name]);
    if (next.regressions) hash.set("regressions", "1");
    const address = "#" + hash.toString().replaceAll("%2F", "/");
    if (keep) location.hash = address; else history.replaceState(null, "", address);
    apply();
  }

  function apply() {
    const before = state;
    state = read();
    const grid = page.grids.find((one) => one.lane === state.lane && one.target === state.target);
    if (!grid) {
      byId("status").textContent = "This run recorded no cell.";
      return;
    }
    if (grid !== drawn) {
      draw(grid);
      choices();
    }
    if (document.activeElement !== controls.kernel) controls.kernel.value = state.kernel;
    controls.outcome.value = state.outcome;
    controls.regressions.checked = state.regressions;
    filter(grid);
    if (["cell", "case", "lane", "target"].some((name) => state[name] !== before[name])) opened(grid);
  }

  // The controls

  function radios(box, name, values, chosen, label) {
    const legend = box.querySelector("legend");
    box.replaceChildren(legend, ...values.map((value) => el("label", {},
      el("input", { type: "radio", name, value, checked: value === chosen }), el("span", {}, label(value)))));
  }

  function choices() {
    const lanes = [...new Set(page.grids.map((grid) => grid.lane))];
    radios(byId("lanes"), "lane", lanes, state.lane, (lane) => [lane]);
    const here = page.grids.filter((grid) => grid.lane === state.lane);
    radios(byId("targets"), "target", here.map((grid) => grid.target), state.target, (target) => {
      const red = reds(here.find((grid) => grid.target === target).counts[0]);
      return [target, red ? el("small", { title: red + " cells red bare" }, " " + red + " red") : null].filter(Boolean);
    });
  }

  const reds = (counts) => page.outcomes.reduce((sum, name, number) => sum + (page.red.includes(name) ? counts[number] : 0), 0);

  function outcomes() {
    const option = (value, text) => el("option", { value }, text || value);
    const seen = page.outcomes.filter((_, number) => page.grids.some((grid) => grid.counts.some((counts) => counts[number])));
    controls.outcome.append(option("red", "any red"), ...seen.map((name) => option(name)),
      el("optgroup", { label: "since the column before" }, page.changes.map((name) => option(name))));
  }

  // The table

  function draw(grid) {
    const focused = table.contains(document.activeElement);
    drawn = grid;
    rows = [];
    const head = el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "corner" }, "kernel"),
      page.columns.map((column) => el("th", { scope: "col" },
        el("a", { href: page.at("columns/" + column.slug + ".html"), title: column.label, tabindex: "-1" },
          column.short, el("small", {}, column.id.startsWith("triton-") ? (column.torch ? "torch " + column.torch.split("+")[0] : "") : "triton " + column.triton))))));
    const bodies = [false, true].map((shows) => {
      const body = el("tbody");
      const title = shows && page.kernels.some((kernel) => !kernel.shows);
      if (title) body.append(el("tr", { class: "title" }, el("th", { scope: "rowgroup", colspan: page.columns.length + 1 }, "Small kernels that each show a known issue")));
      page.kernels.forEach((kernel, row) => {
        if (kernel.shows !== shows || !grid.rows[row].some(Boolean)) return;
        const line = el("tr", {}, el("th", { scope: "row" }, el("a", { href: page.at("kernels/" + kernel.slug + ".html"), tabindex: "-1" }, page.name(kernel.name))),
          page.columns.map((_, column) => el("td", {}, square(grid.rows[row][column], row, column))));
        body.append(line);
        rows.push({ row, line, kernel });
      });
      return body;
    });
    table.replaceChildren(
      el("caption", { class: "unseen" }, "Worst outcome of each kernel on each column, bare and shimmed: " + grid.lane + ", " + grid.target),
      head, ...bodies.filter((body) => body.children.length));
    const counts = grid.counts[0];
    const order = ["pass", ...page.red, "unsupported", "not-run"].map((name) => page.outcomes.indexOf(name));
    byId("legend").replaceChildren(...order.filter((number) => counts[number] || grid.counts[1][number]).map((number) =>
      el("li", {}, page.mark(number), " " + page.outcomes[number] + " ", el("small", {}, counts[number].toLocaleString("en")))));
    tabStop();
    if (focused) stop(...at)?.focus();
  }

  function square(cell, row, column) {
    const [bare, shimmed, changed, changedShimmed] = cell || [0, 0, 0, 0];
    const told = page.changes.filter((_, number) => (changed | changedShimmed) & (1 << number));
    const label = page.kernels[row].name + ", " + page.columns[column].id + ": bare " + page.word(bare) + ", shimmed "
      + page.word(shimmed) + (told.length ? "; since the column before: " + told.join(", ") : "");
    const square = el("button", { type: "button", class: "square", tabindex: "-1", "aria-label": label, title: label,
      "aria-haspopup": "dialog" },
      page.mark(page.worst(bare), { ring: changed & REGRESSED }), page.mark(page.worst(shimmed), { ring: changedShimmed & REGRESSED }));
    return square;
  }

  function wanted(cell) {
    if (!cell) return false;
    const outcomes = cell[0] | cell[1];
    const changes = cell[2] | cell[3];
    if (state.regressions && !(changes & REGRESSED)) return false;
    if (!state.outcome) return true;
    if (state.outcome === "red") return Boolean(outcomes & page.redBits);
    return page.outcomes.includes(state.outcome) ? Boolean(outcomes & page.bit(state.outcome))
      : Boolean(changes & page.changeBit(state.outcome));
  }

  // Words or globs, with commas between.
  function names(text) {
    const parts = text.toLowerCase().split(",").map((part) => part.trim()).filter(Boolean);
    const tests = parts.map((part) => (/[*?]/.test(part)
      ? new RegExp("^" + part.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*+/g, ".*").replaceAll("?", ".") + "$")
      : { test: (name) => name.includes(part) }));
    return (name) => !tests.length || tests.some((one) => one.test(name.toLowerCase()));
  }

  function filter(grid) {
    const named = names(state.kernel);
    const choosing = Boolean(state.outcome || state.regressions);
    let shown = 0;
    let squares = 0;
    for (const { row, line, kernel } of rows) {
      const found = grid.rows[row].map(wanted);
      const visible = named(kernel.name) && (!choosing || found.includes(true));
      line.hidden = !visible;
      if (!visible) continue;
      shown += 1;
      found.forEach((is, column) => {
        squares += is ? 1 : 0;
        line.cells[column + 1].classList.toggle("dim", choosing && !is);
      });
    }
    for (const body of table.tBodies) {
      body.hidden = ![...body.rows].some((line) => !line.hidden && !line.classList.contains("title"));
    }
    const [bare, shimmed] = grid.counts.map(reds);
    byId("status").textContent = (shown === rows.length ? "All " + shown : shown + " of " + rows.length) + " kernels"
      + (choosing ? ", " + squares + " squares match" : "") + ". " + grid.lane + ", " + grid.target + ": "
      + bare.toLocaleString("en") + " cells red bare, " + shimmed.toLocaleString("en") + " shimmed.";
    tabStop();
  }

  // The keyboard: the table is one stop for Tab, arrows move within. Its first row and column are links, at -1.

  function stop(row, column) {
    const line = row < 0 ? table.tHead.rows[0] : rows.find((one) => one.row === row)?.line;
    return line?.cells[column + 1].querySelector("a, button");
  }

  function tabStop() {
    const visible = rows.filter((one) => !one.line.hidden);
    if (at[0] >= 0 && !visible.some((one) => one.row === at[0])) at = [visible.length ? visible[0].row : -1, at[1]];
    for (const old of table.querySelectorAll("[tabindex='0']")) old.tabIndex = -1;
    const now = stop(...at);
    if (now) now.tabIndex = 0;
  }

  function move(event) {
    const visible = [-1, ...rows.filter((one) => !one.line.hidden).map((one) => one.row)];
    const last = page.columns.length - 1;
    let place = visible.indexOf(at[0]);
    let column = at[1];
    const far = event.ctrlKey || event.metaKey;
    if (event.key === "ArrowDown") place += 1;
    else if (event.key === "ArrowUp") place -= 1;
    else if (event.key === "ArrowRight") column += 1;
    else if (event.key === "ArrowLeft") column -= 1;
    else if (event.key === "PageDown") place += 10;
    else if (event.key === "PageUp") place -= 10;
    else if (event.key === "Home") [place, column] = [far ? Math.min(1, visible.length - 1) : place, 0];
    else if (event.key === "End") [place, column] = [far ? visible.length - 1 : place, last];
    else return;
    event.preventDefault();
    const row = visible[Math.min(Math.max(place, 0), visible.length - 1)];
    // The corner is no place to be.
    stop(row, Math.min(Math.max(column, row < 0 ? 0 : -1), last)).focus();
  }

  // Where a link or a square of the table is.
  function placeOf(node) {
    const cell = node.closest("th, td");
    return [rows.find((one) => one.line === cell.parentNode)?.row ?? -1, cell.cellIndex - 1];
  }

  // The details

  const address = (row, column) => page.kernels[row].slug + "/" + page.columns[column].slug;

  function opened(grid) {
    if (!state.cell) {
      if (dialog.open) dialog.close();
      return;
    }
    const [slug, name] = state.cell.split("/");
    const row = page.kernels.findIndex((kernel) => kernel.slug === slug);
    const column = page.columns.findIndex((one) => one.slug === name);
    if (row < 0 || column < 0) {
      byId("status").textContent = "This run has no " + state.cell + ".";
      return;
    }
    at = [row, column];
    tabStop();
    page.show(dialog, grid, row, column, state.case, {
      go: (to) => write({ cell: address(row, to) }),
      close: leave,
      chosen: (name) => {
        // It is drawn already.
        state.case = name;
        write({});
      },
    });
  }

  function leave() {
    // The browser gives the focus back to the square that was opened; from there the reader may have gone on.
    const place = at;
    write({ cell: "", case: "" });
    stop(...place)?.focus();
  }

  table.addEventListener("click", (event) => {
    const square = event.target.closest("button.square");
    if (square) write({ cell: address(...placeOf(square)) }, true);
  });
  table.addEventListener("keydown", (event) => {
    if (event.target.matches("a, button")) move(event);
  });
  table.addEventListener("focusin", (event) => {
    at = placeOf(event.target);
    tabStop();
  });
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    leave();
  });
  // A browser may close it without asking; then the address is still to be told.
  dialog.addEventListener("close", () => {
    if (state.cell) leave();
  });
  dialog.addEventListener("click", (event) => {
    // The backdrop is the dialog itself; what is in it is not.
    if (event.target === dialog) leave();
  });
  byId("controls").addEventListener("change", (event) => {
    const { name, value } = event.target;
    if (name === "lane") write({ lane: value, target: "" });
    else if (name === "target") write({ target: value });
    else write({ outcome: controls.outcome.value, regressions: controls.regressions.checked });
  });
  controls.kernel.addEventListener("input", () => write({ kernel: controls.kernel.value.trim() }));
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("controls").addEventListener("reset", (event) => {
    event.preventDefault();
    controls.kernel.value = "";
    write({ kernel: "", outcome: "", regressions: false });
  });
  addEventListener("hashchange", apply);

  outcomes();
  apply();
})(crosswarp);
