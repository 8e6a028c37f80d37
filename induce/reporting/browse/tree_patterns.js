// Patterns for trees: nodes and their relations.

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
/** The nodes from `start` to `end`, of which no list is made, because the first one often decides. */
const nodesBetween = (start, end) => ({
  some(test) {
    for (let node = start; node < end; node++) if (test(node)) return true;
    return false;
  },
});
const descendants = (tree, node) => nodesBetween(node + 1, tree.last[node] + 1);
const following = (tree, node) => nodesBetween(tree.last[node] + 1, tree.labels.length);
const preceding = (tree, node) => range(0, node).filter(other => tree.last[other] < node);
const directlyAfter = (tree, node) => {
  let after = tree.last[node] + 1;
  while (tree.starts[after] === tree.ends[node]) after++;
  return range(tree.last[node] + 1, after);
};
const TREE_RELATIONS = {
  "<": children,
  ">": parent,
  "<<": descendants,
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
