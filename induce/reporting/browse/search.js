// The search for words, regular expressions and patterns.
// A matcher has `mayMatch(row)`, a quick test of the numbers of a sentence, and `matches(sentence)`: a list of
// [start, end, label], the label only for patterns.

const MIN_STEP = 200; // sentences that are searched before the clock is read again

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
    expression = expressionOf(query, ignoreCase ? "giu" : "gu");
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

/** A search that can be interrupted. `results` are pairs of the index of a sentence and its matches, null for none. */
class Search {
  constructor(request) {
    Object.assign(this, { request, match: matcher(request), results: [], matchCount: 0, next: 0 });
  }

  /** Search about this long, and at least `MIN_STEP` sentences. Returns whether all sentences have been searched. */
  advance(milliseconds = Infinity) {
    const end = performance.now() + milliseconds, count = corpus.sentences.length;
    while (this.next < count) {
      const index = this.next++, matches = this.find(index);
      if (matches === null || matches.length) this.results.push([index, matches]);
      this.matchCount += matches?.length ?? 0;
      if (this.next % MIN_STEP === 0 && performance.now() > end) break;
    }
    return this.next === count;
  }

  /** The matches in a sentence, null if nothing but the sentence was searched for. */
  find(index) {
    const { request, match } = this, row = corpus.sentences[index];
    if (request.document !== "" && row[0] !== Number(request.document)) return [];
    if (match && !match.mayMatch(row)) return [];
    const sentence = new Sentence(index);
    if (request.shortest && sentence.words.length < request.shortest) return [];
    if (request.longest && sentence.words.length > request.longest) return [];
    const matches = match?.matches(sentence) ?? null;
    if (request.label === "") return matches;
    return matches?.filter(([start, end]) => hasLabel(sentence, start, end, request.label)) ??
      labeled(sentence, request.label);
  }
}

/** The matches that are not inside another one, from left to right. */
function outermost(matches) {
  let last = 0;
  return matches.filter(([start, end]) => start >= last && end > start && ((last = end), true));
}
