// A part of the language of `synparse search` (treebank/search): nodes, relations, ! & | and brackets. A condition is
// a function of an indexed sentence and a node. Names (=n), macros (@), positions, `;` and `<2` are not included.

/** A text with U+00A0 for each space, as in words. */
const joined = text => text.replaceAll(" ", "\u00a0");

/** A text with brackets as such instead of -LRB-, as words are shown. */
const BRACKETS = { LR: "(", RR: ")", LS: "[", RS: "]", LC: "{", RC: "}" };
const plain = text => text.replace(/-([LR][RSC])B-|\\([/*])/g, (_, name, other) => other ?? BRACKETS[name]);

const WORD = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}";
const CLASSES = { w: WORD, d: "\\p{Nd}", s: "\\p{White_Space}" };
const BOUNDARIES = {
  b: `(?:(?<=[${WORD}])(?![${WORD}])|(?<![${WORD}])(?=[${WORD}]))`,
  B: `(?:(?<=[${WORD}])(?=[${WORD}])|(?<![${WORD}])(?![${WORD}]))`,
};

/** A regular expression in which \w, \d, \s, \b and . know all scripts, as in synparse search. */
function expressionOf(source, flags) {
  let inClass = false;
  const translated = source.replace(/\\(.)|[[\].]/gs, (part, name) => {
    if (part === "[" || part === "]") inClass = part === "[";
    if (part === ".") return inClass ? part : "[^\\n]";
    if (name in CLASSES) return inClass ? CLASSES[name] : `[${CLASSES[name]}]`;
    if (name?.toLowerCase() in CLASSES) {
      if (inClass) throw new SyntaxError(`[${part}] is not possible on this page; synparse search has it`);
      return `[^${CLASSES[name.toLowerCase()]}]`;
    }
    return (!inClass && BOUNDARIES[name]) || part;
  });
  return new RegExp(translated, flags);
}

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
    return joined(match[1].replaceAll('\\"', '"').replaceAll("\\\\", "\\"));
  }

  regular(ignoreCase) {
    if (!this.follows("/")) return null;
    const start = this.position, match = this.match(/\/((?:[^/\\\n]|\\.)*)\//);
    if (!match) throw this.error("the closing / is missing");
    try {
      return expressionOf(joined(match[1]), ignoreCase ? "iu" : "u");
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
    const forms = [value, plain(value), value.normalize("NFC"), value.normalize("NFD")];
    if (!ignoreCase) return text => forms.includes(text);
    const lower = forms.map(form => form.toLowerCase());
    return remembered(text => lower.includes(text.toLowerCase()));
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
