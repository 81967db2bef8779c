// Why a sentence was translated so: phrases, alternatives, and what each feature adds to two of them.
import { direction, make } from "./words.js";

const ROWS = 14;  // features that are shown one by one
const shown = (value) => value.toFixed(3).replace("-", "−");

// Where a phrase comes from, if not from the table of rules.
const ORIGINS = { unknown: "unknown word, copied", given: "given, or glossary", glue: "put together" };

export function showPhrases(table, phrases, { source: from, target: to }) {
  table.tBodies[0].replaceChildren(...phrases.map((phrase) => {
    const source = make("td", { dir: direction(from), lang: from }, phrase.source);
    source.style.paddingInlineStart = `min(${0.5 + phrase.depth * 1.1}rem, ${5 + phrase.depth * 3}%)`;
    const target = make("td", {}, make("bdi", { dir: direction(to), lang: to }, phrase.target || "(nothing)"));
    if (ORIGINS[phrase.origin]) target.append(" ", make("small", {}, ORIGINS[phrase.origin]));
    return make("tr", {}, source, target, make("td", { className: "number" }, shown(phrase.score)));
  }));
}

export class Alternatives {
  constructor(list, features, about) {
    [this.list, this.features, this.about] = [list, features, about];
    list.addEventListener("change", () => this.compare());
  }

  show(candidates, language) {
    this.candidates = candidates;
    this.list.tBodies[0].replaceChildren(...candidates.map((candidate, number) => {
      const choice = (name, label, checked) => {
        const input = make("input", { type: "radio", name, value: number, checked });
        input.setAttribute("aria-label", `${label}: ${candidate.text}`);
        return make("td", {}, input);
      };
      return make("tr", {}, choice("a", "A", number === 0), choice("b", "B", number === Math.min(1, candidates.length - 1)),
        make("td", { dir: direction(language), lang: language }, candidate.text), make("td", { className: "number" }, shown(candidate.score)));
    }));
    this.compare();
  }

  chosen(name) {
    return this.candidates[Number(this.list.querySelector(`input[name=${name}]:checked`)?.value ?? 0)];
  }

  compare() {
    const [a, b] = [this.chosen("a"), this.chosen("b")];
    const two = a !== b;
    const names = [...new Set([...Object.keys(a.contributions), ...Object.keys(b.contributions)])];
    const rows = names.map((name) => {
      const [left, right] = [a.contributions[name] || 0, b.contributions[name] || 0];
      return { name, left, right, difference: left - right };
    }).filter((row) => row.left || row.right);
    rows.sort((x, y) => two ? Math.abs(y.difference) - Math.abs(x.difference) : Math.abs(y.left) - Math.abs(x.left));
    const most = Math.max(1e-9, ...rows.map((row) => Math.abs(two ? row.difference : row.left)));
    const listed = rows.slice(0, ROWS), rest = rows.slice(ROWS);
    if (rest.length) {
      const sum = (field) => rest.reduce((total, row) => total + row[field], 0);
      listed.push({ name: `${rest.length} more`, left: sum("left"), right: sum("right"), difference: sum("difference") });
    }
    const heads = two ? ["Feature", "A", "B", "A − B", ""] : ["Feature", "Adds", ""];
    this.features.tHead.rows[0].replaceChildren(...heads.map((head, number) => {
      const last = number === heads.length - 1;
      const wide = two && (head === "A" || head === "B") ? " wide" : "";
      const cell = make(last ? "td" : "th", { className: number && !last ? `number${wide}` : "" }, head);
      if (!last) cell.scope = "col";
      return cell;
    }));
    this.features.tBodies[0].replaceChildren(...listed.map((row) => this.row(row, two, most)));
    this.about.replaceChildren(...this.sentence(a, b, two, rows));
  }

  row({ name, left, right, difference }, two, most) {
    const cells = [make("td", {}, name), make("td", { className: two ? "number wide" : "number" }, shown(left))];
    if (two) {
      const sign = difference > 0 ? "more" : difference < 0 ? "less" : "";
      const adds = (difference > 0 ? "+" : "") + shown(difference);
      cells.push(make("td", { className: "number wide" }, shown(right)), make("td", { className: `number ${sign}` }, adds));
    }
    const bar = make("div", { className: "bar" });
    bar.setAttribute("aria-hidden", "true");
    const part = (value, className) => {
      const length = Math.min(1, Math.abs(value) / most) * 50;
      const stroke = make("i", { className });
      stroke.style.width = `${length}%`;
      stroke.style.left = `${value < 0 ? 50 - length : 50}%`;
      return stroke;
    };
    bar.append(two ? part(difference, difference < 0 ? "b" : "") : part(left, ""));
    return make("tr", {}, ...cells, make("td", {}, bar));
  }

  sentence(a, b, two, rows) {
    if (!two) return [`All of it adds up to ${shown(a.score)}.`];
    const ahead = a.score >= b.score;
    const reasons = rows.filter((row) => (ahead ? row.difference : -row.difference) > 0.0005).slice(0, 2);
    const named = reasons.map((row) => row.name).join(" and ") || "nothing much";
    return [make("span", { className: ahead ? "tag-a" : "tag-b" }, ahead ? "A" : "B"),
      ` is ahead by ${shown(Math.abs(a.score - b.score))}, above all for ${named}.`];
  }
}
