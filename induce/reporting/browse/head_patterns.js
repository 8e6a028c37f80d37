// Patterns for heads: words in braces and their relations.

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
  expected: "a word in braces, such as {upos=VERB} or {} for any",
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
