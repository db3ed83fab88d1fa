// Resources by version: one small plot for each figure, bare and shimmed, of one case or of the worst of all.
"use strict";

(function (page) {
  const { el, svg } = page;
  const { case: CASE, mode: MODE, figures: FIGURES } = page.fields;
  const WIDTH = 300;
  const HEIGHT = 118;
  const LEFT = 46;
  const RIGHT = 20;
  const TOP = 14;
  const BOTTOM = 26;
  const UNITS = { stack: "stack, bytes a thread", spills: "spilled registers", registers: "registers a thread",
    shared: "shared memory, bytes", time: "time, ms (median)", scratch: "instructions that touch a thread's own memory",
    code: "machine code, bytes", access: "bytes a thread moves with an access to global memory",
    tensor: "instructions for tensor cores", compile: "time to compile, s",
    processor: "processor time to compile, s" };

  // [bare, shimmed], each with a figure or null for every column.
  function series(detail, places, number, wanted) {
    return [0, 1].map((mode) => page.columns.map((_, column) => {
      const cells = places[column] ? places[column].cells : [];
      const figures = cells
        .filter((cell) => cell[MODE] === mode && cell[FIGURES] && (wanted < 0 || cell[CASE] === wanted))
        .map((cell) => cell[FIGURES][number])
        .filter((figure) => figure !== null);
      const worst = page.least.includes(page.metrics[number]) ? Math.min : Math.max;
      return figures.length ? worst(...figures) : null;
    }));
  }

  const short = (figure) => (figure >= 10000 ? Math.round(figure / 1024) + "K"
    : Number.isInteger(figure) ? String(figure) : figure.toPrecision(3));

  function plot(name, both, current) {
    const known = both.flat().filter((figure) => figure !== null);
    const top = Math.max(...known) || 1;
    const steps = Math.max(page.columns.length - 1, 1);
    const x = (column) => LEFT + ((WIDTH - LEFT - RIGHT) * column) / steps;
    const y = (figure) => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * figure) / top;
    const said = page.columns.map((column, number) => {
      const [bare, shimmed] = [both[0][number], both[1][number]];
      if (bare === null && shimmed === null) return null;
      return column.short + ": " + (bare === null ? "-" : bare) + (shimmed === bare ? "" : ", with compat " + (shimmed === null ? "-" : shimmed));
    });
    const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "plot", role: "img",
      "aria-label": UNITS[name] + ". " + said.filter(Boolean).join("; ") });
    for (const figure of [0, top]) {
      drawing.append(
        svg("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: y(figure), y2: y(figure) }),
        svg("text", { class: "figure", x: LEFT - 6, y: y(figure) + 4, "text-anchor": "end" }, short(figure)),
      );
    }
    // Names of columns as far as there is room for them.
    const every = Math.ceil(page.columns.length / 6);
    page.columns.forEach((column, number) => {
      const here = number === current;
      if (here) drawing.append(svg("line", { class: "here", x1: x(number), x2: x(number), y1: TOP - 6, y2: HEIGHT - BOTTOM }));
      const crowded = current >= 0 && !here && Math.abs(number - current) < every;
      if (here || (number % every === 0 && !crowded)) {
        drawing.append(svg("text", { class: here ? "tick current" : "tick", x: x(number), y: HEIGHT - 8, "text-anchor": "middle" }, column.short.slice(0, 8)));
      }
    });
    [1, 0].forEach((mode) => {
      const same = mode === 1 && both[1].every((figure, number) => figure === both[0][number]);
      if (same) return;
      const points = both[mode].map((figure, number) => (figure === null ? null : [x(number), y(figure)]));
      const path = points.map((point, number) => (point ? (number && points[number - 1] ? "L" : "M") + point.join(" ") : "")).join("");
      drawing.append(svg("path", { class: "line " + page.MODES[mode], d: path }));
      points.forEach((point, number) => {
        if (!point) return;
        const dot = svg("circle", { class: "dot " + page.MODES[mode], cx: point[0], cy: point[1], r: number === current ? 4 : 3 });
        dot.append(svg("title", {}, page.columns[number].id + ", " + page.COMPAT[page.MODES[mode]] + ": " + both[mode][number]));
        drawing.append(dot);
      });
    });
    return el("figure", { class: "small" }, el("figcaption", {}, UNITS[name]), drawing);
  }

  // Fills `into` with the plots of one lane and target, and a choice of the case: `wanted`, and `chosen` hears of others.
  page.plots = function (into, detail, key, current, wanted, chosen) {
    const places = detail.cells[key] || {};
    const measured = new Set();
    for (const place of Object.values(places)) {
      for (const cell of place.cells) if (cell[FIGURES]) measured.add(cell[CASE]);
    }
    if (!measured.size) {
      into.replaceChildren(el("p", { class: "hint" }, "No resources were measured here."));
      return;
    }
    const choice = el("select", {}, el("option", { value: "-1" }, "the worst of all cases"),
      [...measured].map((number) => el("option", { value: number }, detail.texts[number])));
    const drawn = el("div", { class: "plots" });
    const draw = () => {
      const names = [...page.metrics, "time"];
      const shown = names.map((name, number) => [name, series(detail, places, number, Number(choice.value))])
        .filter(([, both]) => both.flat().some((figure) => figure !== null));
      const zero = shown.filter(([, both]) => both.flat().every((figure) => !figure)).map(([name]) => name);
      drawn.replaceChildren(
        ...shown.filter(([name]) => !zero.includes(name)).map(([name, both]) => plot(name, both, current)),
        zero.length ? el("p", { class: "hint" }, "0 everywhere: " + zero.join(", ") + ".") : "",
      );
    };
    const given = wanted ? detail.texts.indexOf(wanted) : -1;
    choice.value = measured.has(given) ? given : -1;
    choice.addEventListener("change", () => {
      chosen(choice.value === "-1" ? "" : detail.texts[choice.value]);
      draw();
    });
    draw();
    into.replaceChildren(
      el("p", { class: "row" }, el("label", {}, "Case ", choice),
        el("span", { class: "key" }, el("span", { class: "swatch bare" }), "without compat ", el("span", { class: "swatch shimmed" }), "with compat, where it differs")),
      drawn,
    );
  };
})(crosswarp);
