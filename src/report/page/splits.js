/* splits.js - the graph split by split: inputs, nodes, causes.  Splits that repeat are folded, long ones come in parts. */

const SMALL = 1200;  /* nodes up to which everything is there at once */
const PART = 120;
let splitViews = []; /* of the run that is shown: how to reach a split, a node */

const tensorButton = (t) => el('button.tensor', { type: 'button', 'data-tensor': t.index }, nameOf(shownName(t)));
const splitLink = (i) => el('a.split-link', { href: '#split=' + i, 'data-to-split': i }, 'split ' + i);

function signature(run, i) {
  const s = run.report.splits[i];
  const t = headOf(run, s);
  return [s.backend, s.end - s.start, s.inputs.length, s.input_bytes, t.op, t.cause, withoutNumbers(t.words)].join('\n');
}

/* [first, period, times]: where a pattern of at most 8 splits comes three times or more in a row. */
function repeats(signatures) {
  const groups = [];
  for (let i = 0; i < signatures.length;) {
    let best = { period: 1, times: 1 };
    for (let period = 1; period <= 8; period++) {
      let times = 1;
      while (signatures[i + times * period + period - 1] !== undefined &&
             sameAt(signatures, i, i + times * period, period)) { times++; }
      if (times >= 3 && times * period > best.times * best.period) { best = { period, times }; }
    }
    groups.push({ first: i, period: best.period, times: best.times });
    i += best.period * best.times;
  }
  return groups;
}

function sameAt(list, a, b, n) {
  for (let k = 0; k < n; k++) {
    if (list[a + k] !== list[b + k]) { return false; }
  }
  return true;
}

/* ---- a split --------------------------------------------------------------------------------------------------- */

function inputList(run, s) {
  if (s.inputs.length === 0) { return el('p.inputs', null, 'no inputs'); }
  return el('p.inputs', null, 'inputs ', s.input_ids.map((id) => {
    const t = run.graph.byId.get(id);
    return el('span.input', { 'data-input': id }, tensorButton(t), ' ' + bytes(t.bytes) + ' from ', chip(t.on), ' ');
  }));
}

function nodeRow(run, at) {
  const t = run.graph.tensors[run.graph.nodes[at]];
  return el('tr' + (t.findings.length > 0 ? '.found' : '') + (isView(t) ? '.is-view' : ''), { 'data-node': at, 'data-id': t.id },
    el('td.number', null, String(at)), el('td', null, t.op), el('td', null, tensorButton(t)), el('td', null, t.shape),
    el('td.number', null, bytes(t.bytes)), el('td', null, chip(t.on)), el('td.cause', null, t.cause),
    el('td.words', null, t.findings.map((f) => el('span.mark.' + f.severity, { title: f.message }, f.kind)), t.words));
}

function splitView(run, i) {
  const s = run.report.splits[i];
  const body = el('tbody');
  const n = s.end - s.start;
  const list = inParts(body, n, run.report.n_nodes > SMALL ? PART : n, (k) => nodeRow(run, s.start + k), 'node');
  const words = run.graph.split_words[i];
  const view = el('section.split.' + hueOf(s.backend), { id: 'split-' + i, 'data-split': i, 'data-backend': s.backend, 'data-start': s.start,
    'data-end': s.end, 'aria-labelledby': 'split-title-' + i },
  el('h3', { id: 'split-title-' + i, tabindex: -1 }, 'split ' + i + ' ', chipOf(s.backend), ' nodes ' + s.start + '-' + (s.end - 1),
    words !== '' ? el('span.why', null, ' ' + words) : null),
  inputList(run, s),
  el('div.scroll', null, el('table.nodes', null, el('caption.unseen', null, 'Nodes of split ' + i),
    el('thead', null, el('tr', null, ['node', 'op', 'name', 'type and shape', 'bytes', 'on', 'cause', 'because'].map((h, k) =>
      el('th' + (k === 0 || k === 4 ? '.number' : ''), { scope: 'col' }, h)))), body)), list.more);
  splitViews[i] = { view, upTo: (at) => list.upTo(at - s.start) };
  return view;
}

/* ---- all of them ----------------------------------------------------------------------------------------------- */

/* The repetitions of a pattern, made when they are first opened. */
function fold(run, group) {
  const begin = group.first + group.period;
  const end = group.first + group.period * group.times;
  const details = el('details.fold', null, el('summary', null, group.period > 1
    ? 'splits ' + begin + '-' + (end - 1) + ': the same ' + group.period + ' again, ' + count(group.times - 1, 'time')
    : 'splits ' + begin + '-' + (end - 1) + ': ' + count(group.times - 1, 'more split') + ' of the same kind'));
  let filled = false;
  const fill = () => {
    if (filled) { return; }
    filled = true;
    for (let i = begin; i < end; i++) { details.append(splitView(run, i)); }
  };
  details.addEventListener('toggle', () => { if (details.open) { fill(); } });
  for (let i = begin; i < end; i++) {
    splitViews[i] = { view: null, open: () => { fill(); details.open = true; } };
  }
  return details;
}

function splits(run) {
  splitViews = [];
  const box = el('div.splits');
  const groups = repeats(run.report.splits.map((s, i) => signature(run, i)));
  const make = (k) => {
    const group = groups[k];
    const parts = el('div.group');
    const n = group.times >= 3 ? group.period : group.period * group.times;
    for (let i = group.first; i < group.first + n; i++) { parts.append(splitView(run, i)); }
    if (group.times >= 3) { parts.append(fold(run, group)); }
    return parts;
  };
  const list = inParts(box, groups.length, 60, make, 'group of splits');
  groups.forEach((group, k) => {
    for (let i = group.first; i < group.first + group.period * group.times; i++) {
      if (splitViews[i] === undefined) { splitViews[i] = { view: null, open: () => list.upTo(k) }; }
    }
  });
  roving(box, 'table.nodes button.tensor', ['ArrowUp', 'ArrowDown']);
  return [box, list.more];
}

/* Opens what hides a split; the element that shows it. */
function reachSplit(i) {
  for (let tries = 0; splitViews[i] !== undefined && splitViews[i].view === null && tries < 3; tries++) { splitViews[i].open(); }
  const fold = splitViews[i] && splitViews[i].view && splitViews[i].view.closest('details.fold');
  if (fold) { fold.open = true; }
  return splitViews[i] && splitViews[i].view;
}

function goToSplit(i) {
  const view = reachSplit(i);
  if (!view) { return; }
  view.scrollIntoView({ block: 'start' });
  const title = byId('split-title-' + i);
  title.focus({ preventScroll: true });
}

/* The button of a node in its split, or null for what no split computes. */
function reachNode(run, t) {
  const view = t.split >= 0 ? reachSplit(t.split) : null;
  if (!view) { return null; }
  splitViews[t.split].upTo(t.node);
  return view.querySelector('tr[data-node="' + t.node + '"] button.tensor');
}
