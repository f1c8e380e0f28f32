/* node.js - one tensor: where it is and why, pass by pass, why not elsewhere, in the words of --explain. */

const PASSES = ['user assignments', 'pass 1', 'pass 2 (gpu down)', 'pass 2 (gpu up)', 'pass 2 (rest down)',
  'pass 2 (rest up)', 'pass 3', 'pass 4'];
let chosen = null;  /* the tensor that stays in the panel; what is pointed at covers it for a while */
let visible = null;

/* ---- its way through the passes: a step is [pass, outcome, to, cause, because, text] --------------------------- */

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
  const row = ([name, step]) => el('tr' + (step[1] === 'set' || step[1] === 'noted' ? '.did' : ''),
    { 'data-outcome': step[1] }, el('th', { scope: 'row' }, name), el('td', null, outcome(g, step)),
    el('td', null, g.text(step[5])));
  return [el('h3', null, 'Pass by pass'), el('table.history', null, el('caption.unseen', null, 'What each pass did'),
    el('tbody', null, passLines(t.steps).map(row)))];
}

/* ---- its surroundings ------------------------------------------------------------------------------------------ */

function sourceRow(run, t, j) {
  const s = t.src[j] >= 0 ? run.graph.tensors[t.src[j]] : null;
  if (s === null) { return el('li', null, '-'); }
  return el('li', null, tensorButton(s), '  ' + s.shape + '  ' + bytes(s.bytes) + '  on ', chip(s.on), ' ' + s.cause,
    s.buffer !== '' ? [', in ', nameOf(s.buffer), s.weights ? ' (weights)' : ''] : '',
    (t.copied || []).includes(j) ? ', copied' : '');
}

function sources(run, t) {
  return t.src.length === 0 ? null
    : [el('h3', null, 'Sources'), el('ol.sources', { start: 0 }, t.src.map((s, j) => sourceRow(run, t, j)))];
}

function users(run, t) {
  if (t.users.length === 0) { return null; }
  const list = el('p.tensors');
  const make = (i) => el('span', null, tensorButton(run.graph.tensors[t.users[i]]), ' ');
  inParts(list, t.users.length, 12, make, 'tensor');
  return [el('h3', null, 'Read by'), list];
}

/* The texts begin with the backend's name where it is their subject: the chip says it. */
function whyNot(run, t) {
  const list = t.why_not || [];
  const row = ([b, , text]) => {
    const words = run.graph.text(text);
    const name = backendName(b) + ' ';
    return el('li', null, chip(b), ' ' + (words.startsWith(name) ? words.slice(name.length) : words));
  };
  return list.length === 0 ? null
    : [el('h3', null, t.on >= 0 ? 'Why not elsewhere' : 'Why nowhere'), el('ul.why-not', null, list.map(row))];
}

function hints(run, t) {
  return t.hints === undefined ? null
    : [el('h3', null, 'What to try'), el('ul.hints', null, t.hints.map((h) => el('li', null, run.graph.text(h))))];
}

function splitLine(run, t) {
  if (t.split < 0 || run.report.splits === undefined) { return null; }
  const s = run.report.splits[t.split];
  return el('p', null, 'In ', splitLink(t.split), ' of ' + run.report.n_splits + ', ' + count(s.end - s.start, 'node') +
    ', which copies in ' + (s.input_bytes > 0 ? bytes(s.input_bytes) + ' per evaluation.' : 'nothing.'));
}

/* Where it lies, and how long. */
function placeLine(run, t) {
  const address = Object.hasOwn(run.report.address || {}, t.id) ? run.report.address[t.id] : undefined;
  const buffers = (run.report.memory || { buffers: [] }).buffers;
  const block = buffers.flatMap((b) => b.tensors.filter((block) => block.id === t.id))[0];
  const lies = address !== undefined ? 'In ' + address[0] + ' at offset ' + address[1]
    : t.buffer !== '' ? 'In ' + t.buffer + (t.weights ? ' (weights)' : '') : null;
  if (lies === null) { return null; }
  return el('p', null, lies, block !== undefined ? ', ' + lifeWords(block) : '', '.');
}

/* ---- the panel ------------------------------------------------------------------------------------------------- */

function explanation(run, t) {
  return [
    el('div.detail-head', null,
      el('h2', { id: 'detail-title' }, t.node !== undefined ? 'node ' + t.node + ' ' : 'leaf ', nameOf(shownName(t))),
      el('button.close', { type: 'button', 'aria-label': 'Close', onclick: closePanel }, '\u00d7')),
    el('p', null, t.on >= 0 ? ['is on ', chip(t.on), ' '] : 'is on no backend ',
      t.cause !== '' ? el('strong', null, t.cause) : null, t.words !== '' ? '  ' + t.words : ''),
    el('p.small', null, (t.op !== '' ? t.op : 'leaf') + '  ' + t.shape + '  ' + bytes(t.bytes),
      t.name !== t.id ? ['  id ', nameOf(t.id)] : null),
    splitLine(run, t), placeLine(run, t),
    t.findings.slice(0, 4).map((f) => el('p.note.' + f.severity, null, el('strong', null, f.kind), '  ', f.message)),
    history(run, t), whyNot(run, t), hints(run, t), sources(run, t), users(run, t)];
}

function showPanel(run, t) {
  const panel = byId('detail');
  if (visible === t && !panel.hidden) { return; }
  visible = t;
  panel.hidden = false;
  document.body.classList.add('with-detail');
  panel.replaceChildren();
  add(panel, explanation(run, t));
  panel.scrollTop = 0;
}

function hidePanel() {
  chosen = null;
  visible = null;
  byId('detail').hidden = true;
  document.body.classList.remove('with-detail');
}

function closePanel() {
  const last = chosen;
  hidePanel();
  markChosen();
  const back = last !== null ? reachNode(last) : null;
  (back !== null ? back : byId('report')).focus({ preventScroll: true });
}

function markChosen() {
  document.querySelectorAll('tr.chosen').forEach((row) => row.classList.remove('chosen'));
  const row = chosen !== null && chosen.node !== undefined
    ? document.querySelector('tr[data-node="' + chosen.node + '"]') : null;
  if (row !== null) { row.classList.add('chosen'); }
}

/* Chooses a tensor; go: moves to its row as well, or to the panel where it has none. */
function choose(run, t, go) {
  const button = go ? reachNode(t) : null;
  chosen = t;
  showPanel(run, t);
  if (button !== null) {
    button.focus({ preventScroll: true });
    button.scrollIntoView({ block: 'center' });
  } else if (go) {
    byId('detail').focus();
  }
  markChosen();
  say(shownName(t) + ' is on ' + backendName(t.on) + ' ' + t.cause + ' ' + t.words);
}
