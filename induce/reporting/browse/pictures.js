// Pictures of trees and of heads.
// The layout is that of treebank/draw/tree_layout.py and arc_layout.py, with widths measured by the browser.

const SIZE = 16, SMALL = 12, GAP = 14, MARGIN = 14, ARC_END = 5, RADIUS = 7, MAX_FAN = 5, MAX_SLOPE = 10;
const BARE_LABELS = ["", "X", "·"], BARE_TAGS = ["", "W"];
const FONT = "system-ui, sans-serif";
const canvas = document.createElement("canvas").getContext("2d");
const visible = (name, bare) => (bare.includes(name) ? "" : name);
const textWidth = (text, size) => {
  canvas.font = `${size}px ${FONT}`;
  return canvas.measureText(text).width;
};
const sum = values => values.reduce((total, value) => total + value, 0);

class Scene {
  constructor(width) {
    Object.assign(this, { width, height: 0, items: [], mirrors: false });
  }

  text(x, y, text, size, ink) {
    if (text) this.items.push(() => svg("text", { x: this.across(x), y, "font-size": size, class: ink }, text));
  }

  line(points, ink, { filled = false, radius = 0 } = {}) {
    this.items.push(() => {
      const corners = points.map(([x, y]) => [this.across(x), y]);
      return svg("path", { class: ink + (filled ? " filled" : ""), d: path(corners, radius) + (filled ? "Z" : "") });
    });
  }

  across(x) {
    return MARGIN + (this.mirrors ? this.width - x : x);
  }

  row(texts, positions, size, ink) {
    texts.forEach((text, word) =>
      this.text(positions[word], this.height + size * 1.1, text, size, Array.isArray(ink) ? ink[word] : ink));
    this.height += size * 1.45;
  }

  element(title, description) {
    const width = this.width + 2 * MARGIN, height = this.height + MARGIN;
    const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
    picture.append(svg("desc", {}, description), ...this.items.map(draw => draw()));
    return picture;
  }
}

function svg(name, attributes, text = "") {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) {
    node.setAttribute(key, typeof value === "number" ? Math.round(value * 10) / 10 : value);
  }
  node.textContent = text;
  return node;
}

/** A line through points, its corners rounded. */
function path(points, radius) {
  const towards = ([x, y], [toX, toY]) => {
    const length = Math.hypot(toX - x, toY - y), share = length ? Math.min(radius / length, 0.5) : 0;
    return [x + share * (toX - x), y + share * (toY - y)];
  };
  const pair = point => point.map(value => Math.round(value * 10) / 10).join(" ");
  const corners = points.slice(1, -1).map((corner, index) =>
    `L${pair(towards(corner, points[index]))}Q${pair(corner)} ${pair(towards(corner, points[index + 2]))}`);
  return `M${pair(points[0])}${corners.join("")}L${pair(points.at(-1))}`;
}

function middles(widths) {
  let left = 0;
  return widths.map(width => (left += width) - width / 2);
}

/** Parents, children, depths and levels of the brackets. Bracket k is node k, and word i is node `count + i`. */
function branches({ brackets, words }) {
  const count = brackets.length, below = brackets.map(() => []), depths = [], open = [], top = [];
  let k = 0;
  words.forEach((_, word) => {
    while (open.length && brackets[open.at(-1)].end <= word) open.pop();
    for (; k < count && brackets[k].start === word; k++) {
      (below[open.at(-1)] ?? top).push(k);
      depths.push(open.length);
      open.push(k);
    }
    (below[open.at(-1)] ?? top).push(count + word);
  });
  const positions = words_ => {
    const all = [...Array(count), ...words_];
    for (let node = count - 1; node >= 0; node--) all[node] = (all[below[node][0]] + all[below[node].at(-1)]) / 2;
    return all;
  };
  return { count, below, depths, top, positions, levels: Math.max(-1, ...depths) + 1 };
}

/** Widen the outermost words of each phrase whose label is wider than its words. */
function makeRoomForLabels({ brackets }, tree, widths) {
  const halves = brackets.map(({ label }) => textWidth(visible(label, BARE_LABELS), SMALL) / 2 + 3);
  for (let round = 0; round < 30; round++) {
    const words = middles(widths), positions = tree.positions(words), missing = new Map();
    const need = (word, width) => width > 0.01 && missing.set(word, Math.max(width, missing.get(word) ?? 0));
    brackets.forEach(({ start, end }, k) => {
      need(start, halves[k] - (positions[k] - words[start] + widths[start] / 2));
      need(end - 1, halves[k] - (words[end - 1] + widths[end - 1] / 2 - positions[k]));
    });
    missing.forEach((width, word) => (widths[word] += width * 1.5));
    if (!missing.size) return;
  }
}

/** The brackets and words that are matches; a match that is no phrase marks its words. */
function markedParts(sentence, matches) {
  const marked = { brackets: new Set(), words: new Set() }, brackets = sentence.hasTree ? sentence.brackets : [];
  for (const [start, end, label] of matches) {
    const same = brackets.flatMap((bracket, k) =>
      bracket.start === start && bracket.end === end && (label ?? bracket.label) === bracket.label ? [k] : []);
    same.forEach(k => marked.brackets.add(k));
    if (!same.length) range(start, end).forEach(word => marked.words.add(word));
  }
  return marked;
}

function drawTree(scene, sentence, tree, words, marked) {
  const isLabeled = sentence.brackets.some(({ label }) => visible(label, BARE_LABELS));
  const size = isLabeled ? SMALL : 0, full = isLabeled ? 38 : 24;
  const step = tree.levels <= 40 ? full : Math.max((full * 40) / tree.levels, isLabeled ? 22 : 7);
  const bottom = tree.levels * step + 10, positions = tree.positions(words);
  sentence.brackets.forEach(({ label }, k) => {
    const top = [positions[k], tree.depths[k] * step + size + 5], next = tree.depths[k] * step + step + (size ? 1 : 5);
    const name = visible(label, BARE_LABELS), [x, y] = top, ink = marked.has(k) ? "shared" : "plain";
    const isWide = tree.below[k].some(node => Math.abs(positions[node] - x) > MAX_SLOPE * (next - y));
    const isFlat = isWide && tree.below[k].length > MAX_FAN; // nearly horizontal edges would merge
    for (const node of tree.below[k]) {
      const across = positions[node], middle = (y + next) / 2;
      const points = [top, ...(isFlat ? [[x, middle], [across, middle]] : []), [across, next]];
      scene.line(node < tree.count ? points : [...points, [across, bottom]], ink);
    }
    if (name) scene.text(x, tree.depths[k] * step + SMALL, name, SMALL, ink);
    else scene.line([[x - 2.6, y], [x, y - 2.6], [x + 2.6, y], [x, y + 2.6]], ink, { filled: true });
  });
  for (const node of tree.top.filter(node => node >= tree.count)) {
    scene.line([[positions[node], bottom - 5], [positions[node], bottom]], "faint");
  }
  scene.height = bottom;
}

/** Arcs with their levels and the distances of their ends from the middles of their words. */
function arcsOf({ heads, relations, words }) {
  const arcs = heads.map((head, word) => ({
    word, head: head - 1, isRoot: head < 1 || head - 1 === word, relation: relations[word] ?? "",
    left: Math.min(head - 1, word), right: Math.max(head - 1, word),
  }));
  const heights = Array(words.length).fill(0), ends = [Array(words.length).fill(0), Array(words.length).fill(0)];
  const byLength = (a, b) => a.right - a.left - (b.right - b.left) || a.left - b.left;
  const inner = arcs.filter(arc => !arc.isRoot).sort(byLength);
  for (const arc of inner) {
    arc.level = 1 + Math.max(...heights.slice(arc.left, arc.right));
    heights.fill(arc.level, arc.left, arc.right);
  }
  for (const arc of [...inner].reverse()) arc.ends = [ARC_END * ++ends[0][arc.left], -ARC_END * ++ends[1][arc.right]];
  const top = Math.max(0, ...inner.map(arc => arc.level)) + 1;
  for (const arc of arcs) arc.level ??= top;
  return arcs;
}

function makeRoomForArcs(arcs, widths) {
  const counts = widths.map((_, word) => arcs.filter(arc => arc.word === word || arc.head === word).length);
  counts.forEach((count, word) => (widths[word] = Math.max(widths[word], ARC_END * (2 + count) * 1.2)));
  for (const arc of [...arcs].sort((a, b) => a.right - a.left - (b.right - b.left))) {
    const needed = textWidth(arc.relation, SMALL - 1) + 14 + 2 * ARC_END;
    if (arc.isRoot) {
      widths[arc.word] = Math.max(widths[arc.word], needed);
      continue;
    }
    const between = sum(widths.slice(arc.left + 1, arc.right)) + (widths[arc.left] + widths[arc.right]) / 2;
    const missing = arc.relation ? needed - (between - arc.ends[0] + arc.ends[1]) : 0;
    if (missing > 0) [arc.left, arc.right].forEach(word => (widths[word] += missing));
  }
}

function drawArcs(scene, arcs, words) {
  const step = arcs.some(arc => arc.relation) ? 20 : 13, levels = Math.max(...arcs.map(arc => arc.level));
  const height = (levels + 0.5) * step + 10, foot = height - 1;
  for (const { word, left, right, level, ends, isRoot, relation } of arcs) {
    const top = height - level * step;
    const [from, to] = isRoot ? [words[word], words[word]] : [words[left] + ends[0], words[right] + ends[1]];
    const points = isRoot ? [[from, top - 6], [from, foot]] : [[from, foot], [from, top], [to, top], [to, foot]];
    const x = isRoot ? from : word === left ? from : to;
    scene.line(points, "plain", { radius: RADIUS });
    scene.line([[x, height], [x - 3.2, height - 7.5], [x + 3.2, height - 7.5]], "plain", { filled: true });
    if (isRoot) scene.text(x + 4 + textWidth(relation, SMALL - 1) / 2, top + 2, relation, SMALL - 1, "plain");
    else scene.text((from + to) / 2, top - 3, relation, SMALL - 1, "plain");
  }
  scene.height = height;
}

/** Whether most letters are of a script that is written from right to left. */
function runsRightToLeft(words) {
  const text = words.join(""), count = expression => (text.match(expression) ?? []).length;
  const leftward = count(/[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/gu);
  return 2 * leftward > count(/\p{L}/gu);
}

function picture(sentence, matches) {
  const { words, tags, hasTree, heads } = sentence;
  const shown = words.map((_, word) => visible(tags[word] ?? "", BARE_TAGS));
  const widths = words.map((word, index) => Math.max(textWidth(word, SIZE), textWidth(shown[index], SMALL)) + GAP);
  const tree = hasTree && branches(sentence), arcs = !hasTree && heads.length ? arcsOf(sentence) : null;
  if (tree) makeRoomForLabels(sentence, tree, widths);
  if (arcs) makeRoomForArcs(arcs, widths);
  const positions = middles(widths), scene = new Scene(sum(widths));
  const marked = markedParts(sentence, matches);
  const inks = words.map((_, word) => (marked.words.has(word) ? "shared" : "plain"));
  if (tree) drawTree(scene, sentence, tree, positions, marked.brackets);
  if (arcs) drawArcs(scene, arcs, positions);
  if (tree && shown.some(Boolean)) scene.row(shown, positions, SMALL, "faint");
  scene.row(words, positions, SIZE, inks);
  if (!tree && shown.some(Boolean)) scene.row(shown, positions, SMALL, "faint");
  scene.mirrors = runsRightToLeft(words);
  const title = `${hasTree ? "Tree" : "Arcs"} of: ${words.join(" ")}`;
  return scene.element(title, hasTree ? bracketed(sentence) : inWords(sentence));
}

/** Each word with its head, for screen readers. */
function inWords({ words, heads }) {
  return words.map((word, index) => `${word} ← ${heads[index] > 0 ? words[heads[index] - 1] : "root"}`).join(", ");
}
