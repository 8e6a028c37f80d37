"use strict";
// The page of `synparse browse`: search, pictures, phrases and downloads. It uses nothing but the page itself.
// The data are described in corpus_data.py. Word indices start at 0, and spans exclude their end.

const TRACE = "-NONE-", UNARY = "+"; // the tag of empty elements, and the sign between labels of the same words
const SHOWN = 50, SHOWN_PHRASES = 100; // sentences and rows that are added to the page at a time
const element = id => document.getElementById(id);
const corpus = JSON.parse(element("corpus").textContent);
const number = value => value.toLocaleString("en");
const counted = (value, name) => `${number(value)} ${name}${value === 1 ? "" : name === "match" ? "es" : "s"}`;
const range = (start, end) => Array.from({ length: Math.max(end - start, 0) }, (_, index) => start + index);

// ---------------------------------------------------------------------------------------------------- sentences

/** Names of numbered labels. A single number stands for the same label of every word or phrase. */
function names(value, count) {
  if (value === null || value === undefined) return [];
  return Array.isArray(value) ? value.map(id => corpus.labels[id]) : Array(count).fill(corpus.labels[value]);
}

/** One sentence. `forms`, `formTags` and `spans` include empty elements; `words`, `tags` and `brackets` do not. */
class Sentence {
  #cache = {};

  constructor(index) {
    const [document, line, ids, tags, steps, labels, heads, relations, universal] = corpus.sentences[index];
    this.row = { ids, tags, steps, labels, relations, universal };
    Object.assign(this, { index, line, document: corpus.documents[document] });
    Object.assign(this, { hasTree: Boolean(steps), heads: heads ?? [] });
  }

  get forms() {
    return (this.#cache.forms ??= this.row.ids.map(id => corpus.words[id]));
  }

  get formTags() {
    return (this.#cache.formTags ??= names(this.row.tags, this.row.ids.length));
  }

  get relations() {
    return (this.#cache.relations ??= names(this.row.relations, this.row.ids.length));
  }

  get universal() {
    return (this.#cache.universal ??= names(this.row.universal, this.row.ids.length));
  }

  /** The number of words before each form, and at the end the number of all words. */
  get before() {
    let count = 0;
    return (this.#cache.before ??= [0, ...this.forms.map((_, index) => (count += this.#isWord(index)))]);
  }

  #isWord(index) {
    return !this.hasTree || this.formTags[index] !== TRACE;
  }

  get words() {
    return (this.#cache.words ??= this.forms.filter((_, index) => this.#isWord(index)));
  }

  get tags() {
    return (this.#cache.tags ??= this.formTags.filter((_, index) => this.#isWord(index)));
  }

  get spans() {
    let start = 0;
    const { steps, labels } = this.row;
    return (this.#cache.spans ??= names(labels, steps.length / 2).map((label, k) => {
      start += steps[2 * k];
      return { start, end: start + steps[2 * k + 1], label };
    }));
  }

  get brackets() {
    const { before } = this;
    return (this.#cache.brackets ??= this.spans
      .map(({ start, end, label }) => ({ start: before[start], end: before[end], label }))
      .filter(({ start, end }) => start < end));
  }

  /** The labels of the brackets over the same words, from the top. */
  get chains() {
    if (!this.#cache.chains) {
      this.#cache.chains = new Map();
      for (const { start, end, label } of this.brackets) {
        const key = `${start},${end}`, labels = this.#cache.chains.get(key);
        if (labels) labels.push(label);
        else this.#cache.chains.set(key, [label]);
      }
    }
    return this.#cache.chains;
  }
}

const place = sentence => `${sentence.document[0]}:${sentence.line}`;

/** The labels of the phrases over these words, from the top, or the relation of a word with a head. */
function labelsOf(sentence, start, end) {
  if (sentence.hasTree) return sentence.chains.get(`${start},${end}`) ?? [];
  return end === start + 1 && sentence.relations.length ? [sentence.relations[start]] : [];
}

/** Whether these words are a phrase, or one word, with this label, tag or relation. `A+B` is A directly over B. */
function hasLabel(sentence, start, end, label) {
  const labels = labelsOf(sentence, start, end);
  if (labels.includes(label) || labels.join(UNARY) === label) return true;
  return end === start + 1 && (sentence.tags[start] === label || sentence.universal[start] === label);
}

/** All phrases and words with this label, from left to right. */
function labeled(sentence, label) {
  const words = sentence.words.map((_, word) => [word, word + 1]);
  const spans = sentence.hasTree ? [...sentence.chains.keys()].map(key => key.split(",").map(Number)) : [];
  return [...words, ...spans.filter(([start, end]) => end > start + 1)]
    .filter(([start, end]) => hasLabel(sentence, start, end, label))
    .sort((a, b) => a[0] - b[0] || b[1] - a[1]);
}

// ----------------------------------------------------------------------------------------------------- patterns
// A part of the language of `synparse search` (treebank/search): nodes, relations, ! & | and brackets. A condition is
// a function of an indexed sentence and a node. Names (=n), macros (@), positions, `;` and `<2` are not included.

class PatternError extends Error {
  /** `position` is the index of a character of the search, or null if it is unknown. */
  constructor(problem, position) {
    super(position === null ? problem : `character ${position + 1}: ${problem}`);
    this.position = position;
  }
}

class PatternReader {
  constructor(text, language) {
    Object.assign(this, { text, language, position: 0, depth: 0 });
  }

  match(expression) {
    this.skip();
    const sticky = new RegExp(expression.source, expression.flags + "y");
    sticky.lastIndex = this.position;
    const match = sticky.exec(this.text);
    if (match) this.position = sticky.lastIndex;
    return match;
  }

  skip() {
    this.position += /^(?:\s|#[^\n]*(?:\n|$))*/.exec(this.text.slice(this.position))[0].length;
  }

  follows(...literals) {
    this.skip();
    return literals.some(literal => this.text.startsWith(literal, this.position));
  }

  accept(literal) {
    const isNext = this.follows(literal);
    if (isNext) this.position += literal.length;
    return isNext;
  }

  error(problem, position) {
    this.skip();
    return new PatternError(problem, position ?? this.position);
  }

  pattern() {
    const node = this.expression();
    this.skip();
    if (this.follows("=", "@", ":", ";")) throw this.error("names, macros and several patterns need synparse search");
    if (this.position < this.text.length) throw this.error("expected a relation such as <, or the end of the pattern");
    return node;
  }

  expression() {
    const node = this.node(), relations = this.relations(false);
    return relations ? both(node, relations) : node;
  }

  node() {
    if (this.accept("(")) return this.inside(")", () => this.expression());
    const alternatives = [this.single()];
    while (this.follows("|") && this.nodeAfterBar()) alternatives.push(this.single());
    return either(alternatives);
  }

  inside(closing, read) {
    if (++this.depth > 50) throw this.error("more than 50 brackets inside each other");
    const node = read();
    if (!this.accept(closing)) throw this.error(`the closing ${closing} is missing`);
    this.depth--;
    return node;
  }

  /** Read `|` if a node follows it, and not a relation, which `|` separates as well. */
  nodeAfterBar() {
    const start = this.position;
    this.accept("|");
    const position = this.position;
    let isNode = true;
    try {
      isNode = Boolean(this.language.node(this));
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
    }
    this.position = isNode ? position : start;
    return isNode;
  }

  single() {
    const node = this.language.node(this);
    if (!node) throw this.error(`expected ${this.language.expected}`);
    return node;
  }

  relations(required) {
    const alternatives = [];
    for (;;) {
      const conditions = [];
      for (let condition; (condition = this.relation(required)); required = this.accept("&")) {
        conditions.push(condition);
      }
      if (conditions.length) alternatives.push(conditions.reduce(both));
      if (!alternatives.length) return null;
      if (!this.accept("|")) return either(alternatives);
      required = true;
    }
  }

  relation(required) {
    const start = this.position, isNegated = this.accept("!");
    let condition;
    if (this.accept("[")) {
      condition = this.inside("]", () => this.relations(true));
    } else {
      const related = this.language.relation(this);
      if (!related) {
        if (isNegated || required) throw this.error("expected a relation such as <");
        this.position = start;
        return null;
      }
      const operand = this.node();
      condition = (tree, node) => related(tree, node).some(other => operand(tree, other));
    }
    return isNegated ? (tree, node) => !condition(tree, node) : condition;
  }

  quoted() {
    if (!this.follows('"')) return null;
    const match = this.match(/"((?:[^"\\\n]|\\.)*)"/);
    if (!match) throw this.error('the closing " is missing');
    return match[1].replaceAll('\\"', '"').replaceAll("\\\\", "\\");
  }

  regular(ignoreCase) {
    if (!this.follows("/")) return null;
    const start = this.position, match = this.match(/\/((?:[^/\\\n]|\\.)*)\//);
    if (!match) throw this.error("the closing / is missing");
    try {
      return new RegExp(match[1], ignoreCase ? "iu" : "u");
    } catch (error) {
      throw this.error(error.message, start + 1);
    }
  }

  /** Read text, "quoted text" or /regular expression/, with i@ before it to ignore case: a function of a string. */
  string(literal) {
    const ignoreCase = this.accept("i@"), quoted = this.quoted();
    const expression = quoted === null ? this.regular(ignoreCase) : null;
    if (expression) return remembered(text => expression.test(text));
    const match = quoted === null && literal ? this.match(literal) : null;
    if (quoted === null && !match) return null;
    const value = quoted ?? match[0];
    if (!ignoreCase) return text => text === value;
    return remembered(text => text.toLowerCase() === value.toLowerCase());
  }
}

const both = (first, second) => (tree, node) => first(tree, node) && second(tree, node);
const either = nodes => (nodes.length === 1 ? nodes[0] : (tree, node) => nodes.some(test => test(tree, node)));

/** `test` of strings, which computes each result once. */
function remembered(test) {
  const results = new Map();
  return text => {
    if (!results.has(text)) results.set(text, test(text));
    return results.get(text);
  };
}

/** Brackets, tags and words in pre-order: labels, parents, last descendants, and words from start to end. */
function indexedTree(sentence) {
  const tree = { labels: [], parents: [], last: [], starts: [], ends: [] }, open = [];
  const add = (label, start, end) => {
    tree.parents.push(open.at(-1) ?? -1);
    tree.starts.push(start);
    tree.ends.push(end);
    return tree.labels.push(label) - 1;
  };
  let k = 0;
  sentence.forms.forEach((form, word) => {
    for (; k < sentence.spans.length && sentence.spans[k].start === word; k++) {
      open.push(add(sentence.spans[k].label, word, sentence.spans[k].end));
    }
    if (sentence.formTags[word]) {
      open.push(add(sentence.formTags[word], word, word + 1));
    }
    tree.last[add(form, word, word + 1)] = tree.labels.length - 1;
    while (open.length && tree.ends[open.at(-1)] === word + 1) tree.last[open.pop()] = tree.labels.length - 1;
  });
  return tree;
}

const children = (tree, node) => {
  const nodes = [];
  for (let child = node + 1; child <= tree.last[node]; child = tree.last[child] + 1) nodes.push(child);
  return nodes;
};
const parent = (tree, node) => (tree.parents[node] < 0 ? [] : [tree.parents[node]]);
const above = (tree, node) => {
  const nodes = [];
  while ((node = tree.parents[node]) >= 0) nodes.push(node);
  return nodes;
};
const sisters = (tree, node) => parent(tree, node).flatMap(top => children(tree, top)).filter(other => other !== node);
const child = (tree, node, index) => children(tree, node).slice(index, index + 1 || undefined);
const only = (tree, node) => (children(tree, node).length === 1 ? [node + 1] : []);
const following = (tree, node) => range(tree.last[node] + 1, tree.labels.length);
const preceding = (tree, node) => range(0, node).filter(other => tree.last[other] < node);
const directlyAfter = (tree, node) => {
  let after = tree.last[node] + 1;
  while (tree.starts[after] === tree.ends[node]) after++;
  return range(tree.last[node] + 1, after);
};
const TREE_RELATIONS = {
  "<": children,
  ">": parent,
  "<<": (tree, node) => range(node + 1, tree.last[node] + 1),
  ">>": above,
  "<,": (tree, node) => child(tree, node, 0),
  ">,": (tree, node) => parent(tree, node).filter(top => child(tree, top, 0)[0] === node),
  "<-": (tree, node) => child(tree, node, -1),
  ">-": (tree, node) => parent(tree, node).filter(top => child(tree, top, -1)[0] === node),
  "<:": only,
  ">:": (tree, node) => parent(tree, node).filter(top => only(tree, top).length),
  ".": directlyAfter,
  ",": (tree, node) => preceding(tree, node).filter(other => tree.ends[other] === tree.starts[node]),
  "..": following,
  ",,": preceding,
  $: sisters,
  "$.": (tree, node) => sisters(tree, node).filter(other => other > node).slice(0, 1),
  "$,": (tree, node) => sisters(tree, node).filter(other => other < node).slice(-1),
  "$..": (tree, node) => sisters(tree, node).filter(other => other > node),
  "$,,": (tree, node) => sisters(tree, node).filter(other => other < node),
};

const treeLanguage = {
  expected: "a node: a label, a word, /regular expression/ or * for any",
  index: indexedTree,
  node(reader) {
    if (reader.accept("*")) return () => true;
    if (reader.match(/__(?![^\]\[ \r\t\n;:.,&|<>()$!@%'^=])/)) return () => true;
    const ignoresCase = reader.follows("i@");
    const test = reader.string(ignoresCase ? null : /[^\]\[ \r\t\n;:.,&|<>()$!@%'^=]+/);
    if (ignoresCase && !test) throw reader.error('expected "text" or /expression/ after i@');
    return test && ((tree, node) => test(tree.labels[node]));
  },
  relation(reader) {
    const start = reader.position, operator = reader.match(/[$%][.,+-]*|[.,]+|[<>][%,.<>0-9\-':]*/);
    if (operator && !TREE_RELATIONS[operator[0]]) {
      throw reader.error(`${operator[0]} is not a relation of this page; synparse search may have it`, start);
    }
    return operator && TREE_RELATIONS[operator[0]];
  },
  hit({ before }, { starts, ends, labels }, node) {
    return [before[starts[node]], before[ends[node]], labels[node]];
  },
};

const head = (sentence, node) => (sentence.heads[node] ? [sentence.heads[node] - 1] : []);
const dependents = ({ heads }, node) => range(0, heads.length).filter(word => heads[word] === node + 1);
function closure(step, sentence, node) {
  const reached = new Set([node]);
  for (const other of reached) step(sentence, other).forEach(next => reached.add(next));
  return [...reached].filter(other => other !== node);
}
const sameHead = ({ heads }, node) =>
  range(0, heads.length).filter(word => word !== node && heads[node] && heads[word] === heads[node]);
const HEAD_RELATIONS = {
  ">": dependents,
  "<": head,
  ">>": (sentence, node) => closure(dependents, sentence, node),
  "<<": (sentence, node) => closure(head, sentence, node),
  ".": (sentence, node) => range(node + 1, Math.min(node + 2, sentence.words.length)),
  ",": (sentence, node) => range(Math.max(node - 1, 0), node),
  "..": (sentence, node) => range(node + 1, sentence.words.length),
  ",,": (sentence, node) => range(0, node),
  $: sameHead,
  "$..": (sentence, node) => sameHead(sentence, node).filter(other => other > node),
  "$,,": (sentence, node) => sameHead(sentence, node).filter(other => other < node),
};
const COLUMNS = { form: "words", tag: "tags", upos: "universal", relation: "relations" };
const DIRECTIONS = {
  left: (head, node) => head >= 0 && head < node,
  right: (head, node) => head > node,
  root: head => head < 0,
};
const COMPARISONS = {
  "=": (a, b) => a === b, "!=": (a, b) => a !== b, "<": (a, b) => a < b,
  ">": (a, b) => a > b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b,
};

const headLanguage = {
  expected: "a word in braces, such as {tag=VERB} or {} for any",
  index: sentence => sentence,
  node(reader) {
    if (!reader.accept("{")) return null;
    const tests = [];
    while (!reader.accept("}")) {
      tests.push(headCondition(reader));
      if (!reader.accept(";") && !reader.follows("}")) throw reader.error("expected ; or the closing }");
    }
    return (sentence, node) => tests.every(test => test(sentence, node));
  },
  relation(reader) {
    const operator = reader.match(/<<|>>|<|>|\.\.|\.|,,|,|\$\.\.|\$,,|\$/);
    if (!operator) return null;
    const related = HEAD_RELATIONS[operator[0]];
    if (!"<>".includes(operator[0]) || !/^[/"\p{L}\p{N}]/u.test(reader.text.slice(reader.position))) return related;
    const isRelation = textTest(reader, "relation");
    return operator[0] === ">"
      ? (sentence, node) => related(sentence, node).filter(other => isRelation(sentence, other))
      : (sentence, node) => (isRelation(sentence, node) ? related(sentence, node) : []);
  },
  hit: (sentence, _, node) => [node, node + 1, sentence.relations[node] ?? ""],
};

function headCondition(reader) {
  reader.skip();
  const start = reader.position, name = reader.match(/[a-z]+/)?.[0];
  if (!(name in COLUMNS) && name !== "distance" && name !== "direction") {
    throw reader.error("expected an attribute: form, tag, upos, relation, distance, direction", start);
  }
  const sign = reader.match(/!=|>=|<=|=|>|</), comparison = sign?.[0];
  if (!sign) throw reader.error("expected = or !=");
  if (name === "distance") {
    const distance = reader.match(/\d+/), compare = COMPARISONS[comparison];
    if (!distance) throw reader.error("expected a number of words");
    return (sentence, node) =>
      sentence.heads[node] > 0 && compare(Math.abs(sentence.heads[node] - 1 - node), Number(distance[0]));
  }
  if (comparison !== "=" && comparison !== "!=") {
    throw reader.error(`${name} is compared with = or !=`, sign.index);
  }
  const test = name === "direction" ? directionTest(reader) : textTest(reader, name);
  return comparison === "=" ? test : (sentence, node) => !test(sentence, node);
}

function directionTest(reader) {
  const name = reader.match(/[a-z]+/), isSide = DIRECTIONS[name?.[0]];
  if (!isSide) throw reader.error("expected left, right, root: the position of the head", name?.index);
  return (sentence, node) => isSide(sentence.heads[node] - 1, node);
}

function textTest(reader, name) {
  const tests = [];
  do {
    const test = reader.string(/[^\s;|{}"]+/);
    if (!test) throw reader.error('expected a value, "a value" or /regular expression/');
    tests.push(test);
  } while (reader.accept("|"));
  return (sentence, node) => {
    const texts = sentence[COLUMNS[name]];
    return texts.length > 0 && tests.some(test => test(texts[node]));
  };
}

/** Whether a pattern is for heads: it contains braces outside of quotation marks and regular expressions. */
const isForHeads = text => text.replace(/"(?:[^"\\]|\\.)*"|\/(?:[^/\\]|\\.)*\/|#[^\n]*/g, "").includes("{");

// ------------------------------------------------------------------------------------------------------- search
// A matcher has `mayMatch(row)`, a quick test of the numbers of a sentence, and `matches(sentence)`: a list of
// [start, end, label], the label only for patterns.

function wordMatcher(query, fold) {
  const tokens = query.split(/[ \t\n]+/).map(fold), first = new Set();
  corpus.words.forEach((word, id) => fold(word) === tokens[0] && first.add(id));
  return {
    mayMatch: row => row[2].some(id => first.has(id)),
    matches(sentence) {
      const words = sentence.words.map(fold);
      const starts = range(0, words.length - tokens.length + 1);
      return starts
        .filter(start => tokens.every((token, offset) => words[start + offset] === token))
        .map(start => [start, start + tokens.length]);
    },
  };
}

function expressionMatcher(query, ignoreCase) {
  let expression;
  try {
    expression = new RegExp(query, ignoreCase ? "giu" : "gu");
  } catch (error) {
    throw new PatternError(error.message, null);
  }
  return {
    mayMatch: () => true,
    matches(sentence) {
      const starts = [], ends = [];
      let length = 0;
      for (const word of sentence.words) {
        starts.push(length);
        ends.push((length += word.length));
        length++;
      }
      return [...sentence.words.join(" ").matchAll(expression)]
        .filter(match => match[0])
        .map(match => {
          const end = match.index + match[0].length;
          const words = range(0, starts.length).filter(word => starts[word] < end && ends[word] > match.index);
          return [words[0], words.at(-1) + 1];
        })
        .filter(([start]) => start !== undefined);
    },
  };
}

function patternMatcher(query) {
  const forHeads = isForHeads(query), language = forHeads ? headLanguage : treeLanguage;
  const test = new PatternReader(query, language).pattern();
  return {
    mayMatch: row => (forHeads ? row[6]?.length > 0 : Boolean(row[4])),
    matches(sentence) {
      const tree = language.index(sentence), nodes = range(0, (forHeads ? sentence.words : tree.labels).length);
      return nodes.filter(node => test(tree, node)).map(node => language.hit(sentence, tree, node));
    },
  };
}

function matcher({ mode, query, matchCase }) {
  const text = query.trim();
  if (!text) return null;
  if (mode === "pattern") return patternMatcher(text);
  if (mode === "expression") return expressionMatcher(text, !matchCase);
  return wordMatcher(text, matchCase ? String : word => word.toLowerCase());
}

/** The sentences that satisfy a search: pairs of an index and its matches, null if nothing was searched for. */
function search(request) {
  const match = matcher(request), results = [];
  corpus.sentences.forEach((row, index) => {
    if (request.document !== "" && row[0] !== Number(request.document)) return;
    if (match && !match.mayMatch(row)) return;
    const sentence = new Sentence(index);
    if (request.shortest && sentence.words.length < request.shortest) return;
    if (request.longest && sentence.words.length > request.longest) return;
    let matches = match?.matches(sentence) ?? null;
    if (request.label !== "") {
      matches = matches?.filter(([start, end]) => hasLabel(sentence, start, end, request.label)) ??
        labeled(sentence, request.label);
    }
    if (matches === null || matches.length) results.push([index, matches]);
  });
  return results;
}

/** The matches that are not inside another one, from left to right. */
function outermost(matches) {
  let last = 0;
  return matches.filter(([start, end]) => start >= last && end > start && ((last = end), true));
}

// ----------------------------------------------------------------------------------------------------- pictures
// The layout is that of treebank/draw/constituents.py and arcs.py, with widths measured by the browser.

const SIZE = 16, SMALL = 12, GAP = 14, MARGIN = 14, ARC_END = 5, RADIUS = 7;
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
    texts.forEach((text, word) => this.text(positions[word], this.height + size * 1.1, text, size, ink));
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

function drawTree(scene, sentence, tree, words) {
  const isLabeled = sentence.brackets.some(({ label }) => visible(label, BARE_LABELS));
  const size = isLabeled ? SMALL : 0, full = isLabeled ? 38 : 24;
  const step = tree.levels <= 40 ? full : Math.max((full * 40) / tree.levels, isLabeled ? 22 : 7);
  const bottom = tree.levels * step + 10, positions = tree.positions(words);
  sentence.brackets.forEach(({ label }, k) => {
    const top = [positions[k], tree.depths[k] * step + size + 5], next = tree.depths[k] * step + step + (size ? 1 : 5);
    for (const node of tree.below[k]) {
      const corner = [positions[node], next];
      scene.line(node < tree.count ? [top, corner] : [top, corner, [positions[node], bottom]], "plain");
    }
    const name = visible(label, BARE_LABELS), [x, y] = top;
    if (name) scene.text(x, tree.depths[k] * step + SMALL, name, SMALL, "plain");
    else scene.line([[x - 2.6, y], [x, y - 2.6], [x + 2.6, y], [x, y + 2.6]], "plain", { filled: true });
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

function picture(sentence) {
  const { words, tags, hasTree, heads } = sentence;
  const shown = words.map((_, word) => visible(tags[word] ?? "", BARE_TAGS));
  const widths = words.map((word, index) => Math.max(textWidth(word, SIZE), textWidth(shown[index], SMALL)) + GAP);
  const tree = hasTree && branches(sentence), arcs = !hasTree && heads.length ? arcsOf(sentence) : null;
  if (tree) makeRoomForLabels(sentence, tree, widths);
  if (arcs) makeRoomForArcs(arcs, widths);
  const positions = middles(widths), scene = new Scene(sum(widths));
  if (tree) drawTree(scene, sentence, tree, positions);
  if (arcs) drawArcs(scene, arcs, positions);
  if (tree && shown.some(Boolean)) scene.row(shown, positions, SMALL, "faint");
  scene.row(words, positions, SIZE, "plain");
  if (!tree && shown.some(Boolean)) scene.row(shown, positions, SMALL, "faint");
  scene.mirrors = runsRightToLeft(words);
  const title = `${hasTree ? "Tree" : "Arcs"} of: ${words.join(" ")}`;
  return scene.element(title, hasTree ? bracketed(sentence) : inWords(sentence));
}

/** Each word with its head, for screen readers. */
function inWords({ words, heads }) {
  return words.map((word, index) => `${word} ← ${heads[index] > 0 ? words[heads[index] - 1] : "root"}`).join(", ");
}

// ---------------------------------------------------------------------------------------------------- downloads

/** The tree in one line, as synparse writes it. */
function bracketed({ forms, formTags, spans }) {
  const escaped = forms.map(word => word.replaceAll("(", "-LRB-").replaceAll(")", "-RRB-"));
  const leaves = escaped.map((word, index) => (formTags[index] ? `(${formTags[index]} ${word})` : word));
  for (const { start, end, label } of [...spans].reverse()) {
    leaves[start] = `(${label} ${leaves[start]}`;
    leaves[end - 1] += ")";
  }
  return leaves.join(" ");
}

function conllu({ words, tags, universal, heads, relations }, index) {
  const forms = words.map(word => word.replaceAll("\u00a0", " "));
  const rows = forms.map((form, word) => {
    const general = universal[word] || "_", own = tags[word] === universal[word] ? "_" : tags[word] || "_";
    const relation = relations[word] || (heads[word] ? "dep" : "root");
    return [word + 1, form, "_", general, own, "_", heads[word], relation, "_", "_"].join("\t");
  });
  return [`# sent_id = ${index + 1}`, `# text = ${forms.join(" ")}`, ...rows, ""].join("\n");
}

const csvCell = cell => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
const csvLine = cells => cells.map(csvCell).join(",");

function csvRows(sentence, matches) {
  const { document, line, words } = sentence, text = (start, end) => words.slice(start, end).join(" ");
  return (matches ?? [[0, words.length]]).map(([start, end, label]) => {
    const name = label ?? labelsOf(sentence, start, end).join(UNARY);
    return csvLine([document[0], line, text(0, start), text(start, end), text(end), name]);
  });
}

// Format -> the name of its file, and its lines from pairs of a sentence and its matches.
const EXPORTS = {
  brackets: ["sentences.trees", pairs => pairs.filter(([sentence]) => sentence.hasTree)
    .map(([sentence]) => bracketed(sentence))],
  conllu: ["sentences.conllu", pairs => pairs.filter(([sentence]) => sentence.heads.length)
    .map(([sentence], index) => conllu(sentence, index))],
  csv: ["matches.csv", pairs => ["file,line,left,match,right,label", ...pairs.flatMap(pair => csvRows(...pair))]],
};

function download(name, lines) {
  const link = document.createElement("a");
  const text = lines.map(line => line + "\n").join("");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// -------------------------------------------------------------------------------------------------------- the page

let results = [], phrases = [], order = { column: 2, sign: -1 };

function make(name, properties = {}, ...content) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in node) node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...content);
  return node;
}

function request() {
  return {
    mode: element("mode").value, query: element("query").value, matchCase: element("case").checked,
    label: element("label").value, document: element("document")?.value ?? "",
    shortest: Number(element("shortest").value), longest: Number(element("longest").value),
  };
}

function showProblem(problem, position) {
  const box = element("query");
  element("problem").textContent = problem;
  box.toggleAttribute("aria-invalid", Boolean(problem));
  if (!problem) return;
  box.focus();
  if (position === null) return;
  const start = box.value.length - box.value.trimStart().length + position;
  box.setSelectionRange(start, start + 1);
}

function runSearch() {
  try {
    results = search(request());
    showProblem("");
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    results = [];
    showProblem(error.message, error.position);
  }
  const all = counted(corpus.sentences.length, "sentence");
  const count = results.length < corpus.sentences.length ? `${number(results.length)} of ${all}` : all;
  const matches = sum(results.map(([, list]) => list?.length ?? 0));
  element("status").textContent = matches ? `${count}, ${counted(matches, "match")}` : count;
  element("download").disabled = !results.length;
  element("results").replaceChildren();
  showMore();
}

function showMore() {
  const list = element("results"), start = list.children.length;
  list.append(...results.slice(start, start + SHOWN).map(([index, matches]) => item(new Sentence(index), matches)));
  const left = results.length - list.children.length;
  element("more").hidden = left <= 0;
  element("more").textContent = `Show ${Math.min(left, SHOWN)} more of ${number(left)} sentences`;
  return list.children[start];
}

function item(sentence, matches) {
  const text = make("p", { className: "sentence", dir: "auto" });
  let last = 0;
  const put = (start, end, mark) => {
    const words = sentence.words.slice(start, end).join(" ");
    if (words) text.append(start ? " " : "", mark ? make("mark", {}, words) : words);
  };
  for (const [start, end] of outermost(matches ?? [])) {
    put(last, start, false);
    put(start, end, true);
    last = end;
  }
  put(last, sentence.words.length, false);
  const line = make("p", { className: "detail" }), entry = make("li", {}, text, line);
  if (sentence.hasTree || sentence.heads.length) line.append(pictureButton(sentence, entry), " ");
  line.append(place(sentence));
  if (sentence.document[1]) line.append(` (${sentence.document[1]})`);
  return entry;
}

function pictureButton(sentence, entry) {
  const name = sentence.hasTree ? "Tree" : "Arcs", id = `picture-${sentence.index}`;
  const label = `${name} of ${place(sentence)}`;
  const state = { "aria-expanded": "false", "aria-controls": id, "aria-label": label };
  const button = make("button", { type: "button", ...state }, name);
  const panel = make("div", { id, className: "scroll", tabIndex: 0, role: "group", "aria-label": label, hidden: true });
  entry.append(panel);
  button.addEventListener("click", () => {
    if (!panel.children.length) panel.append(picture(sentence));
    panel.hidden = !panel.hidden;
    button.setAttribute("aria-expanded", String(!panel.hidden));
  });
  return button;
}

function exportResults() {
  const [name, lines] = EXPORTS[element("format").value];
  download(name, lines(results.map(([index, matches]) => [new Sentence(index), matches])));
}

function showView(name) {
  for (const button of document.querySelectorAll("nav button")) {
    element(button.value).hidden = button.value !== name;
    if (button.value === name) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
}

// A row of the table of phrases: [words, label, count, documents, share, confidence].

function choosePhrases() {
  const text = element("phrase-text").value.trim().toLowerCase(), label = element("phrase-label").value;
  const { column, sign } = order;
  phrases = corpus.phrases
    .filter(row => row[0].toLowerCase().includes(text) && (label === "" || row[1] === label))
    .sort((a, b) => sign * (column < 2 ? a[column].localeCompare(b[column]) : a[column] - b[column]));
  element("phrase-status").textContent = `${number(phrases.length)} of ${number(corpus.phrases.length)} rows`;
  document.querySelectorAll("#phrases thead th").forEach((cell, index) => {
    if (index === column) cell.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    else cell.removeAttribute("aria-sort");
  });
  element("phrase-rows").replaceChildren();
  showMorePhrases();
}

function showMorePhrases() {
  const body = element("phrase-rows"), start = body.children.length;
  const columns = document.querySelectorAll("#phrases thead th").length;
  body.append(...phrases.slice(start, start + SHOWN_PHRASES).map(row => {
    const button = make("button", { type: "button", className: "link" }, row[0]);
    button.addEventListener("click", () => searchPhrase(row));
    const [label, ...numbers] = row.slice(1, columns);
    const texts = numbers.map((value, index) => (value === null ? "" : index > 1 ? value.toFixed(3) : number(value)));
    const first = [make("th", { scope: "row", dir: "auto" }, button), make("td", { className: "text" }, label)];
    return make("tr", {}, ...first, ...texts.map(text => make("td", {}, text)));
  }));
  const left = phrases.length - body.children.length;
  element("more-phrases").hidden = left <= 0;
  element("more-phrases").textContent = `Show ${Math.min(left, SHOWN_PHRASES)} more of ${number(left)} rows`;
  return body.children[start];
}

/** Show the sentences with a phrase or an arc of the table. */
function searchPhrase([words, label]) {
  const [left, arrow, right] = words.split(" "), quote = text => `"${text.replace(/["\\]/g, "\\$&")}"`;
  const isArc = corpus.hasHeads && ["→", "←"].includes(arrow) && words.split(" ").length === 3;
  element("search").reset();
  if (isArc) {
    const [dependent, top, side] = arrow === "→" ? [right, left, "left"] : [left, right, "right"];
    const relation = label && `relation=${quote(label)}; `;
    element("mode").value = "pattern";
    element("query").value = `{form=${quote(dependent)}; ${relation}direction=${side}} < {form=${quote(top)}}`;
  } else {
    element("query").value = words;
    element("case").checked = true;
    if (![...element("label").options].some(option => option.value === label)) {
      element("label").append(make("option", {}, label));
    }
    element("label").value = label;
  }
  changeMode();
  showView("sentences");
  runSearch();
  element("sentences-h").focus();
}

const HINTS = {
  words: "Whole words in this order, such as: the cat",
  expression: "A regular expression, such as: \\bun\\w+ed\\b",
  pattern: corpus.hasTrees ? "A pattern, such as: NP < (PP << of)" : "A pattern, such as: {upos=VERB} >obj {}",
};

function changeMode() {
  element("hint").textContent = HINTS[element("mode").value];
  element("case").disabled = element("mode").value === "pattern";
}

function start() {
  const headings = document.querySelectorAll("#phrases thead button");
  element("search").addEventListener("submit", event => {
    event.preventDefault();
    runSearch();
  });
  element("clear").addEventListener("click", () => {
    element("search").reset();
    changeMode();
    runSearch();
  });
  element("mode").addEventListener("change", changeMode);
  const filters = ["label", "document", "shortest", "longest", "case"];
  for (const id of filters) element(id)?.addEventListener("change", runSearch);
  element("more").addEventListener("click", () => showMore()?.querySelector("button")?.focus());
  element("more-phrases").addEventListener("click", () => showMorePhrases()?.querySelector("button").focus());
  element("download").addEventListener("click", exportResults);
  element("phrase-form").addEventListener("submit", event => event.preventDefault());
  element("phrase-text").addEventListener("input", choosePhrases);
  element("phrase-label").addEventListener("change", choosePhrases);
  element("phrase-download").addEventListener("click", () => {
    const columns = Array.from(headings, button => button.textContent.toLowerCase());
    const rows = phrases.map(row => row.slice(0, columns.length).map(cell => cell ?? ""));
    download("phrases.csv", [columns, ...rows].map(csvLine));
  });
  headings.forEach((button, column) => button.addEventListener("click", () => {
    order = { column, sign: order.column === column ? -order.sign : column < 2 ? 1 : -1 };
    choosePhrases();
  }));
  for (const button of document.querySelectorAll("nav button")) {
    button.addEventListener("click", () => showView(button.value));
  }
  element("main").hidden = false;
  changeMode();
  runSearch();
  choosePhrases();
}

start();
