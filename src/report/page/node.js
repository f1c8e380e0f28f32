/* node.js - one tensor: where it is and why, its way through the passes, why not elsewhere, in the words of --explain. */

const PASSES = ['user assignments', 'pass 1', 'pass 2 (gpu down)', 'pass 2 (gpu up)', 'pass 2 (rest down)', 'pass 2 (rest up)', 'pass 3', 'pass 4'];
let chosen = null; /* the tensor that stays in the panel; what is pointed at covers it for a while */
let visible = null;

function outcome(g, [pass, kind, to, cause]) {
  switch (kind) {
    case 'set': return [chip(to), ' ' + g.text(cause)];
    case 'noted': return 'none ' + g.text(cause);
    case 'kept': return 'stays';
    case 'left': return pass === 0 ? 'none' : 'none yet';
    default: return '-';
  }
}

/* The sweeps of pass 2 are one line where they found the same. */
function passLines(steps) {
  const alike = (a, b) => a[1] === b[1] && a[5] === b[5] && ['kept', 'passed', 'not_reached'].includes(a[1]);
  const list = [];
  for (let i = 0; i < steps.length; i++) {
    if (steps[i][0] === 2 && i + 3 < steps.length && [1, 2, 3].every((k) => alike(steps[i], steps[i + k]))) {
      list.push(['pass 2 (all sweeps)', steps[i]]);
      i += 3;
    } else {
      list.push([PASSES[steps[i][0]], steps[i]]);
    }
  }
  return list;
}

function history(run, t) {
  const g = run.graph;
  if (t.steps === undefined) { return null; }
  return [el('h3', null, 'Pass by pass'), el('table.history', null, el('caption.unseen', null, 'What each pass did'),
    el('tbody', null, passLines(t.steps).map(([name, step]) => el('tr' + (step[1] === 'set' || step[1] === 'noted' ? '.did' : ''), { 'data-outcome': step[1] },
      el('th', { scope: 'row' }, name), el('td', null, outcome(g, step)), el('td', null, g.text(step[5]))))))];
}

function sourceRow(run, t, j) {
  const s = t.src[j] >= 0 ? run.graph.tensors[t.src[j]] : null;
  if (s === null) { return el('li', null, '-'); }
  return el('li', null, tensorButton(s), '  ' + s.shape + '  ' + bytes(s.bytes) + '  on ', chip(s.on), ' ' + s.cause,
    s.buffer !== '' ? [', in ', nameOf(s.buffer), s.weights ? ' (weights)' : ''] : '', (t.copied || []).includes(j) ? ', copied' : '');
}

function whyNot(run, t) {
  const list = t.why_not || [];
  if (list.length === 0) { return null; }
  return [el('h3', null, t.on >= 0 ? 'Why not elsewhere' : 'Why nowhere'), el('ul.why-not', null, list.map(([b, , text]) => {
    const words = run.graph.text(text);
    const name = backendName(b);
    return el('li', null, chip(b), ' ' + (words.startsWith(name + ' ') ? words.slice(name.length + 1) : words));
  }))];
}

function splitLine(run, t) {
  const r = run.report;
  if (t.split < 0 || r.splits === undefined) { return null; }
  const s = r.splits[t.split];
  return el('p', null, 'In ', splitLink(t.split), ' of ' + r.n_splits + ', ' + count(s.end - s.start, 'node') + ', which copies in ' +
    (s.input_bytes > 0 ? bytes(s.input_bytes) + ' per evaluation.' : 'nothing.'));
}

/* Where it lies, and how long. */
function placeLine(run, t) {
  const address = (run.report.address || {})[t.id];
  const life = lifeOf(run, t);
  const lies = address !== undefined ? 'In ' + address[0] + ' at offset ' + address[1] : t.buffer !== '' ? 'In ' + t.buffer + (t.weights ? ' (weights)' : '') : null;
  return lies === null ? null : el('p', null, lies + (life !== null ? ', ' + life : '') + '.');
}

function lifeOf(run, t) {
  for (const buffer of (run.report.memory || { buffers: [] }).buffers) {
    const block = buffer.tensors.find((b) => b.id === t.id);
    if (block !== undefined) {
      return 'from ' + (block.from === null ? 'the start' : block.from) + ' to ' + (block.to === null ? 'the end' : block.to) +
        (block.in_place_of !== undefined ? ', in place of ' + block.in_place_of : '');
    }
  }
  return null;
}

function explanation(run, t) {
  const users = t.users.map((i) => run.graph.tensors[i]);
  const usersList = el('p.tensors');
  const more = users.length > 0 ? inParts(usersList, users.length, 12, (i) => el('span', null, tensorButton(users[i]), ' '), 'tensor').more : null;
  return [
    el('div.detail-head', null, el('h2', { id: 'detail-title' }, (t.node !== undefined ? 'node ' + t.node + ' ' : 'leaf '), nameOf(shownName(t))),
      el('button.close', { type: 'button', 'aria-label': 'Close', onclick: closePanel }, '\u00d7')),
    el('p', null, t.on >= 0 ? ['is on ', chip(t.on), ' '] : 'is on no backend ', t.cause !== '' ? el('strong', null, t.cause) : null,
      t.words !== '' ? '  ' + t.words : ''),
    el('p.small', null, (t.op !== '' ? t.op : 'leaf') + '  ' + t.shape + '  ' + bytes(t.bytes) + (t.name !== t.id ? '  id ' + shown(t.id) : '')),
    splitLine(run, t), placeLine(run, t),
    t.findings.map((f) => el('p.note.' + f.severity, null, el('strong', null, f.kind), '  ', f.message)),
    history(run, t), whyNot(run, t),
    (t.hints || []).length > 0 ? [el('h3', null, 'What to try'), el('ul', null, t.hints.map((h) => el('li', null, run.graph.text(h))))] : null,
    t.src.length > 0 ? [el('h3', null, 'Sources'), el('ol.sources', { start: 0 }, t.src.map((s, j) => sourceRow(run, t, j)))] : null,
    users.length > 0 ? [el('h3', null, 'Read by'), usersList, more] : null];
}

function showPanel(run, t) {
  const panel = byId('detail');
  if (visible === t && !panel.hidden) { return; }
  visible = t;
  panel.hidden = false;
  document.body.classList.add('with-detail');
  panel.replaceChildren();
  add(panel, [explanation(run, t)]);
  panel.scrollTop = 0;
}

function closePanel() {
  const last = chosen;
  chosen = null;
  visible = null;
  byId('detail').hidden = true;
  document.body.classList.remove('with-detail');
  const back = last !== null && reachNode(current, last);
  (back || byId('report')).focus({ preventScroll: true });
  markChosen();
}

function markChosen() {
  document.querySelectorAll('tr.chosen').forEach((row) => row.classList.remove('chosen'));
  if (chosen !== null && chosen.node !== undefined) {
    const row = document.querySelector('tr[data-node="' + chosen.node + '"]');
    if (row) { row.classList.add('chosen'); }
  }
}

/* Chooses a tensor; go: moves to its row as well, if it has one. */
function choose(run, t, go) {
  chosen = t;
  showPanel(run, t);
  if (go) {
    const button = reachNode(run, t);
    if (button) {
      button.focus({ preventScroll: true });
      button.scrollIntoView({ block: 'center' });
    } else {
      byId('detail').focus();
    }
  }
  markChosen();
  say(t.id + ' is on ' + backendName(t.on) + ' ' + t.cause + ' ' + t.words);
}
