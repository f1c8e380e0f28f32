/* passes.js - the graph as every pass left it, to walk through; what a pass changed is marked and told. */

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

/* What the pass says of a tensor in its history. */
function stepText(run, t, pass) {
  const step = (t.steps || []).find((s) => s[0] === pass);
  return step !== undefined ? run.graph.text(step[5]) : '';
}

function passPicture(run, state) {
  const box = el('div.cells', { role: 'img', 'aria-label': state.changed.size + ' of ' + count(run.graph.tensors.length, 'tensor') + ' changed' });
  const n = Math.min(run.graph.nodes.length, 4000);
  for (let i = 0; i < n; i++) {
    const t = run.graph.tensors[run.graph.nodes[i]];
    box.append(el('span.cell.' + hue(state.now[t.index]) + (state.changed.has(t.index) ? '.changed' : ''), { 'data-tensor': t.index,
      title: i + ' ' + t.op + ' ' + shownName(t) + ': ' + backendName(state.now[t.index]) },
    n <= 60 ? i + ' ' + shownName(t) : null));
  }
  return box;
}

function passChanges(run, pass, state) {
  const list = Array.from(state.changed);
  const order = (i) => { const t = run.graph.tensors[i]; return t.node === undefined ? -1 : t.node; };
  list.sort((a, b) => order(a[0]) - order(b[0]));
  const body = el('ul.changes');
  const parts = inParts(body, list.length, 60, (i) => {
    const t = run.graph.tensors[list[i][0]];
    const c = list[i][1];
    return el('li', null, tensorButton(t), ' ' + (t.op !== '' ? t.op + ' ' : 'leaf '), c.from !== 'none' ? [chipOf(c.from), ' to '] : '', chipOf(c.to), ' ' + c.cause + '  ',
      stepText(run, t, pass));
  }, 'change');
  return list.length === 0 ? el('p', null, 'Nothing changes.') : [body, parts.more];
}

function passes(run) {
  const steps = run.report.steps;
  if (steps === undefined) { return [el('p', null, 'The schedule failed before it assigned anything.')]; }
  const all = states(run);
  const stage = el('div.stage', { 'aria-live': 'polite' });
  const buttons = steps.map((s, i) => el('button', { type: 'button', role: 'tab', id: 'pass-' + i, 'aria-controls': 'pass-stage', 'aria-selected': 'false', tabindex: -1,
    onclick: () => show(i), onfocus: () => show(i) }, s.pass, el('span.small', null, ' ' + count(all[i].changed.size, 'change'))));
  stage.id = 'pass-stage';
  stage.setAttribute('role', 'tabpanel');
  let at = -1;
  const show = (i) => {
    if (i === at) { return; }
    at = i;
    buttons.forEach((b, k) => b.setAttribute('aria-selected', String(k === i)));
    stage.setAttribute('aria-labelledby', 'pass-' + i);
    stage.replaceChildren(el('p', null, steps[i].text), passPicture(run, all[i]));
    add(stage, [passChanges(run, i, all[i])]);
  };
  const bar = el('div.tabs', { role: 'tablist', 'aria-label': 'Passes' }, buttons);
  roving(bar, 'button', ['ArrowLeft', 'ArrowRight']);
  show(Math.min(1, steps.length - 1));
  return [el('p', null, 'Choose a pass, or walk with the left and right keys. White: no backend yet. A heavy frame: changed by this pass. ' +
    'Pass 5 then cuts the list where the backend changes: those are the splits above.'), bar, stage];
}
