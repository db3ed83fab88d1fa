// The documentation's search answers an error as `crosswarp why` does: its own index knows no text with a reader's names.
"use strict";

(function () {
  // Fewer words are a name to look up; more are a sentence, as errors are.
  const WORDS = 4;
  const base = JSON.parse(document.getElementById("__config").textContent).base;
  const root = new URL(`${base}/`, location.href).href;
  let engine = null, asked = 0;

  function load(name) {
    return new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = `${root}errors/${name}`;
      script.addEventListener("load", done);
      script.addEventListener("error", failed);
      document.head.append(script);
    });
  }

  function ready() {
    engine ||= Promise.all([load("why_data.js"), load("why_engine.js")]).then(() => new Why(whyData));
    return engine;
  }

  function address(answer) {
    if (answer.known) return `issues/${whyIssues[answer.id]}/`;
    return whyPages.includes(answer.id) ? `errors/${answer.id}/` : "errors/";
  }

  async function show(input) {
    const number = ++asked, text = input.value.trim();
    const list = input.getRootNode().querySelector("[role=listbox]");
    const why = text.split(/\s+/).length < WORDS ? null : await ready();
    if (number !== asked || !list) return;
    list.parentNode.querySelector("[data-why]")?.remove();
    const [best] = why ? why.answers(text) : [];
    if (!best) return;
    const link = document.createElement("a");
    link.dataset.why = best.id;
    link.href = root + address(best);
    link.textContent = why.title(best);
    link.style.cssText = "display: block; padding: 8px 16px; font-weight: bold";
    list.before(link);
  }

  addEventListener("input", (event) => {
    const input = event.composedPath()[0];
    if (input.getAttribute?.("aria-label") === "Search") show(input);
  });
})();
