/* splits.js - the graph split by split: inputs, nodes, causes.  Splits that repeat are folded. */

const SMALL = 1200;  /* nodes up to which everything is there at once */
const PART = 120;    /* beyond, nodes of a split that are shown at first */
let splitViews = []; /* of the run that is shown: how to reach a split, a node */

/* A tensor to choose; inner: among others, of which one is a stop of the tab key. */
const tensorButton = (t, inner) => el('button.tensor', { type: 'button', 'data-tensor': t.index,
  tabindex: inner ? -1 : null }, nameOf(shownName(t)));
const splitLink = (i) => el('a.split-link', { href: '#split=' + i, 'data-to-split': i }, 'split ' + i);

/* ---- repetitions ----------------------------------------------------------------------------------------------- */

function signature(run, i) {
  const s = run.report.splits[i];
  const t = headOf(run, s);
  return [s.backend, s.end - s.start, s.inputs.length, s.input_bytes, t.op, t.cause, withoutNumbers(t.words)]
    .join('\n');
}

function sameAt(list, a, b, n) {
  for (let k = 0; k < n; k++) {
    if (list[a + k] !== list[b + k]) { return false; }
  }
  return true;
}

/* Where a pattern of at most 24 splits comes three times or more in a row; all others alone. */
function repeats(signatures) {
  const groups = [];
  for (let i = 0; i < signatures.length;) {
    let best = { first: i, period: 1, times: 1 };
    for (let period = 1; period <= 24; period++) {
      let times = 1;
      while (i + (times + 1) * period <= signatures.length &&
             sameAt(signatures, i, i + times * period, period)) { times++; }
      if (times >= 3 && times * period > best.times * best.period) { best = { first: i, period, times }; }
    }
    groups.push(best);
    i += best.period * best.times;
  }
  return groups;
}

/* ---- a split --------------------------------------------------------------------------------------------------- */

function inputList(run, s) {
  const inputs = s.input_ids.map((id) => {
    const t = run.graph.byId.get(id);
    return el('span', { 'data-input': id }, tensorButton(t), ' ' + bytes(t.bytes) + ' from ', chip(t.on));
  });
  return el('p.inputs', null, inputs.length > 0 ? [el('span', null, 'inputs'), inputs] : 'no inputs');
}

function nodeRow(run, at) {
  const t = run.graph.tensors[run.graph.nodes[at]];
  const marks = t.findings.slice(0, 4).map((f) => el('span.mark.' + f.severity, { title: shown(f.message) }, f.kind));
  return el('tr' + (isView(t) ? '.is-view' : ''), { 'data-node': at, 'data-id': t.id },
    el('td.number', null, String(at)), el('td', null, t.op), el('td', null, tensorButton(t, true)),
    el('td.shape', null, t.shape), el('td.number', null, bytes(t.bytes)),
    el('td', null, chip(t.on)), el('td.cause', null, t.cause),
    el('td.words', null, marks, t.words));
}

function nodesTable(i, body) {
  const heads = [['node', 'number'], ['op'], ['name'], ['type and shape'], ['bytes', 'number'], ['on'], ['cause'],
    ['because']];
  return el('div.scroll', null, el('table.nodes', null, el('caption.unseen', null, 'Nodes of split ' + i),
    el('thead', null, el('tr', null, heads.map(([head, c]) => tableCell('th', c, head, { scope: 'col' })))), body));
}

function splitView(run, i) {
  const s = run.report.splits[i];
  const n = s.end - s.start;
  const body = el('tbody');
  const part = run.report.n_nodes > SMALL ? PART : n;
  const reach = inParts(body, n, part, (k) => nodeRow(run, s.start + k), 'node');
  const words = run.graph.split_words[i];
  const title = el('h3', { id: 'split-title-' + i, tabindex: -1 }, 'split ' + i + ' ', chipOf(s.backend),
    ' nodes ' + s.start + '-' + (s.end - 1), words !== '' ? el('span.why', null, ' ' + words) : null);
  const view = el('section.split.' + hueOf(s.backend), { id: 'split-' + i, 'data-split': i, 'data-backend': s.backend,
    'data-start': s.start, 'data-end': s.end, 'aria-labelledby': title.id },
  title, inputList(run, s), nodesTable(i, body));
  splitViews[i] = { view, reach: (at) => reach(at - s.start) };
  return view;
}

/* ---- all of them ----------------------------------------------------------------------------------------------- */

/* The repetitions of a pattern, made when they are first opened. */
function fold(run, group) {
  const begin = group.first + group.period;
  const end = group.first + group.period * group.times;
  const again = group.period > 1 ? 'the same ' + group.period + ' again, ' + count(group.times - 1, 'time')
    : count(group.times - 1, 'more split') + ' of the same kind';
  const details = el('details.fold', null, el('summary', null, 'splits ' + begin + '-' + (end - 1) + ': ' + again));
  let reach = null;
  const fill = () => {
    if (reach !== null) { return; }
    const box = el('div');
    reach = inParts(box, end - begin, 40, (k) => splitView(run, begin + k), 'split');
    details.append(box);
  };
  details.addEventListener('toggle', () => { if (details.open) { fill(); } });
  for (let i = begin; i < end; i++) {
    splitViews[i] = { view: null, open: () => { fill(); reach(i - begin); } };
  }
  return details;
}

function groupView(run, group) {
  const parts = el('div');
  for (let i = group.first; i < group.first + group.period; i++) { parts.append(splitView(run, i)); }
  if (group.times > 1) { parts.append(fold(run, group)); }
  return parts;
}

function splits(run) {
  splitViews = [];
  const box = el('div.splits');
  const groups = repeats(run.report.splits.map((s, i) => signature(run, i)));
  const reach = inParts(box, groups.length, 60, (k) => groupView(run, groups[k]), 'group of splits');
  groups.forEach((group, k) => {
    for (let i = group.first; i < group.first + group.period * group.times; i++) {
      if (splitViews[i] === undefined) { splitViews[i] = { view: null, open: () => reach(k) }; }
    }
  });
  roving(box, 'table.nodes button.tensor', ['ArrowUp', 'ArrowDown']);
  return box;
}

/* Opens what hides a split: a part that is not shown yet, then a fold.  Gives the element that shows it. */
function reachSplit(i) {
  for (let tries = 0; splitViews[i] !== undefined && splitViews[i].view === null && tries < 3; tries++) {
    splitViews[i].open();
  }
  const view = splitViews[i] === undefined ? null : splitViews[i].view;
  const folded = view !== null ? view.closest('details.fold') : null;
  if (folded !== null) { folded.open = true; }
  return view;
}

function goToSplit(i) {
  const view = reachSplit(i);
  if (view !== null) {
    view.scrollIntoView({ block: 'start' });
    byId('split-title-' + i).focus({ preventScroll: true });
  }
}

/* The button of a node in its split, or null for what no split computes. */
function reachNode(t) {
  const view = t.split >= 0 ? reachSplit(t.split) : null;
  if (view === null) { return null; }
  splitViews[t.split].reach(t.node);
  return view.querySelector('tr[data-node="' + t.node + '"] button.tensor');
}
