// What every script of the page shares. All text reaches the page as text nodes and attributes, never as markup.
"use strict";

(function (page) {
  const root = new URL("..", document.currentScript.src).href;
  const waiting = new Map();
  const SVG = "http://www.w3.org/2000/svg";

  page.MODES = ["bare", "shimmed"];
  // What a reader sees in their place.
  page.COMPAT = { bare: "without compat", shimmed: "with compat" };

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== undefined && value !== null && value !== false) {
        node.setAttribute(name, value === true ? "" : value);
      }
    }
    node.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return node;
  }

  page.el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  page.svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  // A name that may be broken after each underscore.
  page.name = (name) => name.split(/(?<=_)/).flatMap((part, number) => (number ? [page.el("wbr"), part] : [part]));

  page.at = (path) => root + path;

  // The lowest bit is the worst outcome; nothing recorded is -1.
  page.worst = (set) => (set ? 31 - Math.clz32(set & -set) : -1);
  page.word = (set) => (set ? page.outcomes[page.worst(set)] : "no result");
  page.bit = (name) => 1 << page.outcomes.indexOf(name);
  page.changeBit = (name) => 1 << page.changes.indexOf(name);
  page.redBits = (page.red || []).reduce((bits, name) => bits | page.bit(name), 0);

  page.mark = function (outcome, attributes) {
    const name = outcome < 0 ? "absent" : page.outcomes[outcome];
    return page.el(
      "span",
      { class: "mark o-" + name + ((attributes && attributes.ring) ? " ring" : "")
        + ((attributes && attributes.mode) ? " m-" + attributes.mode : ""), "aria-hidden": "true" },
      page.signs[name] || "",
    );
  };

  // A kernel's details are a script of their own: a page opened from disk may load scripts, and fetch nothing.
  page.load = function (slug) {
    if (!waiting.has(slug)) {
      waiting.set(slug, new Promise((resolve, reject) => {
        const script = page.el("script", { src: page.at("data/kernels/" + slug + ".js") });
        script.addEventListener("load", () => (script.detail ? resolve(script.detail) : reject()));
        script.addEventListener("error", () => { waiting.delete(slug); reject(); });
        document.head.append(script);
      }));
    }
    return waiting.get(slug);
  };
  page.loaded = function (detail) {
    document.currentScript.detail = detail;
  };
})(crosswarp);
