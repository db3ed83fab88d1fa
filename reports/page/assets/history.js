// Run against run, and one kernel over all runs. What is chosen is in the address, after the #.
"use strict";

(function (page) {
  const { el } = page;
  const byId = (id) => document.getElementById(id);
  const [from, to, of] = ["from", "to", "of"].map(byId);
  const MODES = ["bare", "shimmed"];
  const mode = () => document.documentElement.dataset.mode;
  const shown = () => (mode() ? [MODES.indexOf(mode())] : [0, 1]);
  const key = (cell) => cell.slice(0, 4).join();
  const isRed = (rank) => rank >= 0 && page.red.includes(page.outcomes[rank]);
  const ranks = (cell) => shown().map((number) => cell[4 + number]);
  const name = (rank) => (rank < 0 ? "no record" : page.outcomes[rank]);
  const cells = page.runs.map((run) => new Map(run.cells.map((cell) => [key(cell), cell])));
  const nameOf = (run) => "run " + run.id + ", " + run.started.slice(0, 10);
  const kernelLink = ([text, slug]) => (slug ? el("a", { href: page.at("kernels/" + slug + ".html") }, text) : text);
  const MOST = 500;

  function marks(cell) {
    return el("span", { class: "pair" }, MODES.map((one, number) => page.mark(cell ? cell[4 + number] : -1, { mode: one })));
  }

  function read() {
    const given = new URLSearchParams(location.hash.slice(1));
    const place = (id, otherwise) => Math.max(page.runs.findIndex((run) => String(run.id) === given.get(id)), -1) + 1 || otherwise + 1;
    const worst = page.runs[0].cells.filter((cell) => isRed(cell[4])).map((cell) => cell[2])[0] ?? 0;
    const kernel = page.kernels.findIndex(([text]) => text === given.get("kernel"));
    return [place("from", Math.min(1, page.runs.length - 1)) - 1, place("to", 0) - 1, kernel < 0 ? worst : kernel];
  }

  function write() {
    const hash = new URLSearchParams({ from: page.runs[from.value].id, to: page.runs[to.value].id, kernel: page.kernels[of.value][0] });
    history.replaceState(null, "", "#" + hash);
    draw();
  }

  function compare(before, after) {
    const found = [];
    for (const [id, cell] of cells[after]) {
      const old = cells[before].get(id);
      if (old && ranks(old).join() !== ranks(cell).join()) found.push([old, cell]);
    }
    const turned = ([old, cell]) => Number(ranks(cell).some(isRed)) - Number(ranks(old).some(isRed));
    found.sort((a, b) => turned(b) - turned(a) || Math.min(...ranks(a[1])) - Math.min(...ranks(b[1])));
    const only = (a, b) => [...cells[a].keys()].filter((id) => !cells[b].has(id)).length;
    const [lost, added] = [only(before, after), only(after, before)];
    byId("status").textContent = found.length + " squares differ: " + found.filter((one) => turned(one) > 0).length + " newly failing, "
      + found.filter((one) => turned(one) < 0).length + " no longer failing. " + (lost || added ? lost + " are in the first run alone, " + added + " in the second. " : "")
      + (found.length > MOST ? "The first " + MOST + " are shown." : "");
    byId("changed").replaceChildren(...(found.length ? [
      el("thead", {}, el("tr", {}, ["kernel", "column", "lane, target", "before", "after", "what"].map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, found.slice(0, MOST).map(([old, cell]) => el("tr", {},
        el("th", { scope: "row" }, kernelLink(page.kernels[cell[2]])), el("td", {}, page.columns[cell[3]]),
        el("td", {}, page.lanes[cell[0]] + ", " + page.targets[cell[1]]), el("td", {}, marks(old)), el("td", {}, marks(cell)),
        el("td", {}, shown().filter((number) => old[4 + number] !== cell[4 + number])
          .map((number) => page.COMPAT[MODES[number]] + ": " + name(old[4 + number]) + " → " + name(cell[4 + number])).join("; "))))),
    ] : [el("tbody", {}, el("tr", {}, el("td", { class: "empty" }, "No square differs.")))]));
  }

  function strip(kernel) {
    const order = page.runs.map((_, number) => number).reverse();
    const worstOf = (number, column) => {
      const mine = page.runs[number].cells.filter((cell) => cell[2] === kernel && cell[3] === column);
      const least = (place) => mine.map((cell) => cell[place]).filter((rank) => rank >= 0).reduce((a, b) => Math.min(a, b), Infinity);
      const [bare, shimmed] = [least(4), least(5)].map((rank) => (rank === Infinity ? -1 : rank));
      return mine.length ? [0, 0, 0, 0, bare, shimmed] : null;
    };
    const columns = page.columns.map((_, column) => column).filter((column) => order.some((number) => worstOf(number, column)));
    byId("strip").replaceChildren(
      el("caption", { class: "unseen" }, "Worst outcome of " + page.kernels[kernel][0] + " by column and run, oldest run first"),
      el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "corner" }, "column"), order.map((number) => el("th", { scope: "col" },
        String(page.runs[number].id), el("small", {}, page.runs[number].started.slice(0, 10)))))),
      el("tbody", {}, columns.map((column) => el("tr", {}, el("th", { scope: "row" }, page.columns[column]), order.map((number) => {
        const cell = worstOf(number, column);
        const label = page.columns[column] + ", run " + page.runs[number].id + ": " + (cell ? "without compat " + name(cell[4]) + ", with compat " + name(cell[5]) : "no record");
        return el("td", { title: label, "aria-label": label }, el("span", { class: "square" }, marks(cell)));
      })))));
  }

  function draw() {
    compare(Number(from.value), Number(to.value));
    strip(Number(of.value));
  }

  function apply() {
    [from.value, to.value, of.value] = read();
    draw();
  }

  for (const select of [from, to]) select.append(...page.runs.map((run, number) => el("option", { value: number }, nameOf(run))));
  of.append(...page.kernels.map(([text], number) => el("option", { value: number }, text)));
  for (const form of ["compare", "over"]) {
    byId(form).addEventListener("change", write);
    byId(form).addEventListener("submit", (event) => event.preventDefault());
  }
  addEventListener("hashchange", apply);
  addEventListener("modechange", draw);
  apply();
})(crosswarp);
