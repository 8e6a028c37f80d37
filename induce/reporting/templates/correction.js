'use strict';
// A page on which a person corrects brackets or heads. `data` has a list of sentences, each with words, spans
// [start, end, label] in pre-order, and heads (from 1, 0 for the root) if the model gives heads.
const data = JSON.parse(document.getElementById('sentences').textContent);
const hasHeads = data.output === 'heads';
const list = document.getElementById('list');
const KEY = `synparse-correction-${data.digest}`;
let current = 0, anchor = 0, cursor = 0, undo = [];

for (const sentence of data.sentences) sentence.done = false;
try { restore(localStorage.getItem(KEY)); } catch { /* a browser may forbid storage */ }
for (const {words, spans} of hasHeads ? [] : data.sentences) {  // a line of a file is one tree
  if (!spans.some(([start, end]) => start === 0 && end === words.length)) spans.unshift([0, words.length, data.label]);
}

function restore(text) {
  if (!text) return;
  JSON.parse(text).forEach((stored, index) => Object.assign(data.sentences[index], stored));
}

function store() {
  const state = data.sentences.map(({spans, heads, done}) => ({spans, heads, done}));
  try { localStorage.setItem(KEY, JSON.stringify(state)); } catch { /* the page still works */ }
}

function element(name, attributes = {}, ...children) {
  const node = Object.assign(document.createElement(name), attributes);
  node.append(...children);
  return node;
}

const range = () => [Math.min(anchor, cursor), Math.max(anchor, cursor) + 1];
const contains = (outer, inner) => outer[0] <= inner[0] && inner[1] <= outer[1];
const overlapsLeft = (a, b) => a[0] < b[0] && b[0] < a[1] && a[1] < b[1];
const crosses = (a, b) => overlapsLeft(a, b) || overlapsLeft(b, a);

// Nested boxes of the words from start to end, with the spans inside them in pre-order.
function boxes(sentence, start, end, spans) {
  const parts = [];
  let position = start, rest = spans;
  while (position < end) {
    const [first, ...others] = rest;
    if (first && first[0] === position) {
      const inside = others.filter(span => contains(first, span));
      const box = element('span', {className: 'phrase'}, ...boxes(sentence, first[0], first[1], inside));
      parts.push(box);
      rest = others.slice(inside.length);
      position = first[1];
    } else {
      parts.push(word(sentence, position));
      position += 1;
    }
  }
  return parts;
}

function word(sentence, index) {
  const button = element('button', {type: 'button', className: 'word', textContent: sentence.words[index]});
  button.dataset.index = index;
  button.tabIndex = -1;
  if (!hasHeads) return button;
  const options = [element('option', {value: 0, textContent: 'root'})];
  sentence.words.forEach((form, k) => {
    if (k !== index) options.push(element('option', {value: k + 1, textContent: `${k + 1} ${form}`}));
  });
  const select = element('select', {ariaLabel: `Head of ${sentence.words[index]}`}, ...options);
  select.value = sentence.heads[index];
  select.addEventListener('change', () => {
    const head = Number(select.value);  // before the sentence is drawn again
    if (sentence !== data.sentences[current]) go(data.sentences.indexOf(sentence));
    change(() => { sentence.heads[index] = head; });
  });
  return element('span', {className: 'dependent'}, button, select);
}

function draw(index) {
  const sentence = data.sentences[index], item = list.children[index];
  const box = item.querySelector('.tree');
  if (!hasHeads || !box.hasChildNodes()) {  // lists of heads remain, so that they keep the focus
    box.replaceChildren(...boxes(sentence, 0, sentence.words.length, hasHeads ? [] : sentence.spans));
  }
  box.querySelectorAll('select').forEach((select, k) => { select.value = sentence.heads[k]; });
  item.querySelector('input').checked = sentence.done;
  item.classList.toggle('current', index === current);
  const [start, end] = range();
  for (const button of box.querySelectorAll('.word')) {
    const position = Number(button.dataset.index);
    button.classList.toggle('selected', index === current && position >= start && position < end);
  }
  const done = data.sentences.filter(each => each.done).length;
  document.getElementById('count').textContent = `${done} of ${data.sentences.length} checked`;
  document.getElementById('save').disabled = !done;
}

function change(action) {
  const sentence = data.sentences[current];
  undo.push([current, JSON.stringify([sentence.spans, sentence.heads])]);
  action();
  store();
  draw(current);
}

function go(index) {
  const last = current;
  current = Math.max(0, Math.min(data.sentences.length - 1, index));
  anchor = cursor = 0;
  draw(last);
  draw(current);
  list.children[current].scrollIntoView({block: 'nearest'});
}

// What is wrong with heads that are no tree, or ''.
function problem(heads) {
  const roots = heads.filter(head => !head).length;
  if (roots !== 1) return `exactly one word has the head "root", not ${roots}`;
  const start = heads.findIndex((_, k) => {
    let word = k + 1;
    for (let step = 0; word && step < heads.length; step += 1) word = heads[word - 1];
    return word;
  });
  return start < 0 ? '' : `the heads above word ${start + 1} form a circle`;
}

// Mark a sentence as checked or not. Returns whether it is checked.
function mark(index, done) {
  const sentence = data.sentences[index], text = done && hasHeads ? problem(sentence.heads) : '';
  sentence.done = done && !text;
  store();
  draw(index);
  if (text) document.getElementById('count').textContent = `Not checked: ${text}.`;
  return sentence.done;
}

const actions = {
  group() {
    const [start, end] = range(), sentence = data.sentences[current];
    if (hasHeads || end - start < 2 || sentence.spans.some(span => span[0] === start && span[1] === end)) return;
    change(() => {
      const spans = sentence.spans.filter(span => !crosses(span, [start, end]));
      spans.push([start, end, data.label]);
      sentence.spans = spans.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
    });
  },
  ungroup() {
    const sentence = data.sentences[current];
    const inner = sentence.spans.filter(span => contains(span, range()) && span[1] - span[0] < sentence.words.length);
    if (hasHeads || !inner.length) return;
    change(() => { sentence.spans.splice(sentence.spans.indexOf(inner.pop()), 1); });
  },
  undo() {
    const state = undo.pop();
    if (!state) return;
    const sentence = data.sentences[state[0]];
    [sentence.spans, sentence.heads] = JSON.parse(state[1]);
    store();
    go(state[0]);
  },
  check() {
    if (mark(current, !data.sentences[current].done)) go(current + 1);
  },
  save() {
    const checked = data.sentences.filter(sentence => sentence.done);
    const text = checked.map(hasHeads ? conllu : brackets).join('');
    const link = element('a', {href: URL.createObjectURL(new Blob([text])), download: data.file});
    link.click();
    URL.revokeObjectURL(link.href);
  },
  next() { go(current + 1); },
  previous() { go(current - 1); },
  right(extend) { move(1, extend); },
  left(extend) { move(-1, extend); },
};

function move(step, extend) {
  if (getComputedStyle(list.children[current].querySelector('.tree')).direction === 'rtl') step = -step;
  cursor = Math.max(0, Math.min(data.sentences[current].words.length - 1, cursor + step));
  if (!extend) anchor = cursor;
  draw(current);
}

const escaped = form => form.replaceAll('(', '-LRB-').replaceAll(')', '-RRB-');

function brackets(sentence) {
  const opened = sentence.words.map(() => ''), closed = sentence.words.map(() => '');
  for (const [start, end, label] of sentence.spans) {
    opened[start] += `(${label} `;
    closed[end - 1] += ')';
  }
  return sentence.words.map((form, k) => `${opened[k]}(W ${escaped(form)})${closed[k]}`).join(' ') + '\n';
}

function conllu(sentence) {
  const rows = sentence.words.map((form, k) => {
    const head = sentence.heads[k];
    return [k + 1, form, '_', '_', '_', '_', head, head ? 'dep' : 'root', '_', '_'].join('\t');
  });
  return `# text = ${sentence.words.join(' ')}\n${rows.join('\n')}\n\n`;
}

const KEYS = {g: 'group', u: 'ungroup', z: 'undo', Enter: 'check', ArrowDown: 'next', ArrowUp: 'previous',
  ArrowRight: 'right', ArrowLeft: 'left'};

document.addEventListener('keydown', event => {
  const name = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!name || event.ctrlKey || event.metaKey || event.altKey || event.target.matches('select, input')) return;
  if (event.key === 'Enter' && event.target.closest('nav')) return;
  event.preventDefault();
  actions[name](event.shiftKey);
});

list.addEventListener('pointerdown', event => {
  const item = event.target.closest('li'), button = event.target.closest('.word');
  if (!item) return;
  const index = [...list.children].indexOf(item);
  if (index !== current) go(index);
  if (!button) return;
  cursor = Number(button.dataset.index);
  if (!event.shiftKey) anchor = cursor;
  draw(current);
  event.preventDefault();
});
list.addEventListener('pointerover', event => {
  const button = event.target.closest('.current .word');
  if (!button || !event.buttons) return;
  cursor = Number(button.dataset.index);
  draw(current);
});
for (const button of document.querySelectorAll('nav button')) {
  button.addEventListener('click', () => actions[button.id]());
}

data.sentences.forEach((sentence, index) => {
  const box = element('input', {type: 'checkbox', ariaLabel: `Sentence ${index + 1} is correct`});
  box.addEventListener('change', () => { go(index); mark(index, box.checked); });
  const label = element('label', {}, box, ` ${index + 1}`);
  list.append(element('li', {}, label, element('div', {className: 'tree', dir: 'auto'})));
});
data.sentences.forEach((_, index) => draw(index));
