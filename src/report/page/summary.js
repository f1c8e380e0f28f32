/* summary.js - what a run amounts to: totals, copies, findings, what cuts the graph, the other runs. */

function runTitle(head) {
  return ['run ' + head.index, head.graph, head.params, head.reserve ? 'reserve' : ''].filter((part) => part !== '')
    .join('  ');
}

function reallocationWords(head) {
  if (head.replanned === undefined && head.reason === undefined) { return ''; }
  if (head.reserve) { return 'reserve'; }
  if (!head.replanned) { return 'not reallocated'; }
  return 'reallocated' + (head.unexpected ? ' unexpectedly' : '') + (head.reason ? ': ' + head.reason : '');
}

/* ---- totals ---------------------------------------------------------------------------------------------------- */

const size = (n) => (n > 0 ? bytes(n) : '-');

function facts(run) {
  const r = run.report;
  const n = (r.findings || []).length;
  const list = [[String(r.n_splits), r.n_splits === 1 ? 'split' : 'splits', 'splits'],
    [String(r.n_nodes), 'nodes' + (run.graph.views > 0 ? ', ' + count(run.graph.views, 'view') : ''), 'nodes'],
    [bytes(run.graph.copied), 'copied per evaluation', 'copied'],
    [String(n), n === 1 ? 'finding' : 'findings', 'findings']];
  if (r.n_copies > 1) { list.push([r.copy + ' of ' + r.n_copies, 'pipeline copy', 'copy']); }
  if (r.estimate !== undefined) {
    const batches = r.estimate.batch_end.length;
    list.push([time(r.estimate.total), 'estimated' + (batches > 1 ? ' for ' + batches + ' batches' : ''), 'estimate']);
  }
  return el('dl.facts', null, list.map(([value, noun, key]) => el('div', { 'data-fact': key },
    el('dt', null, noun), el('dd', null, value))));
}

function backendsTable(run) {
  const columns = [['backend'], ['nodes', 'number'], ['splits', 'number'], ['weights', 'number'],
    ['compute buffer', 'number'], ['copied in', 'number']];
  return table('By backend', columns, run.graph.totals.map((t) => [chipOf(t.backend), String(t.nodes),
    String(t.splits), size(t.weights), size(t.compute), size(t.copied_in)]));
}

function largest(run, pair) {
  let best = null;
  for (const c of run.report.copies) {
    if (c.from === pair.from && c.to === pair.to && (best === null || c.bytes > best.bytes)) { best = c; }
  }
  return best === null ? ''
    : [tensorButton(run.graph.byId.get(best.id)), ' ' + bytes(best.bytes) + ' into ', splitLink(best.split)];
}

function copiesTable(run) {
  const columns = [['copied from'], ['to'], ['copies', 'number'], ['per evaluation', 'number'], ['largest']];
  const row = (p) => [chipOf(p.from), chipOf(p.to), String(p.copies), bytes(p.bytes), largest(run, p)];
  return run.report.copy_totals.length === 0 ? null
    : table('Copies by pair of backends', columns, run.report.copy_totals.map(row));
}

function summary(run) {
  const r = run.report;
  const words = reallocationWords(run.head);
  const error = r.error === undefined ? null
    : el('p.note.error', { role: 'alert' }, el('strong', null, r.status), '  ', r.error.message);
  if (r.n_splits === undefined) {
    return [error, el('p', null, 'Nothing was split: ' + count(r.n_nodes || 0, 'node') + '.')];
  }
  return [error, facts(run), words === '' || run.head.reserve ? null
    : el('p' + (r.unexpected ? '.warn' : ''), { id: 'replanned' }, 'Memory: ' + words + '.'),
  backendsTable(run), copiesTable(run)];
}

/* ---- findings -------------------------------------------------------------------------------------------------- */

function tensorsOf(run, f) {
  const known = (f.tensors || []).map((id) => [id, tensorCalled(run.graph, id)]);
  if (known.length === 0) { return null; }
  const list = el('p.tensors');
  const make = (i) => el('span', null, known[i][1] ? tensorButton(known[i][1]) : nameOf(known[i][0]), ' ');
  inParts(list, known.length, 12, make, 'tensor');
  return list;
}

function finding(run, f) {
  const costs = [f.splits > 0 ? count(f.splits, 'split') : '', f.bytes > 0 ? bytes(f.bytes) : ''];
  return el('li.' + f.severity, { 'data-kind': f.kind },
    el('p', null, el('strong', null, f.severity + ': ' + f.kind),
      costs.map((cost) => (cost === '' ? '' : '  ' + cost))),
    el('p.message', null, f.message), f.hint ? el('p.hint', null, el('em', null, 'try: '), f.hint) : null,
    tensorsOf(run, f));
}

function findings(run) {
  const list = run.report.findings || [];
  if (list.length === 0) { return [el('p', null, 'Nothing is remarkable.')]; }
  const box = el('ul.findings');
  inParts(box, list.length, 8, (i) => finding(run, list[i]), 'finding');
  return [box];
}

/* ---- what cuts the graph --------------------------------------------------------------------------------------- */

/* Layers differ by numbers: without them equal ones are alike. */
const withoutNumbers = (text) => text.replace(/\d+/g, '#');

/* The node that a split is about: its first that computes something. */
function headOf(run, split) {
  for (let n = split.start; n < split.end; n++) {
    const t = run.graph.tensors[run.graph.nodes[n]];
    if (!isView(t)) { return t; }
  }
  return run.graph.tensors[run.graph.nodes[split.start]];
}

function kinds(run) {
  const found = new Map();
  run.report.splits.forEach((split, i) => {
    const t = headOf(run, split);
    const words = run.graph.split_words[i] !== '' ? run.graph.split_words[i] : t.words;
    const key = [split.backend, t.op, t.cause, withoutNumbers(words)].join('\n');
    if (!found.has(key)) {
      found.set(key, { first: i, n: 0, nodes: 0, bytes: 0, head: t, backend: split.backend, words });
    }
    const kind = found.get(key);
    kind.n++;
    kind.nodes += split.end - split.start;
    kind.bytes += split.input_bytes;
  });
  return Array.from(found.values()).sort((a, b) => b.n - a.n || a.first - b.first);
}

function cuts(run) {
  const columns = [['splits', 'number'], ['on'], ['begin with'], ['cause'], ['because'], ['nodes', 'number'],
    ['copied in', 'number'], ['first']];
  const row = (k) => [String(k.n), chipOf(k.backend), k.head.op, k.head.cause, k.words, String(k.nodes),
    size(k.bytes), splitLink(k.first)];
  return [el('p', null, 'Splits of a kind together: the op that each begins with, and why that op is where it is.'),
    table('Kinds of splits', columns, kinds(run).map(row))];
}

/* ---- the runs side by side ------------------------------------------------------------------------------------- */

/* Tensors that are elsewhere in another run. */
function moved(run, other) {
  return run.graph.tensors.map((t) => [t, other.graph.byId.get(t.id)])
    .filter(([t, o]) => o !== undefined && (o.on !== t.on || o.cause !== t.cause));
}

function movedRow([t, o]) {
  return el('tr', null, el('td', null, tensorButton(t)), el('td', null, t.op),
    el('td', null, chip(t.on), ' ' + t.cause), el('td', null, chip(o.on), ' ' + o.cause), el('td', null, o.words));
}

/* Compared when it is opened. */
function comparison(run, other) {
  const details = el('details', null, el('summary', null, 'What is elsewhere in ' + runTitle(other.head)));
  let filled = false;
  details.addEventListener('toggle', () => {
    if (filled) { return; }
    filled = true;
    const list = moved(run, other);
    if (list.length === 0) {
      details.append(el('p', null, 'Every tensor that both have is where it is here, for the same cause.'));
      return;
    }
    const body = el('tbody');
    inParts(body, list.length, 60, (i) => movedRow(list[i]), 'tensor');
    const heads = ['tensor', 'op', 'here', 'there', 'because'].map((head) => el('th', { scope: 'col' }, head));
    const caption = el('caption.unseen', null, 'Tensors that are elsewhere');
    details.append(el('p', null, count(list.length, 'tensor') + ':'), el('div.scroll', null,
      el('table', null, caption, el('thead', null, el('tr', null, heads)), body)));
  });
  return details;
}

function allRuns(run) {
  const columns = [['run'], ['status'], ['splits', 'number'], ['copied', 'number'], ['findings', 'number'], ['memory']];
  const rows = runs.map((other) => {
    const head = other.head;
    return [el('a', { href: '#run=' + head.index, 'aria-current': other === run ? 'true' : null }, runTitle(head)),
      head.status, head.splits === undefined ? '-' : String(head.splits),
      head.copied === undefined ? '-' : size(head.copied), String(head.findings), reallocationWords(head)];
  });
  return [table('All runs', columns, rows),
    runs.filter((other) => other !== run).map((other) => comparison(run, other))];
}
