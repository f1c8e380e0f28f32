/* passes.js - the graph as every pass left it, to walk through; what a pass changed is marked and told. */

const MOST_CELLS = 4000;
const NAMED_CELLS = 60;

/* Backend by tensor after every pass, from the changes in the report. */
function states(run) {
  const now = run.graph.tensors.map(() => -1);
  return run.report.steps.map((step) => {
    const changed = new Map();
    for (const c of step.changes) {
      const t = run.graph.byId.get(c.id);
      now[t.index] = report.backends.indexOf(c.to);
      changed.set(t.index, c);
    }
    return { now: now.slice(), changed };
  });
}

function cells(run, state) {
  const nodes = run.graph.nodes.slice(0, MOST_CELLS);
  const cell = (index, at) => {
    const t = run.graph.tensors[index];
    const title = at + ' ' + t.op + ' ' + shownName(t) + ': ' + shown(backendName(state.now[index]));
    return el('span.cell.' + hue(state.now[index]) + (state.changed.has(index) ? '.changed' : ''),
      { 'data-tensor': index, title }, nodes.length <= NAMED_CELLS ? at + ' ' + shownName(t) : null);
  };
  return el('div.cells', { role: 'img', 'aria-label': 'The nodes after this pass' }, nodes.map(cell));
}

/* What the pass says of a tensor in its history. */
function stepText(run, t, pass) {
  const step = (t.steps || []).find((s) => s[0] === pass);
  return step !== undefined ? run.graph.text(step[5]) : '';
}

function changeRow(run, pass, index, change) {
  const t = run.graph.tensors[index];
  return el('tr', { 'data-id': t.id }, el('td.number', null, t.node !== undefined ? String(t.node) : 'leaf'),
    el('td', null, t.op), el('td', null, tensorButton(t, true)),
    el('td', null, change.from !== 'none' ? [chipOf(change.from), ' -> '] : null, chipOf(change.to)),
    el('td', null, change.cause), el('td.words', null, stepText(run, t, pass)));
}

/* Leafs first, then nodes in order. */
function changes(run, pass, state) {
  const place = ([index]) => (run.graph.tensors[index].node === undefined ? -1 : run.graph.tensors[index].node);
  const list = Array.from(state.changed).sort((a, b) => place(a) - place(b));
  if (list.length === 0) { return el('p', null, 'Nothing changes.'); }
  const body = el('tbody');
  inParts(body, list.length, 60, (i) => changeRow(run, pass, list[i][0], list[i][1]), 'change');
  const heads = ['node', 'op', 'name', 'to', 'cause', 'because'].map((head) => el('th', { scope: 'col' }, head));
  const view = el('div.scroll', null, el('table.changes', null, el('caption.unseen', null, 'What the pass changed'),
    el('thead', null, el('tr', null, heads)), body));
  roving(view, 'button.tensor', ['ArrowUp', 'ArrowDown']);
  return view;
}

function passes(run) {
  const steps = run.report.steps;
  if (steps === undefined) { return [el('p', null, 'The schedule failed before it assigned anything.')]; }
  const all = states(run);
  const stage = el('div', { id: 'pass-stage', role: 'tabpanel', tabindex: 0 });
  let at = -1;
  const show = (i) => {
    if (i === at) { return; }
    at = i;
    buttons.forEach((b, k) => b.setAttribute('aria-selected', String(k === i)));
    stage.setAttribute('aria-labelledby', 'pass-' + i);
    stage.replaceChildren(el('p', null, steps[i].text), cells(run, all[i]));
    add(stage, [changes(run, i, all[i])]);
  };
  const buttons = steps.map((s, i) => el('button', { type: 'button', role: 'tab', id: 'pass-' + i, tabindex: -1,
    'aria-controls': 'pass-stage', 'aria-selected': 'false', onclick: () => show(i), onfocus: () => show(i) },
  s.pass, el('span.small', null, ' ' + count(all[i].changed.size, 'change'))));
  const bar = el('div.tabs', { role: 'tablist', 'aria-label': 'Passes' }, buttons);
  roving(bar, 'button', ['ArrowLeft', 'ArrowRight']);
  show(Math.min(1, steps.length - 1));
  return [el('p', null, 'Choose a pass, or walk with the left and right keys. White: no backend yet. A heavy frame: ' +
    'changed by this pass. Pass 5 then cuts the list where the backend changes: those are the splits above.'),
  bar, stage];
}
