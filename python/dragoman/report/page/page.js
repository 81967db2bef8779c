"use strict";
// All data are in the page, compressed. Statistics of BLEU are columns: length, reference length, matches of order 1 to 4.
const $ = (id) => document.getElementById(id);
const CODE = { a: "#b45f06", b: "#14638a" };
const COLOURS = ["#14638a", "#b45f06", "#4a7c2f", "#8b3d8b", "#b02a37", "#0f7b7b", "#6b5b2a", "#3b4fae", "#c2528b", "#5c6670"];
const EDGES = { frequency: [0, 1, 2, 5, 10, 100, 1000], length: [1, 11, 21, 31, 41, 61], ratio: [0, 0.8, 0.9, 0.95, 1.05, 1.1, 1.2] };
let D = null, plotted = null;

function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
async function unpacked(id) {
  const bytes = bytesOf($(id).textContent.trim());
  $(id).remove();
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}
function plotly() {  // loaded when the first plot is wanted
  plotted = plotted || unpacked("plotly").then((code) => { const s = document.createElement("script"); s.textContent = code; document.head.append(s); return window.Plotly; });
  return plotted;
}
async function draw(id, traces, layout) {
  const place = $(id);
  if (!place) return;
  const Plotly = await plotly();
  const narrow = place.clientWidth < 480;
  const base = { margin: { l: 48, r: 12, t: 8, b: 44 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: "system-ui, sans-serif", size: narrow ? 11 : 12, color: "#1c2530" }, legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 }, hovermode: "closest" };
  await Plotly.react(place, traces, { ...base, ...layout }, { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"], toImageButtonOptions: { format: "svg", filename: id } });
}
function el(tag, attributes = {}, ...inner) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) key === "class" ? (made.className = value) : made.setAttribute(key, value);
  made.append(...inner.filter((one) => one !== null));
  return made;
}
const words = (line) => D.tokenized ? line.split(" ").filter(Boolean) : line.match(/[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) || [];

// -- BLEU
function sums(T, runs, rows) {
  const total = new Float64Array(6);
  for (const run of runs) for (const i of rows) { const at = T.starts[i] + run[i]; for (let c = 0; c < 6; c++) total[c] += T.statistics[c][at]; }
  total.totals = [1, 2, 3, 4].map((n) => { let sum = 0; for (const run of runs) for (const i of rows) sum += Math.max(T.statistics[0][T.starts[i] + run[i]] - n + 1, 0); return sum; });
  return total;
}
function bleu(s, totals) {  // with sacreBLEU's exponential smoothing
  let log = 0, smooth = 1;
  for (let n = 0; n < 4; n++) {
    if (!totals[n]) return 0;
    let p = s[2 + n] / totals[n];
    if (!s[2 + n]) { smooth *= 2; p = 1 / (smooth * totals[n]); }
    log += Math.log(p) / 4;
  }
  if (!s[2]) return 0;
  return 100 * Math.exp(log) * (s[0] < s[1] ? (s[0] ? Math.exp(1 - s[1] / s[0]) : 0) : 1);
}
const mean = (T, runs, rows) => runs.reduce((sum, run) => sum + score(T, [run], rows), 0) / runs.length;
const score = (T, runs, rows) => { const s = sums(T, runs, rows); return bleu(s, s.totals); };
function sentenceScore(T, i, u) {  // BLEU+1
  const at = T.starts[i] + u, length = T.statistics[0][at];
  if (!length) return 0;
  let log = 0;
  for (let n = 0; n < 4; n++) { const m = T.statistics[2 + n][at] + (n ? 1 : 0), t = Math.max(length - n, 0) + (n ? 1 : 0); if (!m) return 0; log += Math.log(m / t) / 4; }
  const reference = T.statistics[1][at];
  return 100 * Math.exp(log) * (length < reference ? Math.exp(1 - reference / length) : 1);
}
function random(seed) { return () => { seed |= 0; seed = (seed + 0x6d2b79f5) | 0; let t = Math.imul(seed ^ (seed >>> 15), 1 | seed); t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t; return ((t ^ (t >>> 14)) >>> 0) / 4294967296; }; }
function pValue(T, a, b, rows, samples = 1000) {  // stratified approximate randomisation: outputs of a sentence are dealt out anew
  const n = Math.max(a.length, b.length), A = a.length < n ? Array(n).fill(a[0]) : a, B = b.length < n ? Array(n).fill(b[0]) : b;
  const next = random(1), observed = Math.abs(score(T, B, rows) - score(T, A, rows));
  const all = [...A, ...B], differing = rows.filter((i) => all.some((run) => run[i] !== all[0][i]));
  const fixed = sums(T, A, rows.filter((i) => all.every((run) => run[i] === all[0][i])));
  const width = 10, flat = new Float64Array(differing.length * 2 * n * width), whole = new Float64Array(width);
  differing.forEach((i, place) => all.forEach((run, r) => {
    const at = T.starts[i] + run[i], to = (place * 2 * n + r) * width;
    for (let c = 0; c < 6; c++) flat[to + c] = T.statistics[c][at];
    for (let k = 0; k < 4; k++) flat[to + 6 + k] = Math.max(T.statistics[0][at] - k, 0);
    for (let c = 0; c < width; c++) whole[c] += flat[to + c];
  }));
  const order = Array.from({ length: 2 * n }, (_, k) => k);
  const both = (x) => bleu([0, 1, 2, 3, 4, 5].map((c) => x[c] + fixed[c]), [0, 1, 2, 3].map((k) => x[6 + k] + fixed.totals[k]));
  let extreme = 0;
  for (let s = 0; s < samples; s++) {
    const first = new Float64Array(width);
    for (let place = 0; place < differing.length; place++) for (let k = 0; k < n; k++) {
      const swap = k + Math.floor(next() * (2 * n - k)), r = order[swap];
      order[swap] = order[k]; order[k] = r;
      const from = (place * 2 * n + r) * width;
      for (let c = 0; c < width; c++) first[c] += flat[from + c];
    }
    const second = whole.map((x, c) => x - first[c]);
    if (Math.abs(both(second) - both(first)) >= observed - 1e-9) extreme++;
  }
  return (extreme + 1) / (samples + 1);
}

// -- two systems
const view = { test: 0, a: 0, b: 0, page: 0, wpage: 0, rows: [] };
const T = () => D.tests[view.test];
function runsOf(t, system) { let from = 0; for (let k = 0; k < system; k++) from += t.systems[k].runs; return t.said.slice(from, from + t.systems[system].runs); }
function options(select, names, chosen) { select.replaceChildren(...names.map((name, k) => { const o = el("option", { value: String(k) }, name); o.selected = k === chosen; return o; })); }
function choosers() {
  document.querySelectorAll(".pick-test").forEach((s) => options(s, D.tests.map((t) => t.name), view.test));
  document.querySelectorAll(".pick-a").forEach((s) => options(s, T().systems.map((x) => x.name), view.a));
  document.querySelectorAll(".pick-b").forEach((s) => options(s, T().systems.map((x) => x.name), view.b));
  $("l-unknown").hidden = !T().unknown.length; $("l-terms").hidden = !T().terms.length; $("l-details").hidden = !Object.keys(T().details).length;
}
function filtered() {
  const t = T(), least = +$("f-min").value || 0, most = +$("f-max").value || Infinity, word = $("f-word").value.trim().toLowerCase(), seen = new Set();
  const wants = (mode, count) => !mode || (mode === "some" ? count > 0 : count === 0);
  const found = [];
  for (let i = 0; i < t.references.length; i++) {
    const reference = t.references[i][0] || "", length = t.words[i].length;
    if (length < least || length > most) continue;
    if (word && !` ${t.source[i] || ""} ${reference} `.toLowerCase().includes(word)) continue;
    if (t.unknown.length && !wants($("f-unknown").value, t.unknown[i])) continue;
    if (t.terms.length && !wants($("f-terms").value, t.terms[i])) continue;
    if ($("f-duplicates").value) { const key = t.source[i] || reference; if (seen.has(key)) continue; seen.add(key); }
    found.push(i);
  }
  return found;
}
const kind = (edges, value) => { let k = 0; while (k + 1 < edges.length && value >= edges[k + 1]) k++; return k; };
const label = (edges, k) => k + 1 === edges.length ? `${edges[k]}+` : edges.every(Number.isInteger) ? (edges[k + 1] - edges[k] === 1 ? `${edges[k]}` : `${edges[k]}–${edges[k + 1] - 1}`) : `${edges[k]}–${edges[k + 1]}`;
function counted(list) { const m = new Map(); for (const w of list) m.set(w, (m.get(w) || 0) + 1); return m; }
function byFrequency(t, runs, rows) {
  const edges = EDGES.frequency, matched = edges.map(() => 0), said = edges.map(() => 0), wanted = edges.map(() => 0);
  for (const i of rows) {
    const reference = counted(t.words[i]);
    for (const [w, c] of reference) wanted[kind(edges, D.counts[w] || 0)] += c * runs.length;
    for (const run of runs) for (const [w, c] of counted(words(t.texts[t.starts[i] + run[i]]))) { const k = kind(edges, D.counts[w] || 0); said[k] += c; matched[k] += Math.min(c, reference.get(w) || 0); }
  }
  return edges.map((_, k) => ({ label: label(edges, k), size: wanted[k] / runs.length, value: said[k] + wanted[k] ? (200 * matched[k]) / (said[k] + wanted[k]) : 0 }));
}
function buckets(t, all, rows, value, edges, labels) {
  const groups = edges.map(() => []);
  for (const i of rows) groups[kind(edges, value(i))].push(i);
  return groups.map((own, k) => ({ label: labels ? labels[k] : label(edges, k), size: own.length, values: all.map((runs) => own.length ? score(t, runs, own) : null) })).filter((g) => g.size);
}
function bars(id, names, rows, unit) {
  draw(id, names.map((name, k) => ({ type: "bar", name, x: rows.map((r) => r.label), y: rows.map((r) => r.values[k]), marker: { color: k ? CODE.b : CODE.a }, customdata: rows.map((r) => r.size), hovertemplate: `${name}: %{y:.2f}<br>%{customdata} ${unit}<extra></extra>` })), { barmode: "group", xaxis: { type: "category", fixedrange: true }, yaxis: { rangemode: "tozero" } });
}
function ngrams(t, a, b, rows) {
  const tally = (runs) => { const m = new Map(); for (const i of rows) { const reference = t.words[i];
    for (const run of runs) { const said = words(t.texts[t.starts[i] + run[i]]); for (let n = 1; n <= 4; n++) { const there = new Map(); for (let k = 0; k + n <= reference.length; k++) { const g = reference.slice(k, k + n).join(" "); there.set(g, (there.get(g) || 0) + 1); }
      for (let k = 0; k + n <= said.length; k++) { const g = said.slice(k, k + n).join(" "), left = there.get(g) || 0; if (left) { there.set(g, left - 1); m.set(g, (m.get(g) || 0) + 1 / runs.length); } } } } } return m; };
  const [x, y] = [tally(a), tally(b)];
  const all = [...new Set([...x.keys(), ...y.keys()])].map((g) => [g, x.get(g) || 0, y.get(g) || 0]);
  const longer = (p, q) => q[0].split(" ").length - p[0].split(" ").length || (p[0] < q[0] ? -1 : 1);
  return [all.filter((g) => g[1] > g[2]).sort((p, q) => q[1] - q[2] - (p[1] - p[2]) || longer(p, q)).slice(0, 12), all.filter((g) => g[2] > g[1]).sort((p, q) => q[2] - q[1] - (p[2] - p[1]) || longer(p, q)).slice(0, 12)];
}
function compare() {
  const t = T(), rows = view.rows, a = runsOf(t, view.a), b = runsOf(t, view.b), names = [t.systems[view.a].name, t.systems[view.b].name];
  if (!rows.length) { $("pair-scores").textContent = "No sentence is left by these filters."; return; }
  const [x, y] = [mean(t, a, rows), mean(t, b, rows)];
  const shown = (p) => { $("pair-scores").replaceChildren(`${rows.length} of ${t.references.length} sentences: ${names[0]} ${x.toFixed(2)}, ${names[1]} ${y.toFixed(2)} BLEU, difference `, el(p !== null && p < 0.05 ? "b" : "span", {}, `${y - x >= 0 ? "+" : ""}${(y - x).toFixed(2)}`), p === null ? " …" : `, p = ${p.toFixed(3)}`); };
  shown(null);
  const ticket = (compare.ticket = (compare.ticket || 0) + 1);
  setTimeout(() => { if (ticket !== compare.ticket) return; shown(view.a === view.b ? 1 : pValue(t, a, b, rows)); }, 30);
  const [fa, fb] = [byFrequency(t, a, rows), byFrequency(t, b, rows)];
  const known = Object.keys(D.counts).length > 0;
  $("p-frequency").parentNode.hidden = !known;
  if (known) bars("p-frequency", names, fa.map((g, k) => ({ label: k ? g.label : "unseen", size: g.size, values: [g.value, fb[k].value] })), "words");
  bars("p-length", names, buckets(t, [a, b], rows, (i) => t.words[i].length, EDGES.length), "sentences");
  bars("p-ratio", names, buckets(t, [a, b], rows, (i) => { const at = t.starts[i] + b[0][i]; return t.statistics[0][at] / Math.max(t.statistics[1][at], 1); }, EDGES.ratio), "sentences");
  const hard = difficulty(t), sorted = rows.map((i) => hard[i]).sort((p, q) => p - q), at = (q) => sorted[Math.floor(q * sorted.length)];
  bars("p-difficulty", names, buckets(t, [a, b], rows, (i) => hard[i], [-1, at(0.25), at(0.5), at(0.75)], ["hardest", "hard", "easy", "easiest"]), "sentences");
  const [ahead, behind] = ngrams(t, a, b, rows);
  const list = (title, found) => el("div", { class: "scroll" }, el("h4", {}, title), el("table", {}, el("thead", {}, el("tr", {}, ...["words", ...names].map((n) => el("th", {}, n)))), el("tbody", {}, ...found.map((g) => el("tr", {}, el("td", { class: "name" }, g[0]), el("td", {}, g[1].toFixed(1)), el("td", {}, g[2].toFixed(1)))))));
  $("ngrams").replaceChildren(list(`${names[0]} ahead`, ahead), list(`${names[1]} ahead`, behind));
}
function difficulty(t) {
  if (!t.hard) t.hard = t.references.map((_, i) => { let sum = 0; for (const run of t.said) sum += sentenceScore(t, i, run[i]); return sum / t.said.length; });
  return t.hard;
}

// -- sentences
function marked(line, other) {  // words that are not in a longest common subsequence are marked
  const x = words(line), y = words(other), n = y.length + 1, L = new Uint16Array((x.length + 1) * n);
  for (let i = x.length - 1; i >= 0; i--) for (let j = y.length - 1; j >= 0; j--) L[i * n + j] = x[i] === y[j] ? L[(i + 1) * n + j + 1] + 1 : Math.max(L[(i + 1) * n + j], L[i * n + j + 1]);
  const parts = [];
  let i = 0, j = 0;
  while (i < x.length) { if (j < y.length && x[i] === y[j]) { parts.push(x[i] + " "); i++; j++; } else if (j < y.length && L[i * n + j + 1] > L[(i + 1) * n + j]) j++; else { parts.push(el("mark", {}, x[i]), " "); i++; } }
  return parts;
}
const gaps = (text) => text.split(/(\[X,[12]\])/).map((part) => /^\[X,/.test(part) ? el("b", { class: "gap" }, part[3]) : part);
function derivation(name, told) {
  const rows = told.phrases.map((p) => el("tr", {}, el("td", { style: `padding-left:${0.5 + p.depth}rem` }, ...gaps(p.source)), el("td", {}, ...gaps(p.target || "∅")), el("td", { class: "adds" }, Object.entries(p.adds).sort((x, y) => Math.abs(y[1]) - Math.abs(x[1])).slice(0, 12).map(([f, v]) => `${f} ${v > 0 ? "+" : ""}${v}`).join("  "))));
  const more = told.nbest.map(([text, value]) => el("tr", {}, el("td", { colspan: "2" }, text), el("td", { class: "adds" }, String(value))));
  return el("details", { class: "derivation" }, el("summary", {}, `${name}, its first run: ${told.list ? "features" : "derivation"} (score ${told.score}) and other candidates`), el("div", { class: "scroll" }, el("table", {}, el("tbody", {}, ...rows, ...more))));
}
// The fewest words to move from one order to the other, of those that both have: none if they share too few. As breakdown.reordered.
function moved(first, second) {
  const places = new Map(), order = [], ends = [];
  second.forEach((w, k) => { if (!places.has(w)) places.set(w, []); places.get(w).push(k); });
  for (const w of first) { const own = places.get(w); if (own && own.length) order.push(own.shift()); }
  for (const k of order) { const at = ends.findIndex((end) => end >= k); ends[at < 0 ? ends.length : at] = k; }
  return 2 * order.length >= 0.75 * (first.length + second.length) ? order.length - ends.length : 0;
}
function sentences() {
  const t = T(), a = runsOf(t, view.a)[0], b = runsOf(t, view.b)[0], order = $("s-order").value, wins = $("s-wins").value, details = $("s-details").checked;
  let found = view.rows.map((i) => ({ i, x: sentenceScore(t, i, a[i]), y: sentenceScore(t, i, b[i]) }));
  if (wins) found = found.filter((s) => wins === "tie" ? s.x === s.y : wins === "b" ? s.y > s.x : s.x > s.y);
  if (details) found = found.filter((s) => Object.values(t.details).some((d) => d[s.i]));
  if (order === "moved") found = found.map((s) => ({ ...s, moved: moved(words(t.texts[t.starts[s.i] + a[s.i]]), words(t.texts[t.starts[s.i] + b[s.i]])) })).filter((s) => s.moved);
  const keys = { moved: (s) => -s.moved, gap: (s) => -Math.abs(s.y - s.x), second: (s) => s.x - s.y, first: (s) => s.y - s.x, place: (s) => s.i, worst: (s) => Math.min(s.x, s.y) };
  found.sort((p, q) => keys[order](p) - keys[order](q) || p.i - q.i);
  const size = 10, pages = Math.max(1, Math.ceil(found.length / size));
  view.page = Math.min(Math.max(view.page, 0), pages - 1);
  $("s-where").textContent = `${found.length} sentences, page ${view.page + 1} of ${pages}`;
  $("s-back").disabled = view.page === 0; $("s-next").disabled = view.page + 1 >= pages;
  $("s-list").replaceChildren(...found.slice(view.page * size, view.page * size + size).map((s) => one(t, s, a, b)));
}
function one(t, s, a, b) {
  const text = (run) => t.texts[t.starts[s.i] + run[s.i]], list = el("dl", {});
  const add = (name, ...inner) => list.append(el("dt", {}, name), el("dd", {}, ...inner));
  if (t.source[s.i] !== undefined) add("source", t.source[s.i]);
  t.references[s.i].forEach((r, k) => add(t.references[s.i].length > 1 ? `reference ${k + 1}` : "reference", r));
  const shown = (system, run, other, value, style) => list.append(el("dt", { class: style }, t.systems[system].name), el("dd", {}, ...marked(text(run), text(other)), el("span", { class: "score" }, ` ${value.toFixed(1)}`)));
  shown(view.a, a, b, s.x, "a"); shown(view.b, b, a, s.y, "b");
  if ($("s-all").checked) t.systems.forEach((system, k) => { if (k !== view.a && k !== view.b) { const run = runsOf(t, k)[0]; shown(k, run, a, sentenceScore(t, s.i, run[s.i]), ""); } });
  const told = t.systems.filter((system) => t.details[system.name] && t.details[system.name][s.i]).filter((system) => $("s-all").checked || [view.a, view.b].includes(t.systems.indexOf(system))).map((system) => derivation(system.name, t.details[system.name][s.i]));
  return el("article", { class: "sentence" }, el("div", { class: "score" }, `sentence ${s.i + 1}, difference ${(s.y - s.x).toFixed(1)}`), list, ...told);
}

// -- curves
const average = (list) => list.reduce((p, q) => p + q, 0) / list.length;
function valuesOf(curve, key) {  // by step, what each run has
  const steps = new Map();
  for (const run of curve.runs) for (const [x, y] of run[key]) { if (!steps.has(x)) steps.set(x, []); steps.get(x).push(y); }
  return steps;
}
function barsOf(curve, xs, steps, colour) {  // from the mean prediction up to the mean oracle, as in figures 1 to 6 of Eidelman (2012)
  const [oracle, prediction] = ["oracle", "prediction"].map((key) => valuesOf(curve, key));
  const apart = (to, sign) => xs.map((x) => (to.has(x) ? Math.max(sign * (average(to.get(x)) - average(steps.get(x))), 0) : 0));
  return { type: "data", symmetric: false, array: apart(oracle, 1), arrayminus: apart(prediction, -1), color: colour, thickness: 1, width: 3 };
}
function curves() {
  const key = $("curve-key").value, wanted = $("curve-search").value.trim().toLowerCase(), traces = [];
  const shown = D.curves.filter((c) => c.system.toLowerCase().includes(wanted));
  shown.forEach((c, number) => {
    const colour = COLOURS[number % COLOURS.length], steps = valuesOf(c, key === "all" ? "score" : key);
    const xs = [...steps.keys()].sort((p, q) => p - q);
    if (!xs.length) return;
    const title = c.system, low = xs.map((x) => Math.min(...steps.get(x))), high = xs.map((x) => Math.max(...steps.get(x)));
    if (c.runs.length > 1) traces.push({ x: [...xs, ...xs.slice().reverse()], y: [...high, ...low.reverse()], fill: "toself", fillcolor: colour + "22", line: { width: 0 }, hoverinfo: "skip", showlegend: false, type: "scatter", mode: "lines", legendgroup: title });
    traces.push({ x: xs, y: xs.map((x) => average(steps.get(x))), name: title, type: "scatter", mode: "lines+markers", line: { color: colour, dash: ["solid", "dash", "dot"][Math.floor(number / COLOURS.length) % 3] }, marker: { size: 5 }, legendgroup: title, hovertemplate: `${title}, step %{x}: %{y:.2f}<extra></extra>`, ...(key === "all" ? { error_y: barsOf(c, xs, steps, colour) } : {}) });
  });
  const narrow = $("curve-plot").clientWidth < 480;
  draw("curve-plot", traces, { xaxis: { title: { text: narrow ? "" : "step" }, dtick: Math.max(1, Math.ceil(Math.max(0, ...traces.flatMap((t) => t.x)) / 12)) }, yaxis: { title: { text: narrow ? "" : "score" } }, showlegend: true, legend: narrow ? { orientation: "h", y: -0.12, yanchor: "top" } : { x: 1.01, y: 1 }, margin: { l: 48, r: narrow ? 8 : 12, t: 8, b: 44 } });
}

// -- weights
const weight = (x) => (Math.abs(x) < 1e5 ? x.toFixed(4) : x.toExponential(3));
function weights() {
  const systems = D.weights.systems, names = Object.keys(systems), a = systems[names[+$("w-a").value]], b = $("w-b").value === "" ? null : systems[names[+$("w-b").value]];
  const set = $("w-set").value, wanted = $("w-search").value.trim().toLowerCase();
  const kindOf = (name) => name.includes(":") ? name.split(":")[0] : "dense";
  let rows = D.weights.names.map((n, k) => ({ n, x: a.values[k], y: b ? b.values[k] : 0 })).filter((r) => (r.x || r.y) && (!set || kindOf(r.n) === set) && r.n.toLowerCase().includes(wanted));
  const by = weights.by || (b ? "change" : "size"), value = { name: (r) => r.n, first: (r) => -r.x, second: (r) => -r.y, size: (r) => -Math.abs(r.x), change: (r) => -Math.abs(r.x - r.y) }[by];
  rows.sort((p, q) => (value(p) < value(q) ? -1 : value(p) > value(q) ? 1 : 0));
  const size = 25, pages = Math.max(1, Math.ceil(rows.length / size));
  view.wpage = Math.min(Math.max(view.wpage, 0), pages - 1);
  const largest = Math.max(...rows.map((r) => Math.abs(r.x)), 1e-9);
  const head = [["name", "name"], [names[+$("w-a").value], "first"], ["", "size"], ...(b ? [[names[+$("w-b").value], "second"], ["change", "change"]] : [])];
  const cells = (r) => [el("td", { class: "name" }, decodeURIComponent(r.n.replace(/%(?![0-9A-Fa-f]{2})/g, "%25"))), el("td", {}, weight(r.x)), el("td", { class: "name" }, el("span", { class: r.x < 0 ? "bar minus" : "bar", style: `width:${(Math.abs(r.x) / largest) * 80}px` })), ...(b ? [el("td", {}, weight(r.y)), el("td", {}, weight(r.x - r.y))] : [])];
  $("w-table").replaceChildren(el("thead", {}, el("tr", {}, ...head.map(([title, k]) => { const th = el("th", {}, title); th.style.cursor = "pointer"; th.onclick = () => { weights.by = k; weights(); }; return th; }))), el("tbody", {}, ...rows.slice(view.wpage * size, view.wpage * size + size).map((r) => el("tr", {}, ...cells(r)))));
  $("w-note").textContent = `${a.count.toLocaleString("en")} weights are not zero (${Object.entries(a.sets).map(([k, v]) => `${k} ${v.toLocaleString("en")}`).join(", ")}); the ${a.largest.toLocaleString("en")} largest are here, and those that are among the largest of another system.`;
  $("w-where").textContent = `${rows.length} weights, page ${view.wpage + 1} of ${pages}`;
  $("w-back").disabled = view.wpage === 0; $("w-next").disabled = view.wpage + 1 >= pages;
}
function weightSets() { const a = Object.values(D.weights.systems)[+$("w-a").value]; $("w-set").replaceChildren(el("option", { value: "" }, "all"), ...Object.keys(a.sets).map((k) => el("option", { value: k }, k))); }

// -- tables that sort
function sortable(table) {
  table.querySelectorAll("thead th").forEach((head, column) => head.addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending", body = table.tBodies[0], value = (row) => row.cells[column].textContent.trim();
    table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    body.append(...[...body.rows].sort((p, q) => { const [x, y] = [value(p), value(q)], [u, v] = [parseFloat(x), parseFloat(y)]; const found = Number.isNaN(u) || Number.isNaN(v) ? x.localeCompare(y) : u - v; return up ? found : -found; }));
  }));
}
function renew() { view.rows = filtered(); view.page = 0; compare(); sentences(); }
function when(id, what, call) { if ($(id)) $(id).addEventListener(what, call); }
function later(call) { let timer = 0; return () => { clearTimeout(timer); timer = setTimeout(call, 200); }; }
const waiting = new Map();
function seen(id, call) {  // when somebody gets there, or has time: a page may be printed without being looked at
  if (!$(id)) return;
  const o = new IntersectionObserver((found) => { if (found.some((f) => f.isIntersecting)) go(); }, { rootMargin: "400px" });
  const go = () => { if (waiting.delete(id)) { o.disconnect(); call(); } };
  waiting.set(id, go);
  o.observe($(id));
}

async function begin() {
  document.querySelectorAll("table.sortable").forEach(sortable);
  D = JSON.parse(await unpacked("data"));
  for (const t of D.tests) t.words = t.references.map((r) => words(r[0] || ""));
  if (D.tests.length) {
    view.b = Math.min(1, T().systems.length - 1);
    choosers();
    const chosen = (select, key) => document.querySelectorAll(select).forEach((s) => s.addEventListener("change", () => { view[key] = +s.value; if (key === "test") { view.a = 0; view.b = Math.min(1, T().systems.length - 1); } choosers(); renew(); }));
    chosen(".pick-test", "test"); chosen(".pick-a", "a"); chosen(".pick-b", "b");
    for (const id of ["f-min", "f-max", "f-word"]) when(id, "input", later(renew));
    for (const id of ["f-unknown", "f-terms", "f-duplicates"]) when(id, "change", renew);
    when("f-clear", "click", () => { for (const id of ["f-min", "f-max", "f-word", "f-unknown", "f-terms", "f-duplicates"]) $(id).value = ""; renew(); });
    for (const id of ["s-order", "s-wins", "s-all", "s-details"]) when(id, "change", () => { view.page = 0; sentences(); });
    when("s-back", "click", () => { view.page--; sentences(); }); when("s-next", "click", () => { view.page++; sentences(); });
    view.rows = filtered();
    seen("compare", compare);
    seen("sentences", async () => { sentences(); const told = JSON.parse(await unpacked("data-details")); D.tests.forEach((t, k) => { t.details = told[k]; }); choosers(); sentences(); });
  }
  if ($("curves")) {
    const has = (key) => D.curves.some((c) => c.runs.some((r) => r[key] && r[key].length));
    for (const o of [...$("curve-key").options]) if (!has(o.value === "all" ? "oracle" : o.value)) o.remove();
    when("curve-key", "change", curves); when("curve-search", "input", later(curves));
    seen("curves", curves);
  }
  if ($("weights")) seen("weights", async () => {
    D.weights = JSON.parse(await unpacked("data-weights"));
    const names = Object.keys(D.weights.systems);
    options($("w-a"), names, 0);
    $("w-b").append(...names.map((n, k) => el("option", { value: String(k) }, n)));
    weightSets();
    when("w-a", "change", () => { weightSets(); view.wpage = 0; weights(); });
    for (const id of ["w-b", "w-set"]) when(id, "change", () => { view.wpage = 0; weights.by = null; weights(); });
    when("w-search", "input", later(() => { view.wpage = 0; weights(); }));
    when("w-back", "click", () => { view.wpage--; weights(); }); when("w-next", "click", () => { view.wpage++; weights(); });
    weights();
  });
  document.body.dataset.ready = "yes";
  setTimeout(() => [...waiting.values()].forEach((go) => go()), 3000);
}
begin();
