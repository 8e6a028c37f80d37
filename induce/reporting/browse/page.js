// The controls of the page, and what they show.

const STEP_MS = 100; // of a search, after which its results are shown and the page reacts
let latest = null, results = [], shownCount = SHOWN; // the latest search, its results, and how many are shown
let phrases = [], order = { column: 2, sign: -1 };

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

/** The search of the controls, or null if its pattern is malformed, which is shown. */
function newSearch() {
  try {
    const search = new Search(request());
    showProblem("");
    return search;
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    showProblem(error.message, error.position);
    return null;
  }
}

/** Search in steps, so that the first results appear early. A new search ends the one before. */
async function runSearch() {
  const search = (latest = newSearch());
  results = search?.results ?? [];
  shownCount = SHOWN;
  element("results").replaceChildren();
  while (search && !search.advance(STEP_MS)) {
    showResults(true);
    await new Promise(resolve => setTimeout(resolve));
    if (search !== latest) return;
  }
  showResults(false);
}

/** Show the number of results and the first of them. Screen readers wait for the end of the search. */
function showResults(isSearching) {
  const all = counted(corpus.sentences.length, "sentence"), matches = latest?.matchCount;
  const count = results.length < corpus.sentences.length ? `${number(results.length)} of ${all}` : all;
  const text = matches ? `${count}, ${counted(matches, "match")}` : count;
  element("status").setAttribute("aria-busy", String(isSearching));
  element("status").textContent = isSearching ? `Searching: ${text}` : text;
  element("download").disabled = isSearching || !results.length;
  fillResults();
}

function fillResults() {
  const list = element("results"), added = results.slice(list.children.length, shownCount);
  list.append(...added.map(([index, matches]) => item(new Sentence(index), matches)));
  const left = results.length - list.children.length;
  element("more").hidden = left <= 0;
  element("more").textContent = `Show ${Math.min(left, SHOWN)} more of ${number(left)} sentences`;
}

function showMore() {
  const list = element("results"), start = list.children.length;
  shownCount = start + SHOWN;
  fillResults();
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
  if (sentence.hasTree || sentence.heads.length) line.append(pictureButton(sentence, entry, matches ?? []), " ");
  line.append(place(sentence));
  if (sentence.document[1]) line.append(` (${sentence.document[1]})`);
  return entry;
}

function pictureButton(sentence, entry, matches) {
  const name = sentence.hasTree ? "Tree" : "Arcs", id = `picture-${sentence.index}`;
  const label = `${name} of ${place(sentence)}`;
  const state = { "aria-expanded": "false", "aria-controls": id, "aria-label": label };
  const button = make("button", { type: "button", ...state }, name);
  const panel = make("div", { id, className: "scroll", tabIndex: 0, role: "group", "aria-label": label, hidden: true });
  entry.append(panel);
  button.addEventListener("click", () => {
    if (!panel.children.length) panel.append(picture(sentence, matches));
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
