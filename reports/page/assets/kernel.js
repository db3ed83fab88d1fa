// The plots of a kernel's own page: a choice of the target, then as in the details.
"use strict";

(function (page) {
  const into = document.getElementById("plots");
  const drawn = page.el("div");

  page.load(into.dataset.kernel).then((detail) => {
    const { figures } = page.fields;
    const measured = (key) => Object.values(detail.cells[key] || {}).some((place) => place.cells.some((cell) => cell[figures]));
    const keys = page.grids.map((grid) => grid.lane + "/" + grid.target).filter(measured);
    if (!keys.length) {
      into.replaceChildren(page.el("p", { class: "hint" }, "No resources were measured."));
      return;
    }
    const choice = page.el("select", {}, keys.map((key) => page.el("option", { value: key }, key.replace("/", ", "))));
    let wanted = "";
    const draw = () => page.plots(drawn, detail, choice.value, -1, wanted, (name) => {
      wanted = name;
      write();
    });
    const write = () => history.replaceState(null, "", "#" + new URLSearchParams({ on: choice.value, ...(wanted && { case: wanted }) }));
    const read = () => {
      const given = new URLSearchParams(location.hash.slice(1));
      choice.value = keys.includes(given.get("on")) ? given.get("on") : keys[0];
      wanted = given.get("case") || "";
      draw();
    };
    choice.addEventListener("change", () => {
      write();
      draw();
    });
    addEventListener("hashchange", read);
    into.replaceChildren(page.el("p", { class: "row" }, page.el("label", {}, "Target ", choice)), drawn);
    read();
  }, () => {
    into.textContent = "The figures are not there: copy the whole folder of the page, or make it again with crosswarp report.";
  });
})(crosswarp);
