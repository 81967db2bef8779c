// Words of both sides, and what belongs together: in the texts, and in the row of words below them.

const make = (tag, properties = {}, ...inside) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...inside);
  return element;
};
export { make };

// Text of a language that is written from right to left begins there, whatever its first word is; else the text decides.
const RIGHT = /^(ar|arc|ckb|dv|fa|he|iw|ks|ps|sd|ug|ur|yi)\b/;
export const direction = (language) => RIGHT.test(language || "") ? "rtl" : "auto";

// Characters are counted as Python does, by code points; JavaScript's strings have halves of some.
export const points = (text) => Array.from(text);

// The translation as sentences and words; each word knows its sentence and number.
export function showTarget(element, translation) {
  const text = points(translation.text);
  const slice = (from, to) => text.slice(from, to).join("");
  const parts = [];
  let at = 0;
  translation.sentences.forEach((sentence, number) => {
    const [start, end] = sentence.target_span;
    parts.push(slice(at, start), spanOf(sentence, number));
    at = end;
  });
  parts.push(slice(at));
  element.replaceChildren(...parts);
}

// The words of a sentence of the translation.
export function spanOf(sentence, number) {
  const text = points(sentence.text);
  const slice = (from, to) => text.slice(from, to).join("");
  const span = make("span", { className: sentence.late ? "sentence late" : "sentence" });
  span.dataset.sentence = number;
  if (sentence.late) span.title = "There was no time for a full search.";
  let inside = 0;
  const seen = new Set();
  (sentence.target_spans || []).forEach(([from, to], word) => {
    if (from >= to || seen.has(from)) return;
    seen.add(from);
    span.append(slice(inside, from));
    const one = make("span", { className: "word" }, slice(from, to));
    one.dataset.word = word;
    span.append(one);
    inside = to;
  });
  span.append(slice(inside));
  return span;
}

// Marks spans of the source behind the text area, and shows them there if they are out of sight.
export function markSource(mirror, area, text, spans) {
  const all = points(text);
  const parts = [];
  let at = 0;
  for (const [start, end] of [...spans].sort((a, b) => a[0] - b[0])) {
    if (start < at) continue;
    parts.push(all.slice(at, start).join(""), make("mark", {}, all.slice(start, end).join("")));
    at = end;
  }
  parts.push(all.slice(at).join("") + "\n");
  mirror.replaceChildren(...parts);
  mirror.style.width = `${area.clientWidth + 2}px`;  // lines break as in the text area, which may have a scroll bar
  const mark = mirror.querySelector("mark");
  const [top, seen] = [mark?.offsetTop, area.scrollTop];
  if (mark && (top < seen || top + mark.offsetHeight > seen + area.clientHeight)) {
    area.scrollTop = top - area.clientHeight / 2;
  }
  mirror.scrollTop = area.scrollTop;
}

// Two rows of words with lines between those that belong together; where there is little room, two columns.
export class Rows {
  constructor(root, hot) {
    this.left = root.querySelector("#source-words");
    this.right = root.querySelector("#target-words");
    this.links = root.querySelector("#links");
    this.hot = hot;
    for (const [side, row] of [[0, this.left], [1, this.right]]) {
      row.addEventListener("pointerover", (event) => this.at(side, event.target));
      row.addEventListener("pointerleave", () => this.light(null));
      row.addEventListener("focusin", (event) => this.at(side, event.target));
      row.addEventListener("keydown", (event) => this.move(side, event));
    }
    new ResizeObserver(() => this.draw()).observe(root);
  }

  show(source, target, alignment) {
    this.alignment = alignment;
    this.fill(this.left, source);
    this.fill(this.right, target);
    this.draw();
  }

  columns() { return getComputedStyle(this.left).flexDirection === "column"; }

  fill(row, words) {
    row.replaceChildren(...words.map((word, number) => {
      const button = make("button", { type: "button", tabIndex: number ? -1 : 0 }, word);
      button.dataset.number = number;
      return button;
    }));
  }

  draw() {
    if (!this.alignment) return;
    const frame = this.links.getBoundingClientRect();
    const columns = this.columns();
    const middle = (element, first) => {
      const box = element.getBoundingClientRect();
      return columns ? [(first ? box.right : box.left) - frame.x, box.y + box.height / 2 - frame.y]
        : [box.x + box.width / 2 - frame.x, (first ? box.bottom : box.top) - frame.y];
    };
    this.lines = this.alignment.map(([s, t]) => {
      const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
      const [a, b] = [this.left.children[s], this.right.children[t]];
      if (a && b) {
        const [[x1, y1], [x2, y2]] = [middle(a, true), middle(b, false)];
        for (const [name, value] of Object.entries({ x1, y1, x2, y2 })) line.setAttribute(name, value);
      }
      return line;
    });
    this.links.replaceChildren(...this.lines);
  }

  at(side, element) {
    const number = element.dataset?.number;
    if (number !== undefined) this.light(side, Number(number));
  }

  light(side, number) {
    const pairs = side === null ? [] : this.alignment.filter((pair) => pair[side] === number);
    const lit = [new Set(pairs.map((p) => p[0])), new Set(pairs.map((p) => p[1]))];
    if (side !== null) lit[side].add(number);
    [this.left, this.right].forEach((row, which) => {
      for (const word of row.children) word.classList.toggle("hot", lit[which].has(Number(word.dataset.number)));
    });
    this.lines?.forEach((line, i) => line.classList.toggle("hot", pairs.includes(this.alignment[i])));
    this.hot(lit[0], lit[1]);
  }

  move(side, event) {
    const columns = this.columns();
    const steps = columns ? { ArrowDown: 1, ArrowUp: -1 } : { ArrowRight: 1, ArrowLeft: -1 };
    const others = columns ? { ArrowRight: this.right, ArrowLeft: this.left } : { ArrowDown: this.right, ArrowUp: this.left };
    const [step, other] = [steps[event.key], others[event.key]];
    const row = side ? this.right : this.left;
    let next = null;
    if (step) {
      const forward = !columns && getComputedStyle(row).direction === "rtl" ? -step : step;
      next = row.children[Number(event.target.dataset.number) + forward];
    } else if (other && other !== row) {
      const pair = this.alignment.find((p) => p[side] === Number(event.target.dataset.number));
      next = other.children[pair ? pair[1 - side] : 0];
    }
    if (next) { event.preventDefault(); next.focus(); }
  }
}
