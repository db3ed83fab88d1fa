// The plots of a kernel's own page: a choice of the target, then as in the details.
"use strict";

(function (page) {
  const into = document.getElementById("plots");
  const drawn = page.el("div");
  page.load(into.dataset.kernel).then((detail) => {
    const keys = page.grids.map((grid) => grid.lane + "/" + grid.target).filter((key) => detail.cells[key]);
    const measured = keys.filter((key) => Object.values(detail.cells[key]).some((place) => place.cells.some((cell) => cell[10])));
    const choice = page.el("select", {}, (measured.length ? measured : keys).map((key) => page.el("option", { value: key }, key.replace("/", ", "))));
    const draw = () => page.plots(drawn, detail, choice.value, -1);
    choice.addEventListener("change", draw);
    into.replaceChildren(page.el("p", { class: "row" }, page.el("label", {}, "Target ", choice)), drawn);
    draw();
  }, () => {
    into.textContent = "The figures are not there: copy the whole folder of the page, or make it again with crosswarp report.";
  });
})(crosswarp);
