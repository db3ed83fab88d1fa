// An address that names an upgrade opens it.
"use strict";

(function () {
  function reveal() {
    const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const upgrade = named && named.closest("details.upgrade");
    if (!upgrade) return;
    for (const other of document.querySelectorAll("details.upgrade")) other.open = other === upgrade;
    upgrade.scrollIntoView();
  }
  addEventListener("hashchange", reveal);
  reveal();
})();
