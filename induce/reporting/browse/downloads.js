// The files that can be downloaded: trees, heads, and the table of matches.

/** The tree in one line, as synparse writes it. */
function bracketed({ forms, formTags, spans }) {
  const escaped = text => text.replaceAll("(", "-LRB-").replaceAll(")", "-RRB-");
  const leaf = (word, tag) => (tag ? `(${escaped(tag)} ${escaped(word)})` : escaped(word));
  const leaves = forms.map((word, index) => leaf(word, formTags[index]));
  for (const { start, end, label } of [...spans].reverse()) {
    leaves[start] = `(${escaped(label)} ${leaves[start]}`;
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

/** A cell of CSV as synparse writes it: a text that a spreadsheet would take for a formula begins with an apostrophe. */
function csvCell(cell) {
  const isFormula = typeof cell === "string" && /^(?:[=@\t\r].|[+-](?![\d.,]+$).)/s.test(cell);
  const text = isFormula ? `'${cell}` : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
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
  const mark = name.endsWith(".csv") ? "\ufeff" : ""; // by which spreadsheets recognize UTF-8
  const text = mark + lines.map(line => line + "\n").join("");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
