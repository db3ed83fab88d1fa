// The box of the page of errors: answers to what is pasted, as the command gives them. Nothing leaves the page.
"use strict";

addEventListener("DOMContentLoaded", () => {
  const field = (name) => document.getElementById("why-" + name);
  const place = field("answers");
  const why = new Why(whyData);

  function made(name, text, ...children) {
    const element = document.createElement(name);
    element.textContent = text || "";
    element.append(...children);
    return element;
  }

  function link(text, address) {
    const element = made("a", text);
    element.href = address;
    return element;
  }

  function shown(answer) {
    const title = why.title(answer), parts = [];
    const head = answer.entry && whyPages.includes(answer.id) ? made("h3", "", link(title, `${answer.id}/`)) : made("h3", title);
    head.append(` [${answer.id}]`);
    parts.push(head, made("p", `line ${answer.number}: ${answer.line.slice(0, 200)}`));
    for (const { cause } of why.shown(answer)) parts.push(made("p", cause.why), made("p", `Do: ${cause.do}`), ...(cause.code ? [made("pre", cause.code)] : []));
    if (answer.entry && answer.entry.ask && !answer.certain) parts.push(made("p", `The fact that decides: ${answer.entry.ask}`));
    if (answer.entry) for (const one of answer.entry.links || []) if (/^https:\/\//.test(one)) parts.push(made("p", "", link(one, one)));
    if (answer.entry && answer.message) parts.push(made("p", why.ofSource(answer.message)));
    if (answer.known) {
      const { issue, shim } = answer.known;
      parts.push(made("p", `Triton ${issue.triton || "(every release)"}${issue.fixed_in ? `; fixed in ${issue.fixed_in}` : ""}`));
      if (issue.workaround) parts.push(made("p", `Do: ${issue.workaround}`));
      if (answer.fits && shim) parts.push(made("pre", `from crosswarp import compat\ncompat.install(only=["${shim.name}"])`));
      for (const one of issue.links) if (/^https:\/\//.test(one)) parts.push(made("p", "", link(one, one)));
    }
    return made("section", "", ...parts);
  }

  function answer() {
    const text = field("text").value;
    const facts = Object.fromEntries(["triton", "torch", "target"].map((name) => [name, field(name).value.trim()]));
    if (!text.trim()) return place.replaceChildren();
    const found = why.answers(text, facts);
    place.replaceChildren(...(found.length ? found.slice(0, 5).map(shown) : [made("p", "No known error of Triton says this. It may be new, or your code's own error.")]));
  }

  let waiting;
  for (const name of ["text", "triton", "torch", "target"]) {
    field(name).addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(answer, 150); });
  }
  answer();
});
