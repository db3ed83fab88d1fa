// `crosswarp why` in a page: the same data and the same rules as reports/findings/answers.py, which a test compares.
// What is pasted stays in the page. `new Why(data)` takes what reports/page/why_data.py makes.
"use strict";

(function (root) {
  const compare = (a, b) => {
    for (let i = 0; i < Math.min(a.length, b.length); i++) {
      if (a[i] < b[i]) return -1;
      if (a[i] > b[i]) return 1;
    }
    return a.length - b.length;
  };
  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\\/-]/g, "\\$&");
  const tidy = (text) => text.replace(/\\n/g, " ").replace(/['"`\u2018\u2019\u201c\u201d\\]/g, "").toLowerCase().split(/\s+/).filter(Boolean).join(" ");
  const words = (text) => text.match(/[a-z0-9_]+/g) || [];
  const JOINED = /[a-z0-9_]\.?[a-z0-9_]/y;
  const joined = (text, at) => { JOINED.lastIndex = at; return JOINED.test(text); };

  // The exact sum of floats, as math.fsum makes it.
  function sum(values) {
    const partials = [];
    for (let x of values) {
      let i = 0;
      for (let y of partials) {
        if (Math.abs(x) < Math.abs(y)) [x, y] = [y, x];
        const high = x + y, low = y - (high - x);
        if (low) partials[i++] = low;
        x = high;
      }
      partials.length = i;
      partials.push(x);
    }
    return partials.reduceRight((total, one) => total + one, 0);
  }

  // Versions: of a release its numbers count.
  const release = (text) => { const found = /^\s*v?(\d+(?:\.\d+)*)/.exec(text || ""); return found && found[1].split(".").map(Number); };
  function order(a, b) {
    for (let i = 0; i < Math.max(a.length, b.length); i++) if ((a[i] || 0) !== (b[i] || 0)) return (a[i] || 0) - (b[i] || 0);
    return 0;
  }
  function within(version, window) {
    const mine = release(version);
    if (!mine) return !window.trim();
    return window.split(",").filter((one) => one.trim()).every((part) => {
      const [, sign, text] = /^\s*(>=|<=|==|!=|>|<|~=)\s*(\S+)/.exec(part);
      const theirs = release(text);
      const same = text.endsWith(".*") ? theirs.every((n, i) => (mine[i] || 0) === n) : order(mine, theirs) === 0;
      if (sign === "==") return same;
      if (sign === "!=") return !same;
      const much = order(mine, theirs);
      return sign === ">=" ? much >= 0 : sign === "<=" ? much <= 0 : sign === ">" ? much > 0 : much < 0;
    });
  }
  function inWindow(version, window) {
    const mine = release(version);
    if (!mine) return true;
    return mine.length < 3 ? within(version + ".0", window) || within(version + ".9", window) : within(version, window);
  }
  const isOne = (target, targets) => targets.some((one) => new RegExp("^" + escaped(one).replace(/\\\*/g, ".*").replace(/\\\?/g, ".") + "$").test(target));

  // A release or GPU that fits makes up for no evidence that is missing.
  const raised = (share) => (share >= 0 ? share + 1 : Math.max(share, -0.25));

  class Wording {
    constructor(number, text, triton, anchors, ofSource) {
      Object.assign(this, { number, text, triton, anchors, ofSource });
      // Anything at its beginning would reach into what was said before.
      this.template = text.startsWith("{} ") ? text.slice(2) : text;
      this.weight = text.replace(/\{[nw]?\}/g, "").length;
      this.places = text.split("{}").length - 1;
    }

    find(text) {
      const found = [];
      if (!this.text.includes("{")) {
        for (let at = text.indexOf(this.text); at >= 0;) {
          const end = at + this.text.length;
          if (!(joined(text, end - 1) || (at && joined(text, at - 1)))) found.push([at, end]);
          at = text.indexOf(this.text, end);
        }
        return found;
      }
      const parts = this.template.split(/\{[nw]?\}/);
      let number = 0;
      parts.forEach((one, i) => { if (one.length > parts[number].length) number = i; });
      const part = parts[number];
      const total = (some) => some.reduce((sum, one) => sum + one.length, 0);
      const before = total(parts.slice(0, number)) + number * 250 + 1;
      const after = total(parts.slice(number + 1)) + (parts.length - 1 - number) * 250 + 2;
      let done = 0;
      for (let at = text.indexOf(part); at >= 0;) {
        const expression = this.expression();
        expression.lastIndex = Math.max(done, at - before);
        const match = expression.exec(text.slice(0, at + part.length + after));
        if (match) {
          found.push([match.index, match.index + match[0].length]);
          done = match.index + match[0].length;
        }
        at = text.indexOf(part, Math.max(done, at + part.length));
      }
      return found;
    }

    expression() {
      if (!this.compiled) {
        const places = { "{}": ".{0,200}?", "{n}": "\\d+", "{w}": "[\\w.<>\\[\\]*]+" };
        const made = this.template.split(/(\{[nw]?\})/).map((one) => places[one] || escaped(one)).join("");
        const begin = /^[a-z0-9_]/.test(this.template) ? "(?<![a-z0-9_])" : "";
        const end = /[a-z0-9_]$/.test(this.text) ? "(?!\\.?[a-z0-9_])" : "";
        this.compiled = new RegExp(begin + made + end, "g");
      }
      return this.compiled;
    }
  }

  class Why {
    constructor(data) {
      this.data = data;
      this.rules = {};
      for (const [name, one] of Object.entries(data.rules)) this.rules[name] = this.regex(one);
      this.limits = data.limits;
      this.says = data.says.map((one) => new Wording(...one, false));
      this.messages = data.messages;
      this.byWord = new Map();
      const sourced = data.messages.map((one, n) => new Wording(n, one.plain, "", one.anchors, true)).filter((one) => one.anchors.length);
      for (const one of [...this.says, ...sourced]) {
        if (!this.byWord.has(one.anchors[0])) this.byWord.set(one.anchors[0], []);
        this.byWord.get(one.anchors[0]).push(one);
      }
      this.finder = new Finder(this);
    }

    regex([source, flags], more = "") {
      let body = source.replace(/\(\?P</g, "(?<"), given = flags + more;
      const first = /^\(\?([ism]+)\)/.exec(body);
      if (first) { body = body.slice(first[0].length); given += first[1]; }
      return new RegExp(body, [...new Set(given)].join(""));
    }

    all(name, text) { return [...text.matchAll(new RegExp(this.rules[name].source, this.rules[name].flags.replace("g", "") + "g"))]; }

    printable(text) {
      text = text.replace(new RegExp(this.rules.ansi.source, "gs"), "").replace(/\t/g, "    ");
      text = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (one) => (one === "\n" ? one : ""));
      return text.replace(new RegExp(this.rules.command.source, "gi"), (found) => [...found].join(" "));
    }

    answers(text, named = {}, here = {}) {
      const log = new Log(this, text);
      const pick = (name) => named[name] || log.facts[name] || here[name] || "";
      const facts = { triton: pick("triton"), torch: pick("torch"), target: pick("target") };
      const hits = this.hits(log);
      const found = [...this.entries(log, hits, facts), ...this.sourced(log, hits)];
      found.push(...this.computed(log, facts, found));
      found.push(...this.known(log, this.finder.why(log.saidFirst, facts.triton), found, facts));
      found.push(...this.named(text, log, found, facts));
      return this.ordered(this.withoutGeneral(found));
    }

    // The entry that a title speaks of in words of its own.
    named(text, log, found, facts) {
      const { title: most, titleLines } = this.limits;
      if (words(log.tidy).length > most || !log.lines.length || log.lines.length > titleLines || log.others) return [];
      if (found.some((one) => (one.entry && one.entry.kind !== "general") || (one.known && (one.known.exact || !one.rank[1])))) return [];
      const title = tidy(text), line = log.lines[0];
      for (const [place, [number, parts]] of this.data.topics.entries()) {
        if ((!log.framed && !parts.some((part) => part.startsWith("triton"))) || !parts.every((part) => this.regex([part, ""]).test(title))) continue;
        const entry = this.data.errors[number];
        return [{
          id: entry.id, entry, line: line.text, number: line.number, failure: line.failure, certain: false, causes: this.causes(entry, text, facts),
          message: null, doubtful: false, rank: [0, 0, 0, 0, place], known: null, fits: false,
        }];
      }
      return [];
    }

    hits(log) {
      const found = [];
      for (const word of log.words) {
        for (const one of this.byWord.get(word) || []) {
          if (!one.anchors.every((other) => log.words.has(other))) continue;
          const message = one.ofSource && this.messages[one.number], thin = message && this.thin(message, one);
          const framed = one.ofSource ? !thin && one.weight < this.limits.long : this.data.errors[one.number].framed;
          if ((framed && !log.framed) || !this.mayStand(log, message, one)) continue;
          one.find(log.tidy).slice(0, this.limits.most + 2).forEach(([start, end]) => {
            if (!framed || log.framedIn(log.lines[log.at(start)].failure)) found.push({ wording: one, start, end, ofSource: one.ofSource, source: null });
          });
        }
      }
      return this.exact(found);
    }

    thin(message, wording) { return Boolean(message.thin) || !wording.text.includes(" "); }

    mayStand(log, message, wording) {
      if (!message) return this.data.errors[wording.number].kind !== "general" || (log.own && !log.others);
      const where = message.where.toLowerCase();
      return !this.thin(message, wording) || log.tidy.includes("triton/" + where) || log.tidy.includes("/" + where + ":");
    }

    exact(hits) {
      const key = ({ wording, ofSource }) => {
        if (ofSource) return [1, 0, -wording.weight, wording.places, 0, wording.number];
        const entry = this.data.errors[wording.number];
        return [entry.kind === "general" ? 2 : 0, entry.table ? 1 : 0, -wording.weight, wording.places, entry.shared ? 1 : 0, wording.number];
      };
      const kept = [];
      for (const hit of hits.map((one) => [key(one), one]).sort((a, b) => compare(a[0], b[0])).map((one) => one[1])) {
        const over = kept.find((one) => hit.start < one.end && one.start < hit.end);
        if (!over) kept.push(hit);
        else if (hit.ofSource && over.source === null && !over.ofSource) over.source = hit.wording.number;
      }
      return kept;
    }

    entries(log, hits, facts) {
      return hits.filter((hit) => !hit.ofSource).map((hit) => {
        const entry = this.data.errors[hit.wording.number];
        const line = log.lines[log.at(hit.start)];
        let causes = this.causes(entry, log.byFailure.get(line.failure), facts);
        const written = entry.kind === "author" && this.rules.written.exec(log.byFailure.get(line.failure));
        if (written) {
          const place = causes.filter((one) => one.share >= 2).length;
          causes = [...causes.slice(0, place), { cause: this.data.inductors, share: 2, because: written[0] }, ...causes.slice(place)];
        }
        const possible = causes.filter((one) => one.share > -1), decided = possible.filter((one) => one.share > 0);
        let certain = Boolean(entry.sure && !entry.shared && entry.causes.length === 1);
        if (entry.kind === "author" && (log.generated || log.interpreted)) certain = false;
        if (!certain && decided.length === 1 && decided[0].cause.decides) certain = true;
        certain = certain && !line.quoted;
        const outside = Boolean(facts.triton && hit.wording.triton) && !inWindow(facts.triton, hit.wording.triton);
        const rank = [
          entry.foreign ? 1 : 0, entry.wrapper ? 2 : entry.consequence || entry.kind === "general" ? 1 : 0, !possible.length || outside ? 1 : 0,
          hit.start + (entry.kind === "general" ? this.limits.behind : line.quoted ? this.limits.quoted : 0), -hit.wording.weight,
        ];
        const own = entry.own || this.data.own.includes(entry.kind) || (hit.source !== null && hit.wording.weight >= this.limits.long);
        const doubtful = !entry.foreign && (log.others || !(log.framedIn(line.failure) || own));
        return {
          id: entry.id, entry, line: line.text, number: line.number, failure: line.failure, certain: certain && possible.length > 0 && !outside && !doubtful, causes,
          message: hit.source === null ? null : this.messages[hit.source], doubtful, rank, known: null, fits: false,
        };
      });
    }

    causes(entry, text, facts) {
      // A GPU that is named beside the text is evidence as in it.
      text = text + "\n" + facts.target;
      const ranked = entry.causes.map((cause) => {
        let share = 0, because = "";
        if (cause.log) {
          cause.compiled = cause.compiled || this.regex([cause.log, ""]);
          const found = cause.compiled.exec(text);
          // A sentence about a name in the text is false without that name.
          const missing = cause.why.startsWith("The text names") ? -1 : -0.5;
          [share, because] = found ? [2, found[0].slice(0, 80)] : [missing, ""];
        }
        for (const [mine, window] of [[facts.triton, cause.triton], [facts.torch, cause.torch]]) if (mine && window) share = inWindow(mine, window) ? raised(share) : -5;
        if (facts.target && cause.targets && cause.targets.length) share = isOne(facts.target, cause.targets) ? raised(share) : -5;
        return { cause, share, because };
      });
      return ranked.sort((a, b) => b.share - a.share);
    }

    sourced(log, hits) {
      return hits.filter((hit) => hit.ofSource && !log.others).map((hit) => {
        const line = log.lines[log.at(hit.start)], message = this.messages[hit.wording.number], weak = Boolean(line.quoted || message.thin);
        return {
          id: "source", entry: null, line: line.text, number: line.number, failure: line.failure, certain: false, causes: [], known: null,
          message, doubtful: false, fits: false, rank: [0, 1, weak ? 1 : 0, hit.start - (weak ? 0 : this.limits.behind), -hit.wording.weight],
        };
      });
    }

    computed(log, facts, found) {
      const taken = new Map();
      for (const one of found) {
        const before = taken.get(one.number);
        if (one.entry && !one.entry.consequence && !(before && (!before.entry.table || before.certain))) taken.set(one.number, one);
      }
      const made = [];
      for (const [entry, place] of new Language(this).entries(log.lines, facts.triton)) {
        const line = log.lines[place];
        if (entry.framed && !log.framedIn(line.failure)) continue;
        const other = taken.get(line.number);
        if (other && (!other.entry.table || other.certain)) continue;
        made.push({
          id: entry.id, entry, line: line.text, number: line.number, failure: line.failure, certain: Boolean(facts.triton && !entry.shared),
          causes: this.causes(entry, log.byFailure.get(line.failure), facts), known: null, message: null, doubtful: false, fits: false,
          rank: [0, 0, 0, other ? other.rank[3] : log.starts[place], -1000],
        });
      }
      return made;
    }

    known(log, matches, all, facts) {
      const places = new Map();
      for (const line of [...log.lines].reverse()) places.set(line.text, line);
      const found = all.filter((one) => one.entry && one.entry.kind !== "general");
      const of = (name, some) => new Set(some.map((one) => one[name]));
      const shared = of("number", found.filter((one) => one.entry.shared && !one.entry.table));
      const foreign = of("number", found.filter((one) => one.entry.foreign));
      const named = of("failure", found.filter((one) => !one.entry.wrapper));
      const specific = of("number", found.filter((one) => !one.entry.consequence));
      const explained = of("failure", found.filter((one) => !one.entry.consequence));
      const mentioned = of("failure", found);
      const generated = of("number", found.filter((one) => one.entry.kind === "inductor"));
      const written = of("failure", found.filter((one) => one.entry.kind === "inductor"));
      const weighed = new Set();
      for (const one of found) if (one.entry.shared) for (const { cause } of one.causes) weighed.add(one.failure + " " + (cause.issue || ""));
      const short = words(log.tidy).length <= 14, made = [];
      const uncovered = Boolean(facts.triton) && !inWindow(facts.triton, this.limits.covered);
      matches.forEach((match, order) => {
        const line = places.get(match.line) || log.lines[log.lines.length - 1], issue = match.issue;
        if (!log.framedIn(line.failure) && (this.rules.pythons.test(match.line) || (!match.exact && this.rules.builtIn.test(match.line)))) return;
        const targets = issue.targets, elsewhere = Boolean(facts.target) && !(targets.length === 1 && targets[0] === "*") && !isOne(facts.target, targets);
        const beside = places.has(match.line) ? shared.has(line.number) : shared.size > 0;
        const alike = this.limits.alike;
        if (!match.exact && match.share < alike && !short && specific.size) return;
        if (foreign.has(line.number) && !log.interpreted) return;
        if (!match.exact && (specific.has(line.number) || (named.has(line.failure) && !(short && match.share >= alike)))) return;
        if (!match.exact && (line.quoted || this.rules.frameLine.test(line.text))) return;
        let weak = !match.exact && (specific.has(line.number) || !(short || match.share >= alike));
        const interpreted = issue.lanes.join() === "interpret" && !log.interpreted;
        let certain = match.exact && match.inside === true;
        const thin = words(tidy(issue.fingerprint)).length < this.limits.few;
        weak = weak || (thin && (mentioned.has(line.failure) || !certain)) || (!match.exact && (explained.has(line.failure) || this.rules.elided.test(line.text))) || generated.has(line.number) || (written.has(line.failure) && this.rules.pythons.test(match.line))
          || (!certain && weighed.has(line.failure + " " + issue.id));
        const worse = match.inside === false || uncovered || elsewhere || beside || weak || interpreted || line.quoted || log.others;
        certain = certain && !worse;
        made.push({
          id: issue.id, entry: null, line: line.text, number: line.number, failure: line.failure, certain, causes: [], known: match, message: null,
          doubtful: false, fits: match.exact && !worse, rank: [0, worse ? 1 : 0, worse ? 1 : 0, worse ? this.limits.behind : -1, order],
        });
      });
      return made;
    }

    withoutGeneral(found) {
      const more = new Set(found.filter((one) => one.entry && one.entry.kind !== "general" && !one.entry.wrapper).map((one) => one.failure));
      const most = new Set(found.filter((one) => one.entry && one.entry.kind !== "general" && !one.entry.wrapper && !one.doubtful).map((one) => one.failure));
      return found.filter((one) => !(one.entry && ((one.entry.kind === "general" && more.has(one.failure)) || (one.entry.wrapper && most.has(one.failure)))));
    }

    ordered(found) {
      const best = new Map();
      const key = (one) => [...one.rank.slice(0, 3), one.failure, ...one.rank.slice(3)];
      for (const one of found.map((each) => [key(each), each]).sort((a, b) => compare(a[0], b[0])).map((each) => each[1])) {
        const name = one.id + "\0" + (one.message && !one.entry ? one.message.text : "");
        const first = best.get(name);
        if (!first) best.set(name, Object.assign(one, { also: [] }));
        else if (one.failure !== first.failure && !first.also.includes(one.failure)) first.also.push(one.failure);
      }
      return [...best.values()];
    }

    title(answer) {
      if (answer.known) return answer.known.issue.title;
      if (answer.entry) return (answer.entry.foreign ? `Not Triton's (${answer.entry.foreign}): ` : "") + (answer.doubtful ? "Perhaps not Triton's: " : "") + answer.entry.title;
      return this.ofSource(answer.message);
    }

    ofSource(message) {
      const minor = (text) => text.split(".").slice(0, 2).join("."), first = minor(message.first), last = minor(message.last);
      return `Triton ${first === last ? first : `${first} to ${last}`} says this${message.condition ? ` where \`${message.condition}\`` : ""}: ${message.where} (${message.exception})`;
    }

    // The causes that the command shows.
    shown(answer) {
      const found = answer.causes.filter((one) => one.share > -1), possible = found.length ? found : answer.causes;
      const open = possible.filter((one) => one.share >= 0).length;
      return possible.slice(0, answer.certain ? 1 : Math.min(Math.max(open, 3), 4));
    }
  }

  // A text, read: its lines without what launchers put in front of them, its failures, and the facts that it names.
  class Log {
    constructor(why, text) {
      this.why = why;
      this.lines = [...this.read(text)];
      this.starts = [];
      const pieces = [];
      let at = 0;
      for (const line of this.lines) {
        this.starts.push(at);
        pieces.push(tidy(line.text.slice(0, why.limits.line)));
        at += pieces[pieces.length - 1].length + 1;
      }
      this.tidy = pieces.join(" ");
      this.words = new Set(words(this.tidy));
      this.plain = this.lines.map((line) => line.text).join("\n");
      this.saidFirst = [...this.lines.filter((line) => !line.quoted), ...this.lines.filter((line) => line.quoted)].map((line) => line.text).join("\n");
      this.byFailure = new Map();
      for (const line of this.lines) this.byFailure.set(line.failure, (this.byFailure.get(line.failure) || (line.rank ? [line.rank] : [])).concat(line.text));
      const most = why.limits.failure;
      for (const [number, texts] of this.byFailure) {
        const whole = texts.join("\n");
        this.byFailure.set(number, whole.length <= most ? whole : whole.slice(0, most / 2) + "\n" + whole.slice(-most / 2));
      }
      const spoken = this.spoken(this.plain);
      this.own = why.rules.frame.test(spoken);
      this.framed = this.hasFrame(this.plain);
      this.others = why.rules.others.test(this.plain) && !why.rules.place.test(spoken);
      this.interpreted = this.tidy.includes("interpret");
      this.generated = why.rules.generated.test(this.plain);
      const one = (name) => { const found = new Set(why.all(name, this.plain).map((match) => match[1])); return found.size === 1 ? [...found][0] : ""; };
      this.facts = { triton: one("triton"), torch: one("torch"), target: this.gpu() };
    }

    spoken(text) {
      const { rules, data } = this.why, named = new RegExp(rules.namedFile.source, "g"), folder = new RegExp(rules.folder.source, "g");
      return text.replace(this.why.regex(data.rules.passing, "g"), " ").replace(named, (found) => (rules.package.test(found) ? found : found.replace(folder, "")));
    }

    hasFrame(text) {
      const spoken = this.spoken(text);
      return this.why.rules.frame.test(spoken) || this.why.rules.library.test(spoken);
    }

    framedIn(failure) {
      this.framedOf = this.framedOf || new Map();
      if (!this.framedOf.has(failure)) {
        const traced = [...this.byFailure].filter(([, text]) => text.includes(this.why.data.traceback)).map(([one]) => one);
        const said = [...this.byFailure].filter(([one]) => traced.length < 2 || one === failure || !traced.includes(one));
        this.framedOf.set(failure, this.framed && said.some(([, text]) => this.hasFrame(text)));
      }
      return this.framedOf.get(failure);
    }

    at(position) {
      let low = 0, high = this.starts.length;
      while (low < high) { const middle = (low + high) >> 1; if (this.starts[middle] <= position) low = middle + 1; else high = middle; }
      return Math.max(0, low - 1);
    }

    gpu() {
      const text = this.plain.slice(0, this.why.limits.whole);
      const named = new Set(this.why.data.gpus.filter(([, expression]) => new RegExp(expression).test(text)).map(([target]) => target));
      if (named.size === 1) return [...named][0];
      const asked = new Set(this.why.all("sm", text).map(([, sm, major, minor, gfx]) => (sm ? `sm_${sm}` : major ? `sm_${major}${minor}` : (gfx || "").toLowerCase())));
      return asked.size === 1 && !named.size ? [...asked][0] : "";
    }

    * read(text) {
      const { rules, limits } = this.why;
      text = text.replace(/\r\n/g, "\n").replace(/\r/g, "\n");
      const long = text.length > limits.whole, streams = new Map(), above = new Map(), seen = new Set();
      let failures = -1, before = "";
      const all = this.numbered(text, long), pytest = all.some(([, raw]) => rules.byPytest.test(raw));
      const rows = pytest ? this.withoutSource(all) : all;
      for (const [place, [number, raw]] of rows.entries()) {
        const found = rules.stream.exec(raw), stream = found ? found[1] : "", line = this.stripped(raw);
        if (!line) continue;
        if (long) {
          if (seen.has(stream + "\0" + line) && !line.includes(this.why.data.traceback)) continue;
          seen.add(stream + "\0" + line);
        }
        const begins = line.includes(this.why.data.traceback) && !this.why.data.chained.some((one) => before.toLowerCase().includes(one));
        if (!streams.has(stream) || begins || rules.header.test(line)) {
          if (!(streams.has(stream) && rules.header.test(before))) failures++;
          streams.set(stream, failures);
        }
        const framed = rules.frameLine.test(above.get(stream) || "") && !(rules.frameLine.test(line) || rules.saidByPython.test(line));
        before = line;
        above.set(stream, line);
        yield { number, text: line, failure: streams.get(stream), quoted: (pytest && rules.failedLine.test(raw)) || framed || (place + 1 < rows.length && rules.caret.test(rows[place + 1][1])), rank: rules.rank.test(stream) ? stream : "" };
      }
    }

    withoutSource(lines) {
      const { failedLine, sourceLine } = this.why.rules;
      const source = new Set();
      lines.forEach(([, raw], place) => {
        if (failedLine.test(raw)) for (let above = place - 1; above >= 0 && sourceLine.test(lines[above][1]); above--) source.add(above);
      });
      return lines.filter((line, place) => !source.has(place));
    }

    stripped(raw) {
      let line = this.why.printable(raw), before = null;
      if (this.why.rules.header.test(line)) return line.trimEnd();
      while (before !== line) { before = line; line = line.replace(this.why.rules.front, ""); }
      return line.trimEnd();
    }

    numbered(text, long) {
      const { limits, data } = this.why, lines = text.split("\n");
      if (!long) return lines.map((line, n) => [n + 1, line]);
      const first = new Map();
      lines.forEach((line, n) => {
        const shape = line.replace(/[0-9]/g, "").replace(/[A-Z]+/g, (some) => some.toLowerCase());
        if (!first.has(shape)) first.set(shape, n);
      });
      const having = (shapes, marks) => shapes.filter((shape) => marks.some((mark) => shape.includes(mark)));
      const shapes = [...first.keys()], kept = new Set();
      const sorted = (shapes) => shapes.map((shape) => first.get(shape)).sort((a, b) => a - b);
      let left = limits.text;
      const read = () => {
        for (const places of [[lines.length - 1], sorted(having(shapes, data.strong)), sorted(having(shapes, data.marks))]) {
          for (let n = 0; n < Math.ceil(places.length / 2); n++) {
            for (const place of [places[n], places[places.length - 1 - n]]) {
              for (let one = Math.max(0, place - limits.before); one < Math.min(lines.length, place + limits.after); one++) {
                if (kept.has(one)) continue;
                left -= Math.min(lines[one].length, limits.line);
                if (left < 0 || kept.size >= limits.lines) return;
                kept.add(one);
              }
            }
          }
        }
      };
      read();
      return [...kept].sort((a, b) => a - b).map((one) => [one + 1, lines[one].slice(0, limits.line)]);
    }
  }

  // The known issues that a text speaks of: reports/findings/why.py.
  class Finder {
    constructor(why) {
      const data = this.data = why.data;
      this.why_ = why;
      this.ours = new RegExp("^(?:" + data.ours + ")");
      this.having = new Map();
      for (const [number, some] of data.listed) for (const word of some) this.having.set(word, (this.having.get(word) || new Set()).add(number));
      const count = data.issues.length;
      this.weights = new Map([...this.having].map(([word, having]) => [word, Math.log(1 + count / having.size)]));
      this.strange = Math.log(1 + count / 4);
      this.rare = new Set([...this.having].filter(([, having]) => having.size <= 2).map(([word]) => word));
      this.texts = data.listed.filter(([, some, whole]) => some.length && whole).map(([issue, some]) => this.text(issue, some));
      this.at = new Map();
      for (const one of this.texts) for (const word of one.anchors) this.at.set(word, (this.at.get(word) || []).concat(one));
      this.names = new Map(Object.entries(data.names));
      this.shims = new Map(data.shims.map((one) => [one.name, one]));
    }

    text(issue, some) {
      const kept = new Set(some), rarest = Math.max(...[...kept].map((word) => this.weights.get(word)));
      return { issue, words: kept, weight: this.weight(kept), anchors: new Set([...kept].filter((word) => this.weights.get(word) >= 0.9 * rarest)) };
    }

    weight(some) { return sum([...some].map((word) => this.weights.get(word) || 0)); }

    split(line) {
      const { limits, rules } = this.why_;
      const text = line.slice(0, limits.line).replace(/\btl\./g, "triton.language.");
      return (text.match(new RegExp(rules.word.source, "g")) || []).map((word) => word.toLowerCase()).filter((word) => !this.data.idle.includes(word));
    }

    lines(text) {
      const made = [];
      for (let line of this.why_.printable(text.replace(/\r\n/g, "\n").replace(/\r/g, "\n")).split("\n")) {
        let before = null;
        while (before !== line) { before = line; line = line.replace(this.why_.rules.whyFront, ""); }
        if (line.trim()) made.push(line.trimEnd());
      }
      return made;
    }

    why(text, triton) {
      const lines = this.lines(text), best = new Map();
      const add = (number, candidate) => { const had = best.get(number); if (!had || compare(candidate.slice(0, 3), had.slice(0, 3)) > 0) best.set(number, candidate); };
      this.byFingerprint(lines, add);
      this.byWords(lines, add);
      const interpreted = text.toLowerCase().includes("interpret"), made = [];
      for (const [number, [exact, share, weight, line]] of best) {
        const issue = this.data.issues[number], inside = triton ? within(triton, issue.triton) : null;
        const elsewhere = issue.lanes.join() === "interpret" && !interpreted, over = issue.status === "no longer reproduces";
        made.push([[inside === false ? 1 : 0, over ? 1 : 0, exact ? 0 : 1, -share, -weight, elsewhere ? 1 : 0, number],
          { issue, shim: this.shims.get(issue.shim || "") || null, exact: Boolean(exact), share: Math.round(share * 1000) / 1000, line, inside }]);
      }
      return made.sort((a, b) => compare(a[0], b[0])).map((one) => one[1]);
    }

    byFingerprint(lines, add) {
      const print = new Fingerprint(this.why_), said = print.ofOutput(lines.join("\n"));
      const everything = new Set(lines.flatMap((line) => this.split(line)));
      const heard = this.data.issues.map((issue) => !this.ours.test(issue.fingerprint) || issue.kernels.some((kernel) => everything.has(kernel.toLowerCase())));
      for (const line of new Set([said, ...lines])) {
        const mine = new Set(this.split(line)), wanted = new Set(this.data.unread);
        for (const word of mine) for (const number of this.having.get(word) || []) wanted.add(number);
        const plain = wanted.size ? print.ofText(line) : "";
        for (const number of [...wanted].sort((a, b) => a - b)) {
          const issue = this.data.issues[number];
          if (!issue.fingerprint || !heard[number]) continue;
          issue.compiled = issue.compiled || this.why_.regex([issue.fingerprint, ""]);
          const hit = issue.compiled.exec(line.slice(0, 20000)) || issue.compiled.exec(plain);
          if (!hit) continue;
          const shares = this.texts.filter((one) => one.issue === number).map((one) => this.weight([...one.words].filter((word) => mine.has(word))) / one.weight);
          add(number, [1, shares.length ? Math.max(...shares) : 1, this.weight(new Set(this.split(hit[0]))), line]);
        }
      }
    }

    byWords(lines, add) {
      const split = lines.map((line) => this.split(line)), seen = new Set(), folded = 3;
      for (let start = 0; start < lines.length; start++) {
        const wanted = new Set([...new Set(split[start])].flatMap((word) => this.at.get(word) || []));
        const from = Math.max(0, start - folded + 1), here = [lines[start], ...lines.slice(from, start + folded)].join("\n");
        if (!wanted.size || seen.has(here)) continue;
        seen.add(here);
        const near = new Set(split.slice(from, start + folded).flat());
        for (const one of wanted) {
          if (one.words.has("mismatch") && !this.data.issues[one.issue].kernels.some((kernel) => near.has(kernel.toLowerCase()))) continue;
          const common = [...one.words].filter((word) => near.has(word));
          const share = this.weight(common) / one.weight, rarest = this.weight([...one.anchors].filter((word) => near.has(word))) / this.weight(one.anchors);
          if (share >= 0.72 && rarest >= 0.75) add(one.issue, [0, Math.min(share, 1), this.weight(common), lines[start]]);
        }
      }
      const every = split.flat();
      if (every.length <= 14) this.asked(every, lines.join(" "), add);
    }

    asked(every, line, add) {
      for (const number of this.names.get(line.trim().toLowerCase()) || []) add(number, [1, 1, 0, line]);
      const kept = new Set(every.filter((word) => this.weights.has(word) || !/^\d+$/.test(word)));
      if (!kept.size) return;
      const tally = new Map([...kept].map((word) => [word, this.weights.has(word) ? this.weights.get(word) : this.strange]));
      for (const one of this.texts) {
        const common = [...one.words].filter((word) => kept.has(word));
        const share = sum(common.map((word) => tally.get(word))) / sum([...tally.values()]);
        if (share >= 0.8 && (common.some((word) => this.rare.has(word)) || common.length >= 3)) add(one.issue, [0, share * (0.5 + this.weight(common) / one.weight / 2), this.weight(common), line]);
      }
    }
  }

  // What a compiler printed, in one line: matrix/cell/judging/fingerprint.py.
  class Fingerprint {
    constructor(why) { this.why = why; this.rules = why.rules; }

    ofText(text) {
      text = text.slice(0, 4000);
      for (const [source, flags, replacement] of this.why.data.noise) text = text.replace(this.why.regex([source, flags], "g"), replacement.replace(/\\g<(\w+)>/g, "$$<$1>"));
      return text.trim().slice(0, 240);
    }

    around(text, word) {
      const place = text.indexOf(word);
      if (place < 0) return "";
      const from = Math.max(0, place - 2000), piece = text.slice(from, place + 4000), before = piece.slice(0, place - from);
      const upTo = before.lastIndexOf("\n");
      const end = Math.max(0, upTo);
      return piece.slice(before.slice(0, end).lastIndexOf("\n") + 1);
    }

    ofOutput(text) {
      const base = (path) => path.split("/").pop();
      let found = this.rules.assertion.exec(this.around(text, "Assertion"));
      if (found) {
        const head = found.groups.where.split("(")[0].trim();
        const name = head ? head.split(" ").pop().replace(/\b(?:mlir|triton|llvm|gpu)::/g, "") : "";
        return this.ofText(`${[base(found.groups.file), name].filter(Boolean).join(": ")}: Assertion \`${found.groups.what}' failed`);
      }
      found = this.rules.llvmError.exec(this.around(text, "LLVM ERROR"));
      if (found) return this.ofText(`LLVM ERROR: ${found.groups.what}`);
      found = this.rules.unreachable.exec(this.around(text, "UNREACHABLE"));
      if (found) return this.ofText(`UNREACHABLE in ${base(found.groups.file || "?")}: ${found.groups.what || ""}`);
      if (text.includes("ptxas")) {
        const said = [...new Set(this.why.all("ptxas", text).map((one) => this.ofText(one.groups.what)))];
        const causes = said.filter((one) => !one.includes("Ptx assembly aborted")), kept = causes.length ? causes : said;
        if (kept.length) return this.ofText(`ptxas ${kept.slice(0, 3).join("; ")}`);
      }
      found = this.rules.mlirError.exec(this.around(text, "error: "));
      const what = found ? found.groups.what || found.groups.other || "" : "";
      if (!what || what.startsWith(this.why.data.pipeline)) {
        const failed = this.rules.pass.exec(this.around(text, "Pipeline failed while executing"));
        if (failed) return this.ofText(`MLIR error: the pass ${failed.groups.name} failed`);
      }
      return what ? this.ofText(`MLIR error: ${what}`) : "";
    }
  }

  // Names and options that some releases have: reports/findings/language_answers.py.
  class Language {
    constructor(why) { this.why = why; this.data = why.data.language; }

    * entries(lines, triton) {
      this.mine = triton.split(".").slice(0, 2).join(".");
      for (let place = 0; place < lines.length; place++) {
        const text = lines[place].text;
        if (text.includes("triton")) {
          for (const name of ["missing0", "missing1", "missing2"]) {
            const found = this.why.rules[name].exec(text);
            if (!found) continue;
            let [, module, one] = found;
            if (!module.startsWith("triton")) [module, one] = [one, module];
            const made = this.ofName(module.replace(/\.+$/, ""), one);
            if (made) yield [made, place];
            break;
          }
        }
        if (text.includes("unexpected keyword")) {
          const found = this.why.rules.keyword.exec(text), made = found && this.ofOption(found[1], found[2]);
          if (made) yield [made, place];
        }
      }
    }

    releases(path) {
      const keys = [path, ...this.data.short.filter(([long]) => path.startsWith(long)).map(([long, short]) => short + path.slice(long.length))];
      const key = keys.find((one) => one in this.data.table);
      return key === undefined ? [] : this.data.table[key].flatMap(([runs]) => runs.split(/\s+/).filter(Boolean));
    }

    elsewhere(name, path) {
      if (name.length < 5) return [];
      return Object.entries(this.data.table)
        .filter(([key]) => key.split(".").pop() === name && !key.startsWith("tensor.") && !key.startsWith("launch.") && key !== path)
        .map(([key, found]) => [key, found.flatMap(([runs]) => runs.split(/\s+/).filter(Boolean))]);
    }

    minors(runs) {
      const minor = (text) => text.split(".").slice(0, 2).join("."), order = this.data.order;
      return runs.flatMap((run) => { const ends = run.split("..").map(minor); return order.slice(order.indexOf(ends[0]), order.indexOf(ends[ends.length - 1]) + 1); });
    }

    spoken(runs) {
      const minor = (text) => text.split(".").slice(0, 2).join("."), order = this.data.order, merged = [];
      for (const end of runs.map((run) => run.split("..").map(minor))) {
        const last = merged[merged.length - 1], at = last ? order.indexOf(last[1]) : -1;
        if (last && (at >= 0 && at < order.length - 1 ? order[at + 1] : "") === end[0]) last[1] = end[end.length - 1];
        else merged.push([end[0], end[end.length - 1]]);
      }
      return merged.map(([a, b]) => (a === b ? a : `${a} to ${b}`)).join(", ");
    }

    entry(id, title, why, todo, { others = [], ...more }) { return { id, kind: "versions", title: title.slice(0, 110), causes: [{ why, do: todo }, ...others], ask: "", meaning: "", ...more }; }

    ofName(module, name) {
      const path = `${module}.${name}`, have = this.releases(path), others = this.elsewhere(name, path), { order, words: say } = this.data;
      if (!have.length && !others.length) return null;
      const spoken = this.spoken(have), ends = `${order[0]} to ${order[order.length - 1]}`;
      if (have.length && (spoken === ends || this.minors(have).includes(this.mine))) {
        return this.entry("triton-name", `${spoken === ends ? "Every release of Triton" : `Triton ${this.mine}`} has ${path}: something else was imported`, say.whole, say.print, { shared: true, framed: true, ask: say.ask, others: [{ ...say.old }] });
      }
      const title = have.length ? `${path} is in Triton ${spoken} alone` : `No release of Triton has ${path}`;
      const why = have.length ? `The Triton that runs is none of them: ${path} is in ${spoken}.` : `No release from 2.3.1 to 3.9.0 has ${path}.`;
      const other = others.slice(0, 3).map(([one, runs]) => `${one} in ${this.spoken(runs)}`).join("; ");
      let todo = other ? `It is also ${other}. ` : "";
      if (have.length) todo += `Install one of ${spoken}, or the release of torch or the library that fits yours. `;
      return this.entry("triton-name", title, why, todo + say.pairs, { shared: !have.length, others: have.length ? [] : [{ ...say.legacy }] });
    }

    ofOption(name, option) {
      const having = [], path = `tl.${name}`, rows = this.data.table[path] || [];
      let known = false;
      for (const [runs, kind, signature] of rows) {
        known = known || kind === "function";
        if (new RegExp(`[(\\s*]${escaped(option)}\\b`).test(signature)) having.push(...runs.split(/\s+/).filter(Boolean));
      }
      if (!known) return null;
      if (!having.length) {
        return this.entry("triton-option", `${path} has no option ${option}`, `No release from 2.3.1 to 3.9.0 has ${option}= for ${path}.`, this.data.words.spelling, { shared: true, framed: true });
      }
      const spoken = this.spoken(having), { order } = this.data;
      if (spoken === `${order[0]} to ${order[order.length - 1]}` || this.minors(having).includes(this.mine)) return null;
      return this.entry("triton-option", `${path} takes ${option}= in Triton ${spoken} alone`, `The Triton that runs is none of them: ${path} takes ${option}= in ${spoken}.`,
        `Leave ${option}= out on other releases, or install one of ${spoken}. ${this.data.words.pairs}`, { framed: true });
    }
  }

  root.Why = Why;
})(typeof module === "object" ? module.exports : window);
