"use strict";
// The data of the page of `synparse browse`, and its sentences. The scripts of this folder are one script in the page.
// The data are described in corpus_page.py. Word indices start at 0, and spans exclude their end.

const TRACE = "-NONE-", UNARY = "+"; // the tag of empty elements, and the sign between labels of the same words
const SHOWN = 50, SHOWN_PHRASES = 100; // sentences and rows that are added to the page at a time
const element = id => document.getElementById(id);
const corpus = JSON.parse(element("corpus").textContent);
const number = value => value.toLocaleString("en");
const counted = (value, name) => `${number(value)} ${name}${value === 1 ? "" : name === "match" ? "es" : "s"}`;
function range(start, end) {
  const numbers = [];
  for (let value = start; value < end; value++) numbers.push(value);
  return numbers;
}

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
