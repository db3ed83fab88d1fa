// "Is this me?": the issues that share the rarest words with what was pasted, best first. What was pasted stays here.
"use strict";

(function () {
  const body = document.getElementById("issues");
  const input = document.getElementById("words");
  const status = document.getElementById("status");
  const split = (text) => new Set(text.toLowerCase().split(/[^a-z0-9_]+/).filter((word) => word.length > 2));
  const rows = [...body.rows].map((row) => ({ row, words: split(row.dataset.words) }));

  // A word that few issues have tells more than one that all have.
  function weight(word) {
    const having = rows.filter((one) => one.words.has(word)).length;
    return having ? Math.log(1 + rows.length / having) : 0;
  }

  function search() {
    const asked = [...split(input.value)].map((word) => [word, weight(word)]);
    const scores = rows.map((one) => asked.reduce((sum, [word, much]) => sum + (one.words.has(word) ? much : 0), 0));
    const best = Math.max(...scores);
    const kept = rows.map((one, number) => ({ ...one, score: scores[number] }));
    if (asked.length) kept.sort((a, b) => b.score - a.score);
    for (const one of kept) one.row.hidden = asked.length > 0 && (one.score === 0 || one.score < best / 2);
    body.append(...kept.map((one) => one.row));
    const shown = kept.filter((one) => !one.row.hidden).length;
    status.textContent = !asked.length ? "" : shown ? shown + (shown === 1 ? " issue is" : " issues are") + " close to it, the closest first."
      : "No known issue has any of these words. It may be new: report it upstream.";
    history.replaceState(null, "", input.value.trim() ? "#q=" + encodeURIComponent(input.value.trim().slice(0, 1000)) : "#");
  }

  function read() {
    const asked = new URLSearchParams(location.hash.slice(1)).get("q");
    if (asked !== null && asked !== input.value.trim()) input.value = asked;
    search();
  }
  input.addEventListener("input", search);
  document.getElementById("search").addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", read);
  if (location.hash) read();
})();
