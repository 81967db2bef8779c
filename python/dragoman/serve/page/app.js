// The page: text in, translation out as it is written, and why.
import * as api from "./api.js";
import { Rows, direction, markSource, points, showTarget, spanOf } from "./words.js";
import { Alternatives, showPhrases } from "./why.js";

const $ = (id) => document.getElementById(id);
const PAUSE = 250;  // milliseconds without a key stroke, after which the text is translated
const NBEST = 10;

const state = { models: [], made: null, text: "", chosen: 0, asking: null, explaining: null, detail: null };
const rows = new Rows($("words"), (source, target) => lightWords(source, target));
const alternatives = new Alternatives($("nbest"), $("features"), $("compared"));

const many = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;

function model() { return state.models.find((one) => one.name === $("model").value); }

function fail(error) {
  if (error.name === "AbortError") return;
  if (error.status === 401 || error.status === 403) {
    $("keybox").hidden = false;
    $("keybox").append($("error"));
    $("key").focus();
  } else $("status").after($("error"));
  $("error").textContent = error.message;
  $("error").hidden = false;
  $("status").textContent = "";
}

function glossary() {
  const terms = {};
  let others = 0;
  for (const line of $("glossary").value.split("\n").filter((one) => one.trim())) {
    const at = line.indexOf("=");
    const term = line.slice(0, Math.max(0, at)).trim();
    const found = line.slice(at + 1).split("|").map((one) => one.trim()).filter(Boolean);
    if (term && found.length) terms[term] = [...new Set(found)];
    else others += 1;
  }
  const count = Object.keys(terms).length;
  const told = [count && many(count, "term"), others && `${many(others, "line")} without a term and a translation`];
  $("terms").textContent = told.some(Boolean) ? `(${told.filter(Boolean).join(", ")})` : "";
  return count ? terms : null;
}

// What is on its way is of no use any more.
function outdated() {
  state.asking?.abort();
  state.explaining?.abort();
  $("target").classList.remove("busy");
}

async function translate() {
  outdated();
  const asking = state.asking = new AbortController();
  const text = $("source").value;
  if (!text.trim() || !model()) { clear(); return; }
  $("target").classList.add("busy");
  $("status").textContent = "Translating…";
  try {
    const began = performance.now();
    const request = { text, model: model().name, alignment: true, ...(glossary() ? { glossary: glossary() } : {}) };
    const made = await whole(request, asking.signal) || await bySentence(request, asking.signal);
    if (asking.signal.aborted) return;
    $("error").hidden = true;
    state.text = text;
    state.made = made;
    state.chosen = Math.min(state.chosen, Math.max(0, state.made.sentences.length - 1));
    const time = ((performance.now() - began) / 1000).toFixed(2);
    $("status").textContent = `${many(state.made.sentences.length, "sentence")} in ${time} s`;
    $("suggestion").value = state.made.text;
    await explain();
  } catch (error) {
    if (asking.signal.aborted) return;
    clear();  // what is there belongs to another text
    fail(error);
  } finally { if (state.asking === asking) $("target").classList.remove("busy"); }
}

// The translation of a text; none if the text needs more time than a request has.
async function whole(request, signal) {
  try {
    const made = (await api.translate(request, signal)).translations[0];
    if (!signal.aborted) showTarget($("target"), made);
    return made;
  } catch (error) {
    if (error.status === 413) return null;
    throw error;
  }
}

// The same in a stream: sentences are shown as they come.
async function bySentence(request, signal) {
  const made = { text: "", sentences: [] };
  let length = 0, end = 0;
  for await (const sentence of api.stream(request, signal)) {
    if (signal.aborted) return made;
    if (!made.sentences.length) $("target").replaceChildren();
    const start = length + points(sentence.before).length;
    length = start + points(sentence.text).length;
    end = sentence.span[1];
    $("target").append(sentence.before, spanOf(sentence, made.sentences.length));
    made.text += sentence.before + sentence.text;
    made.sentences.push({ ...sentence, target_span: [start, length] });
    $("status").textContent = `${made.sentences.length} sentences so far…`;
  }
  const rest = points(request.text).slice(end).join("");
  made.text += rest;
  $("target").append(rest);
  return made;
}

function clear() {
  state.made = state.detail = null;
  state.text = "";
  $("target").replaceChildren();
  $("target").classList.remove("busy");
  $("mirror").replaceChildren();
  $("why").hidden = true;
  $("status").textContent = "";
  $("error").hidden = true;
}

async function explain() {
  state.explaining?.abort();
  const sentence = state.made?.sentences[state.chosen];
  $("why").hidden = !sentence;
  if (!sentence) return;
  const explaining = state.explaining = new AbortController();
  const count = state.made.sentences.length;
  $("which").textContent = `Sentence ${state.chosen + 1} of ${count}`;
  $("sentence-tools").hidden = count < 2;
  for (const one of $("target").querySelectorAll(".sentence")) {
    one.classList.toggle("chosen", count > 1 && Number(one.dataset.sentence) === state.chosen);
  }
  const wanted = { text: sentence.source, model: model().name, split: false, explain: true, nbest: NBEST,
    ...(glossary() ? { glossary: glossary() } : {}) };
  try {
    const answer = await api.translate(wanted, explaining.signal);
    const detail = answer.translations[0].sentences[0];
    if (explaining.signal.aborted || !detail) return;
    state.detail = detail;
    rows.show(detail.source_words, detail.words, detail.alignment);
    showPhrases($("phrases"), detail.phrases, model());
    alternatives.show(detail.candidates, model().target);
  } catch (error) { fail(error); }
}

// Words of the chosen sentence that are lit: in the source text and in the translation.
function lightWords(source, target) {
  const sentence = state.made?.sentences[state.chosen];
  if (!sentence) return;
  const spans = [...source].map((word) => sentence.source_spans[word]).filter(Boolean);
  markSource($("mirror"), $("source"), state.text, spans.map(([a, b]) => [sentence.span[0] + a, sentence.span[0] + b]));
  lightTarget(state.chosen, target);
}

function lightTarget(number, words) {
  for (const one of $("target").querySelectorAll(".word")) {
    const own = Number(one.closest(".sentence").dataset.sentence) === number;
    one.classList.toggle("hot", own && words.has(Number(one.dataset.word)));
  }
}

function overTarget(event) {
  const word = event.target.closest?.(".word");
  if (!word || !state.made) { lightTarget(-1, new Set()); $("mirror").replaceChildren(); return; }
  const number = Number(word.closest(".sentence").dataset.sentence);
  const sentence = state.made.sentences[number];
  const at = Number(word.dataset.word);
  const spans = sentence.alignment.filter((pair) => pair[1] === at).map((pair) => sentence.source_spans[pair[0]]);
  markSource($("mirror"), $("source"), state.text, spans.map(([a, b]) => [sentence.span[0] + a, sentence.span[0] + b]));
  lightTarget(number, new Set([at]));
}

// The word of the source text at an offset: its sentence, its number there, and its place; none if there is none.
function wordAt(offset) {
  if (!state.made || $("source").value !== state.text) return null;
  const at = points(state.text.slice(0, offset)).length;
  const number = state.made.sentences.findIndex(({ span }) => span[0] <= at && at <= span[1]);
  if (number < 0) return null;
  const sentence = state.made.sentences[number];
  const place = at - sentence.span[0];
  const word = (sentence.source_spans || []).findIndex(([a, b]) => a <= place && place <= b);
  return word < 0 ? null : { number, word, span: sentence.source_spans[word].map((n) => n + sentence.span[0]) };
}

function lightTranslation(found) {
  const pairs = found ? state.made.sentences[found.number].alignment.filter((pair) => pair[0] === found.word) : [];
  lightTarget(found ? found.number : -1, new Set(pairs.map((pair) => pair[1])));
}

// The word at the caret of the source lights its translation.
function atCaret() {
  if (document.activeElement === $("source")) lightTranslation(wordAt($("source").selectionStart));
}

// So does the word under the pointer, where the browser can tell which one that is.
let under = null;
function overSource(event) {
  const caret = event.type === "pointerleave" ? null : document.caretPositionFromPoint?.(event.clientX, event.clientY);
  const found = caret?.offsetNode === $("source") ? wordAt(caret.offset) : null;
  if (found && found.number === under?.number && found.word === under?.word) return;
  if (!found && !under) return;
  under = found;
  if (found) markSource($("mirror"), $("source"), state.text, [found.span]);
  else $("mirror").replaceChildren();
  lightTranslation(found);
}

function choose(number) {
  if (!state.made || number < 0 || number >= state.made.sentences.length) return;
  state.chosen = number;
  explain();
}

async function copy() {
  const text = state.made?.text || "";
  try { await navigator.clipboard.writeText(text); }
  catch {  // only pages that came by https, or from this machine, may use the clipboard
    const range = document.createRange();
    range.selectNodeContents($("target"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    document.execCommand("copy");
  }
  $("status").textContent = "Copied.";
}

async function upload() {
  const file = $("file").files[0];
  await started;
  if (!file || !model()) return;
  $("status").textContent = `Translating ${file.name}…`;
  $("error").hidden = true;
  $("download").hidden = true;
  try {
    const { translatedFileUrl } = await api.translateFile(file, model().source, model().target);
    const href = `download_file/${translatedFileUrl.split("/").pop()}`;  // from where this page came, by whatever way
    const link = Object.assign(document.createElement("a"), { href, textContent: `Translation of ${file.name}` });
    link.download = "";
    $("download").replaceChildren(link);
    $("download").hidden = false;
    $("status").textContent = "The file is ready.";
  } catch (error) {
    error.message = `${file.name}: ${error.message}`;
    fail(error);
  }
  $("file").value = "";
}

async function suggest() {
  try {
    await api.suggest(state.text || $("source").value, $("suggestion").value, model().source, model().target);
    $("status").textContent = "Thank you: it is kept.";
  } catch (error) { fail(error); }
}

function theme(value) {
  if (value) document.documentElement.dataset.theme = value;
  const dark = value === "dark" || (!value && matchMedia("(prefers-color-scheme: dark)").matches);
  $("theme").setAttribute("aria-pressed", String(dark));
}

async function start() {
  const settings = await api.settings();
  if (settings.keyRequired && !api.hasKey()) { $("keybox").hidden = false; return; }
  state.models = (await api.models()).models.filter((one) => one.loaded);
  $("keybox").hidden = true;
  $("error").hidden = true;
  $("suggest-box").hidden = !settings.suggestions;
  $("model").replaceChildren(...state.models.map((one) => new Option(`${one.source} → ${one.target} (${one.name})`, one.name)));
  $("models").hidden = !model();
  if (!model()) throw new api.Failed("no model is loaded on this server", 0);
  languages();
  if ($("source").value) translate();
}

function wears(element, language) { element.lang = language; element.dir = direction(language); }

function languages() {
  if (!model()) return;
  for (const id of ["source", "mirror", "source-words"]) wears($(id), model().source);
  for (const id of ["target", "target-words", "suggestion"]) wears($(id), model().target);
}

let timer = 0;
const soon = () => { outdated(); clearTimeout(timer); $("mirror").replaceChildren(); timer = setTimeout(translate, PAUSE); };
const now = () => { clearTimeout(timer); translate(); };

$("source").addEventListener("input", soon);
$("source").addEventListener("scroll", () => { $("mirror").scrollTop = $("source").scrollTop; });
$("source").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) now(); });
document.addEventListener("selectionchange", atCaret);
$("glossary").addEventListener("input", () => { localStorage.setItem("glossary", $("glossary").value); soon(); });
$("model").addEventListener("change", () => { languages(); now(); });
$("source").addEventListener("pointermove", overSource);
$("source").addEventListener("pointerleave", overSource);
$("target").addEventListener("pointerover", overTarget);
$("target").addEventListener("pointerleave", overTarget);
$("target").addEventListener("click", (event) => {
  const sentence = event.target.closest(".sentence");
  if (sentence && getSelection().isCollapsed) choose(Number(sentence.dataset.sentence));
});
$("before").addEventListener("click", () => choose(state.chosen - 1));
$("after").addEventListener("click", () => choose(state.chosen + 1));
$("copy").addEventListener("click", copy);
$("clear").addEventListener("click", () => { $("source").value = ""; clear(); $("source").focus(); });
$("file").addEventListener("change", upload);
$("suggest").addEventListener("click", suggest);
$("key").addEventListener("change", () => { api.setKey($("key").value.trim()); started = start().catch(fail); });
$("theme").addEventListener("click", () => {
  const next = $("theme").getAttribute("aria-pressed") === "true" ? "light" : "dark";
  localStorage.setItem("theme", next);
  theme(next);
});

theme(localStorage.getItem("theme"));
$("glossary").value = localStorage.getItem("glossary") || "";
glossary();
let started = start().catch(fail);
