/* summary.js - what a run amounts to: totals, copies, findings, what cuts the graph, the other runs. */

function runTitle(run) {
  const r = run.report;
  return 'run ' + r.index + (r.graph !== '' ? '  ' + r.graph : '') + (run.graph.params !== '' ? '  ' + run.graph.params : '') +
    (r.reserve ? '  reserve' : '');
}

function reallocationWords(r) {
  const told = r.reallocation;
  if (told === undefined || r.reserve) { return null; }
  if (!told.replanned) { return 'not reallocated'; }
  return 'reallocated' + (r.unexpected ? ' unexpectedly' : '') + (told.reason ? ': ' + told.reason : '');
}

function errorNote(r) {
  return r.error === undefined ? null
    : el('p.note.error', { role: 'alert' }, el('strong', null, r.status), '  ', r.error.message);
}

function summary(run) {
  const r = run.report;
  const g = run.graph;
  const parts = [errorNote(r)];
  if (r.n_splits === undefined) {
    return [...parts, el('p', null, 'Nothing was split: ' + count(r.n_nodes || 0, 'node') + '.')];
  }
  const facts = [[String(r.n_splits), r.n_splits === 1 ? 'split' : 'splits'],
    [String(r.n_nodes), 'nodes' + (g.views > 0 ? ', ' + count(g.views, 'view') : '')],
    [bytes(g.copied), 'copied per evaluation'],
    [String((r.findings || []).length), (r.findings || []).length === 1 ? 'finding' : 'findings']];
  if (r.n_copies > 1) { facts.push([r.copy + ' of ' + r.n_copies, 'pipeline copy']); }
  parts.push(el('dl.facts', null, facts.map(([value, noun]) => el('div', null, el('dd', null, value), el('dt', null, noun)))));
  const memory = reallocationWords(r);
  if (memory !== null) { parts.push(el('p' + (r.unexpected ? '.warn' : ''), { id: 'replanned' }, 'Memory: ' + memory + '.')); }
  parts.push(table('By backend', [['backend'], ['nodes', 'number'], ['splits', 'number'], ['weights', 'number'],
    ['compute buffer', 'number'], ['copied in', 'number']], g.totals.map((t) => [chipOf(t.backend), String(t.nodes),
    String(t.splits), size(t.weights), size(t.compute), size(t.copied_in)])));
  if (r.copy_totals.length > 0) {
    parts.push(table('Copies by pair of backends', [['copied from'], ['to'], ['copies', 'number'], ['per evaluation', 'number'],
      ['largest']], r.copy_totals.map((p) => [chipOf(p.from), chipOf(p.to), String(p.copies), bytes(p.bytes), largest(run, p)])));
  }
  return parts;
}

const size = (n) => (n > 0 ? bytes(n) : '-');

function largest(run, pair) {
  let best = null;
  for (const c of run.report.copies) {
    if (c.from === pair.from && c.to === pair.to && (best === null || c.bytes > best.bytes)) { best = c; }
  }
  return best === null ? '' : [tensorButton(run.graph.byId.get(best.id)), ' ' + bytes(best.bytes) + ' into ', splitLink(best.split)];
}

/* ---- findings -------------------------------------------------------------------------------------------------- */

function findings(run) {
  const list = run.report.findings || [];
  if (list.length === 0) { return [el('p', null, 'Nothing is remarkable.')]; }
  return [el('ul.findings', null, list.map((f) => el('li.' + f.severity, { 'data-kind': f.kind },
    el('p', null, el('strong', null, f.severity + ': ' + f.kind),
      f.splits > 0 ? '  ' + count(f.splits, 'split') : '', f.bytes > 0 ? '  ' + bytes(f.bytes) : ''),
    el('p.message', null, f.message),
    f.hint ? el('p.hint', null, el('em', null, 'try: '), f.hint) : null,
    tensorsOf(run, f))))];
}

function tensorsOf(run, f) {
  const known = (f.tensors || []).map((id) => [id, tensorCalled(run.graph, id)]);
  if (known.length === 0) { return null; }
  const list = el('p.tensors');
  const make = (i) => el('span', null, known[i][1] ? tensorButton(known[i][1]) : nameOf(known[i][0]), ' ');
  const parts = inParts(list, known.length, 12, make, 'tensor');
  return [list, parts.more];
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
    const key = split.backend + '\n' + t.op + '\n' + t.cause + '\n' + withoutNumbers(words);
    if (!found.has(key)) { found.set(key, { first: i, n: 0, nodes: 0, bytes: 0, head: t, backend: split.backend, words }); }
    const kind = found.get(key);
    kind.n++;
    kind.nodes += split.end - split.start;
    kind.bytes += split.input_bytes;
  });
  return Array.from(found.values()).sort((a, b) => b.n - a.n || a.first - b.first);
}

function cuts(run) {
  const list = kinds(run);
  return [el('p', null, 'Splits of the same kind together: the op that each begins with, and why that op is where it is.'),
    table('Kinds of splits', [['splits', 'number'], ['on'], ['begin with'], ['cause'], ['because'], ['nodes', 'number'], ['copied in', 'number'],
      ['first']], list.map((k) => [String(k.n), chipOf(k.backend), k.head.op, k.head.cause, k.words, String(k.nodes),
      size(k.bytes), splitLink(k.first)]))];
}

/* ---- the runs side by side ------------------------------------------------------------------------------------- */

function difference(run, other) {
  let moved = [];
  run.graph.tensors.forEach((t) => {
    const o = other.graph.byId.get(t.id);
    if (o !== undefined && (o.on !== t.on)) { moved.push([t, o]); }
  });
  return moved;
}

function allRuns(run) {
  const rows = runs.map((r) => {
    const j = r.report;
    const link = el('a', { href: '#run=' + j.index, 'aria-current': r === run ? 'true' : null }, runTitle(r));
    const moved = r === run ? null : difference(r, run).length;
    return [link, j.status, j.n_splits === undefined ? '-' : String(j.n_splits), r.graph.copied === undefined ? '-' : bytes(r.graph.copied),
      reallocationWords(j) || (j.reserve ? 'reserve' : '-'), String((j.findings || []).length),
      moved === null ? 'this run' : moved === 0 ? 'none' : String(moved)];
  });
  const parts = [table('All runs', [['run'], ['status'], ['splits', 'number'], ['copied', 'number'], ['memory'], ['findings', 'number'],
    ['tensors elsewhere than in this run', 'number']], rows)];
  for (const other of runs) {
    const moved = other === run ? [] : difference(run, other);
    if (moved.length === 0) { continue; }
    const body = el('ul.moved');
    const list = inParts(body, moved.length, 40, (i) => el('li', null, tensorButton(moved[i][0]), ' ', chip(moved[i][1].on),
      ' ' + moved[i][1].cause + ' there, ', chip(moved[i][0].on), ' ' + moved[i][0].cause + ' here'), 'tensor');
    parts.push(el('details', null, el('summary', null, count(moved.length, 'tensor') + ' elsewhere in ' + runTitle(other)), body, list.more));
  }
  return parts;
}
