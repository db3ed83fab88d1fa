// The grid. What it shows is in the address, after the #, and nowhere else: every state can be sent to somebody.
"use strict";

(function (page) {
  const { el } = page;
  const byId = (id) => document.getElementById(id);
  const table = byId("grid");
  const dialog = byId("details");
  const controls = { kernel: byId("kernel"), outcome: byId("outcome"), regressions: byId("regressions"), sort: byId("sort") };
  const ALL = "all";
  const REGRESSED = page.changeBit("regressed");
  let state = {};
  let drawn = null;
  let rows = [];
  // The row, by its kernel's number, and the column of the table's one stop for Tab.
  let at = [0, 0];

  // The address

  // A grid stands for one lane and target, or for all of a lane, or for all there is: then a square is the worst of them.
  const combined = new Map();

  const bits = (cells) => cells.filter(Boolean).reduce((sum, cell) => sum.map((set, number) => set | cell[number]), [0, 0, 0, 0]);

  function gridOf(lane, target) {
    const key = lane + "/" + target;
    if (!combined.has(key)) {
      const parts = page.grids.filter((one) => (lane === ALL || one.lane === lane) && (target === ALL || one.target === target));
      combined.set(key, parts.length < 2 ? { ...parts[0], parts } : {
        lane, target, parts,
        counts: [0, 1].map((mode) => page.outcomes.map((_, number) => parts.reduce((sum, one) => sum + one.counts[mode][number], 0))),
        rows: page.kernels.map((_, row) => page.columns.map((_, column) => {
          const cells = parts.map((one) => one.rows[row][column]);
          return cells.some(Boolean) ? bits(cells) : 0;
        })),
      });
    }
    return combined.get(key);
  }

  const scopeOf = (grid) => grid.lane === ALL ? "All lanes and targets" : grid.lane + ", " + (grid.target === ALL ? "all targets" : grid.target);
  const lanesOf = (target) => page.grids.filter((grid) => target === ALL || grid.target === target).map((grid) => grid.lane);
  const targetsOf = (lane) => [...new Set(page.grids.filter((grid) => lane === ALL || grid.lane === lane).map((grid) => grid.target))];

  function read() {
    const given = new URLSearchParams(location.hash.slice(1));
    const lanes = new Set(page.grids.map((grid) => grid.lane));
    let lane = lanes.has(given.get("lane")) ? given.get("lane") : ALL;
    let target = targetsOf(lane).includes(given.get("target")) ? given.get("target") : ALL;
    // A target is of the first lane that has it; where there is one alone, it is meant.
    if (lane === ALL && target !== ALL) lane = lanesOf(target)[0];
    if (lane !== ALL && targetsOf(lane).length === 1) target = targetsOf(lane)[0];
    if (page.grids.length === 1) ({ lane, target } = page.grids[0]);
    const outcomes = ["", "red", ...page.outcomes, ...page.changes];
    const outcome = outcomes.includes(given.get("outcome")) ? given.get("outcome") : "";
    return { lane, target, kernel: given.get("kernel") || "", outcome: outcome || "", sort: given.get("sort") === "name" ? "name" : "",
      regressions: given.get("regressions") === "1", cell: given.get("cell") || "", case: given.get("case") || "", at: given.get("at") || "" };
  }

  function write(changes, keep) {
    const next = { ...state, ...changes };
    const hash = new URLSearchParams();
    const alone = next.lane !== ALL && targetsOf(next.lane).length === 1;
    const named = next.target && next.target !== ALL && !alone;
    if (next.lane !== ALL && page.grids.length > 1 && !(named && lanesOf(next.target)[0] === next.lane)) hash.set("lane", next.lane);
    if (named) hash.set("target", next.target);
    for (const name of ["kernel", "outcome", "sort", "cell", "at", "case"]) if (next[name]) hash.set(name, next[name]);
    if (next.regressions) hash.set("regressions", "1");
    const address = "#" + hash.toString().replaceAll("%2F", "/");
    if (keep) location.hash = address; else history.replaceState(null, "", address);
    apply();
  }

  function apply() {
    const before = state;
    state = read();
    if (!page.grids.length) {
      byId("controls").hidden = byId("hint").hidden = true;
      byId("status").textContent = "This run recorded no cell.";
      empty("What kept it from its cells stands under “What is missing”, and in the log of the run. Then: crosswarp run");
      return;
    }
    const grid = gridOf(state.lane, state.target);
    if (grid !== drawn || state.sort !== before.sort) {
      draw(grid);
      choices();
    }
    if (document.activeElement !== controls.kernel) controls.kernel.value = state.kernel;
    controls.outcome.value = state.outcome;
    controls.regressions.checked = state.regressions;
    controls.sort.checked = state.sort === "name";
    filter(grid);
    if (["cell", "case", "at", "lane", "target"].some((name) => state[name] !== before[name])) opened(grid);
  }

  // The controls

  function radios(box, name, values, chosen, label) {
    const legend = box.querySelector("legend");
    box.replaceChildren(legend, ...values.map((value) => el("label", {},
      el("input", { type: "radio", name, value, checked: value === chosen }), el("span", {}, label(value)))));
  }

  function choices() {
    const all = (values) => (values.length > 1 ? [ALL, ...values] : values);
    radios(byId("lanes"), "lane", all([...new Set(page.grids.map((grid) => grid.lane))]), state.lane, (lane) => [lane]);
    const targets = targetsOf(state.lane);
    radios(byId("targets"), "target", all(targets), state.target, (target) => {
      const red = target === ALL ? 0 : reds(gridOf(state.lane, target).counts[0]);
      return [target, red ? el("small", { title: red + " cells fail without compat" }, " " + red + " fail") : null].filter(Boolean);
    });
  }

  const reds = (counts) => page.outcomes.reduce((sum, name, number) => sum + (page.red.includes(name) ? counts[number] : 0), 0);

  function outcomes() {
    const option = (value, text) => el("option", { value }, text || value);
    const seen = page.outcomes.filter((_, number) => page.grids.some((grid) => grid.counts.some((counts) => counts[number])));
    controls.outcome.append(option("red", "any failure"), ...seen.map((name) => option(name)),
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
      ordered(grid).forEach((row) => {
        const kernel = page.kernels[row];
        if (kernel.shows !== shows || !grid.rows[row].some(Boolean)) return;
        const line = el("tr", {}, el("th", { scope: "row" }, el("a", { href: page.at("kernels/" + kernel.slug + ".html"), tabindex: "-1" }, page.name(kernel.name))),
          page.columns.map((_, column) => el("td", {}, square(grid.rows[row][column], row, column))));
        body.append(line);
        rows.push({ row, line, kernel });
      });
      return body;
    });
    table.replaceChildren(
      el("caption", { class: "unseen" }, "Worst outcome of each kernel on each column, without compat and with it: " + scopeOf(grid)),
      head, ...bodies.filter((body) => body.children.length));
    const counts = grid.counts[0];
    const order = ["pass", ...page.red, "unsupported", "not-run"].map((name) => page.outcomes.indexOf(name));
    byId("legend").replaceChildren(...order.filter((number) => counts[number] || grid.counts[1][number]).map((number) =>
      el("li", {}, page.mark(number), " " + page.outcomes[number] + " ", el("small", {}, counts[number].toLocaleString("en")))));
    tabStop();
    if (focused) stop(...at)?.focus();
  }

  const MODE = () => document.documentElement.dataset.mode;
  // What the switch in the header shows: bare, shimmed, or both.
  const sides = (cell) => (MODE() === "bare" ? [cell[0], cell[2]] : MODE() === "shimmed" ? [cell[1], cell[3]]
    : [cell[0] | cell[1], cell[2] | cell[3]]);

  // The worst outcome first, then the kernel with more of it; by name where that was asked for.
  function ordered(grid) {
    const numbers = page.kernels.map((_, row) => row);
    if (state.sort === "name") return numbers;
    const badness = numbers.map((row) => {
      const red = grid.rows[row].filter(Boolean).map((cell) => sides(cell)[0] & page.redBits).filter(Boolean);
      const worst = Math.min(...red.map(page.worst), page.outcomes.length);
      return [worst, -red.filter((set) => page.worst(set) === worst).length, -red.length, row];
    });
    const compare = (a, b) => a.map((value, place) => value - b[place]).find(Boolean) || 0;
    return numbers.sort((a, b) => compare(badness[a], badness[b]));
  }

  function empty(text) {
    byId("empty").hidden = !text;
    byId("empty").textContent = text;
  }

  function square(cell, row, column) {
    const [bare, shimmed, changed, changedShimmed] = cell || [0, 0, 0, 0];
    const changes = page.changes.filter((_, number) => (changed | changedShimmed) & (1 << number));
    const label = page.kernels[row].name + ", " + page.columns[column].id + ": without compat " + page.word(bare) + ", with compat "
      + page.word(shimmed) + (changes.length ? "; since the column before: " + changes.join(", ") : "");
    const square = el("button", { type: "button", class: "square", tabindex: "-1", "aria-label": label, title: label,
      "aria-haspopup": "dialog" },
      page.mark(page.worst(bare), { ring: changed & REGRESSED, mode: "bare" }),
      page.mark(page.worst(shimmed), { ring: changedShimmed & REGRESSED, mode: "shimmed" }));
    return square;
  }

  function wanted(cell) {
    if (!cell) return false;
    const [outcomes, changes] = sides(cell);
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
      + (rows.length < page.kernels.length ? " that ran here" : "")
      + (choosing ? ", " + squares + " squares match" : "") + ". " + scopeOf(grid) + ": "
      + bare.toLocaleString("en") + " cells fail without compat, " + shimmed.toLocaleString("en") + " with compat.";
    empty(shown ? "" : "No kernel is like that here. Clear the filters, or choose another lane or target.");
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
    // Of a square that stands for several, the one that was asked for, else the worst.
    const parts = grid.parts.filter((one) => one.rows[row][column]);
    const rank = (one) => page.worst(sides(one.rows[row][column])[0]);
    const worst = parts.reduce((best, one) => (best && rank(best) <= rank(one) ? best : one), null) || grid.parts[0];
    const place = (one) => one.lane + "/" + one.target;
    const one = parts.find((part) => place(part) === state.at) || worst;
    page.show(dialog, one, row, column, state.case, parts, {
      move: (part) => write({ at: place(part), case: "" }),
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
    write({ cell: "", case: "", at: "" });
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
  // A browser may close it without asking; then the address is not yet changed.
  dialog.addEventListener("close", () => {
    if (state.cell) leave();
  });
  dialog.addEventListener("click", (event) => {
    // The backdrop is the dialog itself; what is in it is not.
    if (event.target === dialog) leave();
  });
  byId("controls").addEventListener("change", (event) => {
    const { name, value } = event.target;
    if (name === "lane") write({ lane: value, target: ALL });
    else if (name === "target") write({ target: value, lane: state.lane === ALL && value !== ALL ? lanesOf(value)[0] : state.lane });
    else write({ sort: controls.sort.checked ? "name" : "", outcome: controls.outcome.value, regressions: controls.regressions.checked });
  });
  controls.kernel.addEventListener("input", () => write({ kernel: controls.kernel.value.trim() }));
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("controls").addEventListener("reset", (event) => {
    event.preventDefault();
    controls.kernel.value = "";
    write({ kernel: "", outcome: "", sort: "", regressions: false });
  });
  addEventListener("hashchange", apply);
  addEventListener("modechange", () => {
    if (!drawn) return;
    draw(drawn);
    filter(drawn);
  });

  outcomes();
  apply();
})(crosswarp);
