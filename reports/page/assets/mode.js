// Bare, shimmed or both: one switch for every page. It is in the address, after the ?, and goes along with every link.
"use strict";

(function () {
  const MODES = ["", "bare", "shimmed"];
  const root = document.documentElement;

  function given() {
    const mode = new URLSearchParams(location.search).get("mode") || "";
    return MODES.includes(mode) ? mode : "";
  }

  function address(mode) {
    return (mode ? "?mode=" + mode : location.pathname.split("/").pop()) + location.hash;
  }

  // Before anything is drawn, so that nothing jumps.
  root.dataset.mode = given();

  addEventListener("DOMContentLoaded", () => {
    const box = document.getElementById("modes");
    for (const input of box.querySelectorAll("input")) {
      input.checked = input.value === root.dataset.mode;
      input.addEventListener("change", () => {
        root.dataset.mode = input.value;
        history.replaceState(null, "", address(input.value));
        dispatchEvent(new Event("modechange"));
      });
    }
    box.hidden = false;
    document.addEventListener("click", (event) => {
      const link = event.target.closest && event.target.closest("a[href]");
      const mode = root.dataset.mode;
      // Of this site's pages alone: each carries the mark, an address elsewhere has another origin or leaves the folder.
      if (!link || !mode || !link.href.startsWith(siteRoot) || link.getAttribute("href").startsWith("#")) return;
      const url = new URL(link.href);
      if (url.pathname === location.pathname) return;
      url.search = "?mode=" + mode;
      link.href = url.href;
    }, true);
  });
  const siteRoot = new URL("..", document.currentScript.src).href;
})();
