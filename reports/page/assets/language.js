// The language table's filters. They are in the address, after the #, where a link to an error may stand instead.
"use strict";

(function () {
  const byId = (id) => document.getElementById(id);
  const name = byId("name");
  const checks = { differs: byId("differs"), fails: byId("fails") };
  const sections = [...document.querySelectorAll("section.names")];
  const tables = sections.map((section) => {
    let parent = null;
    return [...section.querySelectorAll("tbody tr")].map((row) => {
      const signs = [...row.cells].slice(1).map((cell) => cell.textContent.trim());
      const one = { row, text: row.cells[0].textContent.toLowerCase(), differs: new Set(signs).size > 1,
        fails: row.querySelector("td a") !== null, parent: row.className === "option" ? parent : null };
      if (!one.parent) parent = one;
      return one;
    });
  });

  function filter() {
    const asked = name.value.trim().toLowerCase();
    let shown = 0;
    tables.forEach((rows, number) => {
      for (const one of rows) {
        const named = one.text.includes(asked) || (one.parent !== null && one.parent.text.includes(asked));
        one.kept = named && (!checks.differs.checked || one.differs) && (!checks.fails.checked || one.fails);
      }
      // An option says nothing without the name that it is of.
      for (const one of rows) if (one.kept && one.parent) one.parent.kept = true;
      for (const one of rows) one.row.hidden = !one.kept;
      const kept = rows.filter((one) => one.kept).length;
      sections[number].hidden = kept === 0;
      shown += kept;
    });
    const all = tables.reduce((sum, rows) => sum + rows.length, 0);
    byId("status").textContent = shown === all ? "" : shown ? shown + " of " + all + " rows." : "No row has it.";
  }

  function write() {
    const hash = new URLSearchParams();
    if (name.value.trim()) hash.set("name", name.value.trim().slice(0, 200));
    for (const [key, check] of Object.entries(checks)) if (check.checked) hash.set(key, "1");
    history.replaceState(null, "", "#" + hash);
    filter();
  }

  function read() {
    // A link to an error leaves the filters as they are.
    if (/^#why-/.test(location.hash)) return;
    const given = new URLSearchParams(location.hash.slice(1));
    name.value = given.get("name") || "";
    for (const [key, check] of Object.entries(checks)) check.checked = given.get(key) === "1";
    filter();
  }

  byId("filters").addEventListener("input", write);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", read);
  read();
})();
