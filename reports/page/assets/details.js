// What a square of the grid stands for: causes, the command, resources by version, every cell.
"use strict";

(function (page) {
  const { el } = page;
  const { case: CASE, config: CONFIG, mode: MODE, outcome: OUTCOME, reason: REASON, fingerprint: FINGERPRINT, message: MESSAGE,
    seconds: SECONDS, issue: ISSUE, shims: SHIMS, figures: FIGURES } = page.fields;
  const MAX_CASES = 6;

  const web = (url, text) => el("a", { href: url, rel: "noreferrer" }, text);

  function shortLink(url) {
    const parts = url.replace(/\/+$/, "").split("/");
    return parts[2] === "github.com" && parts.length === 7 ? parts[3] + "/" + parts[4] + "#" + parts[6] : parts.slice(2).join("/");
  }

  function copyable(text) {
    const button = el("button", { type: "button", class: "copy" }, "Copy");
    const shown = el("pre", { class: "command", tabindex: "0", role: "region", "aria-label": "command" }, text);
    button.addEventListener("click", () => {
      const done = () => { button.textContent = "Copied"; };
      // Without a clipboard the text is selected, for the reader's own Ctrl-C.
      const select = () => getSelection().selectAllChildren(shown);
      if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, select); else select();
    });
    return el("div", { class: "copyable" }, shown, button);
  }

  function facts(rows) {
    return el("dl", { class: "facts" }, rows.filter(([, value]) => value && value.length !== 0)
      .map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
  }

  // Names that this crosswarp has are links to the shim's entry.
  function shimLinks(texts) {
    const names = [...new Set(texts.flatMap((text) => text.split(", ")))];
    return names.length ? names.flatMap((name, number) => [number ? ", " : "",
      page.shims.includes(name) ? el("a", { href: page.at("shims/index.html#" + name) }, name) : name]) : null;
  }

  // What is not as it should be, one group for each outcome with its fingerprint.
  function causes(detail, cells) {
    const groups = new Map();
    for (const cell of cells) {
      const name = page.outcomes[cell[OUTCOME]];
      if (name === "pass") continue;
      const key = [cell[OUTCOME], cell[FINGERPRINT] || cell[REASON], cell[ISSUE]].join();
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(cell);
    }
    return [...groups.values()].sort((a, b) => a[0][OUTCOME] - b[0][OUTCOME]).map((group) => cause(detail, group));
  }

  function cause(detail, group) {
    const text = (number) => detail.texts[number];
    const first = group[0];
    const issue = page.issues[text(first[ISSUE])];
    const red = page.redBits & (1 << first[OUTCOME]);
    const modes = page.MODES.filter((_, mode) => group.some((cell) => cell[MODE] === mode));
    const names = [...new Set(group.map((cell) => (text(cell[CASE]) + " " + text(cell[CONFIG])).trim()))];
    const shims = [...new Set(group.filter((cell) => cell[MODE] === 0).map((cell) => text(cell[SHIMS])).filter(Boolean))];
    const message = text(first[MESSAGE]);
    return el("article", { class: "cause" },
      el("h3", {}, page.mark(first[OUTCOME]), " " + page.outcomes[first[OUTCOME]] + ", " + modes.map((mode) => page.COMPAT[mode]).join(" and "),
        el("small", {}, " " + group.length + (group.length === 1 ? " cell" : " cells"))),
      facts([
        ["issue", issue ? [el("a", { href: page.at("issues/" + text(first[ISSUE]) + ".html") }, issue.title)] : red ? "no known issue explains this" : ""],
        ["upstream", issue ? issue.links.flatMap((url, number) => [number ? ", " : "", web(url, shortLink(url))]) : ""],
        ["fixed in", issue && issue.fixed ? "Triton " + issue.fixed : ""],
        ["fixed by", red && modes.includes("bare") ? shimLinks(shims) || "not seen fixed" : ""],
        ["or", issue ? issue.workaround : ""],
        ["reason", text(first[FINGERPRINT]) ? "" : text(first[REASON])],
        ["fingerprint", text(first[FINGERPRINT]) ? [el("code", {}, text(first[FINGERPRINT]))] : ""],
        ["cases", names.slice(0, MAX_CASES).join("; ") + (names.length > MAX_CASES ? "; and " + (names.length - MAX_CASES) + " more" : "")],
      ]),
      message ? el("pre", { class: "message", tabindex: "0", role: "region", "aria-label": "message" }, message) : null);
  }

  // The changes that the page of the column lists in full.
  function sinceBefore(cell, column) {
    const [, , bare, shimmed] = cell || [0, 0, 0, 0];
    const changes = page.changes.filter((_, number) => (bare | shimmed) & (1 << number));
    return changes.length && column.before ? el("p", {}, "Since the column before: " + changes.join(", ") + ". ",
      el("a", { href: page.at("columns/" + column.slug + ".html#from-" + column.before) }, "What changed")) : null;
  }

  function everyCell(detail, cells) {
    const text = (number) => detail.texts[number];
    const rows = new Map();
    for (const cell of cells) {
      const key = cell[CASE] + "," + cell[CONFIG];
      if (!rows.has(key)) rows.set(key, [null, null]);
      rows.get(key)[cell[MODE]] = cell;
    }
    const heads = ["case", "configuration", "without compat", "with compat", ...page.metrics, "seconds"];
    const mark = (cell) => (cell ? el("td", {}, page.mark(cell[OUTCOME]), " " + page.outcomes[cell[OUTCOME]]) : el("td", {}));
    const figure = (both, number) => {
      const [bare, shimmed] = both.map((cell) => (cell && cell[FIGURES] ? cell[FIGURES][number] : null));
      return bare === null ? (shimmed === null ? "" : String(shimmed))
        : String(bare) + (shimmed === null || shimmed === bare ? "" : " → " + shimmed);
    };
    return el("details", {}, el("summary", {}, "All " + cells.length + " cells"),
      el("div", { class: "scroll" }, el("table", { class: "plain" },
        el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
        el("tbody", {}, [...rows.values()].map((both) => {
          const one = both[0] || both[1];
          return el("tr", {}, el("th", { scope: "row" }, el("code", {}, text(one[CASE]))), el("td", {}, text(one[CONFIG])),
            mark(both[0]), mark(both[1]), page.metrics.map((_, number) => el("td", { class: "number" }, figure(both, number))),
            el("td", { class: "number" }, both.map((cell) => (cell ? cell[SECONDS].toFixed(2) : "-")).join(" / ")));
        })))));
  }

  // Where else this kernel ran on this column, with what became of it there.
  function elsewhere(grid, row, column, parts, move) {
    if (parts.length < 2) return null;
    return el("p", { class: "places", role: "group", "aria-label": "Lane and target" }, parts.map((part) => {
      const [bare, shimmed] = part.rows[row][column];
      const button = el("button", { type: "button", "aria-pressed": String(part === grid) }, part.lane + ", " + part.target + " ",
        page.mark(page.worst(bare)), page.mark(page.worst(shimmed)));
      button.addEventListener("click", () => move(part));
      return button;
    }));
  }

  // `plotted` is a case or nothing. `go` moves to another column, by its number; `close` closes; `chosen` plots another case.
  page.show = function (dialog, grid, row, column, plotted, parts, { go, close, chosen, move }) {
    const kernel = page.kernels[row];
    const where = page.columns[column];
    const key = grid.lane + "/" + grid.target;
    const body = el("div", { class: "body" }, el("p", { role: "status" }, "Loading …"));
    const leave = el("button", { type: "button", class: "close", "aria-label": "Close" }, "✕");
    leave.addEventListener("click", close);
    const step = (to, sign, name) => {
      const there = page.columns[to];
      const button = el("button", { type: "button", class: "step", disabled: !there,
        "aria-label": there ? name + ": " + there.id : name }, sign);
      button.addEventListener("click", () => go(to));
      return button;
    };
    dialog.replaceChildren(
      el("header", {},
        el("div", {},
          el("h2", { id: "details-title" }, el("a", { href: page.at("kernels/" + kernel.slug + ".html") }, kernel.name), " on ",
            el("a", { href: page.at("columns/" + where.slug + ".html") }, where.label)),
          el("p", { class: "hint" }, [grid.lane + ", " + grid.target, where.triton ? "Triton " + where.triton : "",
            where.torch ? "torch " + where.torch : ""].filter(Boolean).join(" · "))),
        el("div", { class: "steps" }, step(column - 1, "‹", "Older column"), step(column + 1, "›", "Newer column"), leave)),
      body,
    );
    leave.autofocus = true;
    if (!dialog.open) dialog.showModal();
    leave.focus();
    return page.load(kernel.slug).then((detail) => {
      const place = (detail.cells[key] || {})[column];
      const plots = el("div");
      page.plots(plots, detail, key, column, plotted, chosen);
      const found = place ? causes(detail, place.cells) : [];
      const since = sinceBefore(grid.rows[row][column], where);
      body.replaceChildren(
        ...[elsewhere(grid, row, column, parts, move)].filter(Boolean),
        ...(since ? [since] : []),
        ...(found.length ? found : [el("p", {}, place ? "Every cell passes, without compat and with it." : "Nothing was recorded here.")]),
        ...(place ? [el("h3", {}, "Run it again"), copyable(place.command)] : []),
        el("h3", {}, "Resources by version"), plots,
        ...(place ? [everyCell(detail, place.cells)] : []),
      );
    }, () => {
      body.replaceChildren(el("p", { role: "alert" }, "The details are not there: data/kernels/" + kernel.slug
        + ".js could not be read. Copy the whole folder of the page, or make it again with crosswarp report."));
    });
  };
})(crosswarp);
