// The search of the documentation, on the pages of a run. Its index is read when the box is first used.
"use strict";

(function () {
  const SHOWN = 8;
  const box = document.getElementById("site-search");
  const input = box.querySelector("input");
  const list = box.querySelector("ol");
  const split = (text) => new Set(text.toLowerCase().split(/[^a-z0-9_]+/).filter(Boolean));
  let entries = null;

  function load() {
    input.removeEventListener("focus", load);
    const script = document.createElement("script");
    script.src = box.dataset.root + "run/assets/search_index.js";
    script.addEventListener("load", () => {
      entries = siteIndex.map(([title, location]) => ({ title, location, words: split(title) }));
      show();
    });
    document.head.append(script);
  }

  // A word that few titles have says more than one that many have.
  function weight(word) {
    const having = entries.filter((entry) => entry.words.has(word)).length;
    return having ? Math.log(1 + entries.length / having) : 0;
  }

  function show() {
    if (!entries) return;
    const weights = [...split(input.value)].map((word) => [word, weight(word)]);
    const scored = entries.map((entry) => ({
      ...entry,
      score: weights.reduce((sum, [word, much]) => sum + (entry.words.has(word) ? much : 0), 0),
    }));
    // Of titles with the same words of the question, the shortest is the closest.
    const best = scored.filter((entry) => entry.score > 0)
      .sort((a, b) => b.score - a.score || a.title.length - b.title.length).slice(0, SHOWN);
    list.replaceChildren(...best.map((entry) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = box.dataset.root + entry.location;
      link.textContent = entry.title;
      item.append(link);
      return item;
    }));
  }
  input.addEventListener("focus", load);
  input.addEventListener("input", show);
})();
