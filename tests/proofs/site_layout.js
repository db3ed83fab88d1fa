// Shows each of `pages` (name, HTML) in `box` and returns what a reader cannot read there: [page, kind, text].
([box, pages]) => {
  const here = document.querySelector(box), findings = [], range = document.createRange();
  const LETTER = /[\p{L}\p{N}]/u;

  function scrolls(element) {
    for (; element && element !== here; element = element.parentElement)
      if (/auto|scroll/.test(getComputedStyle(element).overflowX)) return true;
    return false;
  }

  function broken(node) {
    range.selectNodeContents(node);
    if (range.getClientRects().length < 2) return [];
    return [...node.data.matchAll(/\S{4,}/g)].map(word => {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      if (range.getClientRects().length < 2) return "";
      let last = null;
      for (let at = 0; at < word[0].length; at++) {
        range.setStart(node, word.index + at);
        range.setEnd(node, word.index + at + 1);
        const { top, width } = range.getBoundingClientRect();
        if (!width) continue;
        if (last !== null && top > last + 4 && LETTER.test(word[0][at - 1]) && LETTER.test(word[0][at]) &&
            !/[a-z0-9][A-Z]/.test(word[0].slice(at - 1, at + 1)))
          return `${word[0].slice(0, at)}|${word[0].slice(at)}`;
        last = top;
      }
      return "";
    }).filter(Boolean);
  }

  for (const [name, html] of pages) {
    const add = (kind, text) => findings.push([name, kind, text.trim().replace(/\s+/g, " ").slice(0, 160)]);
    here.innerHTML = html;
    // The theme's script does this to the tables of a page that is opened.
    for (const table of here.querySelectorAll(".md-typeset table:not([class])")) {
      const wrap = document.createElement("div");
      wrap.className = "md-typeset__scrollwrap";
      table.replaceWith(wrap);
      wrap.innerHTML = '<div class="md-typeset__table"></div>';
      wrap.firstChild.append(table);
    }
    if (document.documentElement.scrollWidth > innerWidth) add("page overflows", `${document.documentElement.scrollWidth} px`);
    // The theme gives a table's box a margin of 16 px.
    for (const table of here.querySelectorAll(".md-typeset__scrollwrap, .scroll"))
      if (innerWidth > 1000 && table.scrollWidth - table.clientWidth > 16) add("table overflows", table.textContent);
    const text = document.createTreeWalker(here, NodeFilter.SHOW_TEXT);
    for (let node; (node = text.nextNode()); ) {
      const element = node.parentElement;
      if (!node.data.trim() || element.closest("script, style, template, textarea, option, .unseen")) continue;
      range.selectNodeContents(node);
      const { left, right, width, height } = range.getBoundingClientRect();
      if (width < 2 || height < 2 || !element.checkVisibility({ checkVisibilityCSS: true })) continue;
      const size = parseFloat(getComputedStyle(element).fontSize);
      if (size < 11.95) add("small", `${size.toFixed(1)} px: ${element.tagName} ${element.className}: ${node.data}`);
      if ((left < -1 || right > innerWidth + 1) && !scrolls(element)) add("cut off", node.data);
      for (const word of broken(node)) add("broken", word);
    }
  }
  return findings;
}
