/* reallocation.js - why memory was planned again, or not: of a run, and of all runs together. */

function grownRow(b) {
  const peak = b.peak_at === undefined ? ''
    : [bytes(b.peak) + ' at ', nameOf(b.peak_at),
      ': ' + b.owners.map((o) => o.tensor + ' ' + bytes(o.size)).join(', ')];
  return [chipOf(b.backend), nameOf(b.buffer_type), bytes(b.before) + ' -> ' + bytes(b.after),
    b.grew ? 'grew' : '', peak];
}

function differenceLines(d) {
  const signs = { old: '-', new: '+', both: ' ' };
  const line = (l) => {
    const place = l.source !== undefined ? '  src ' + l.source : String(l.position === undefined ? '' : l.position);
    const words = [l.op, l.name, l.shape, l.bytes > 0 ? bytes(l.bytes) : '-', l.backend].map(shown).join('  ');
    return el('div.' + l.side, null, signs[l.side] + ' ' + place.padStart(7) + '  ' + words);
  };
  return [el('h3', null, 'Around the first that does not fit, run ' + d.with_run + ' (-) and now (+)'),
    el('div.listing', { tabindex: 0, role: 'region', 'aria-label': 'Difference' }, d.lines.map(line))];
}

function keptAlthough(r) {
  return r.kept_although === undefined ? null : [el('h3', null, 'Kept, although the graph is another'),
    el('ul', null, r.kept_although.map((k) => el('li', null, k.text))),
    r.harmful ? el('p.note.error', null, 'Values will be wrong.') : null];
}

function storyOfMemory() {
  if (memoryOfRuns === undefined) { return null; }
  const columns = [['run', 'number'], ['graph'], ['reallocated'], ['reason']];
  const word = (row) => (row.unexpected ? 'unexpected' : row.reallocated ? 'yes' : row.replanned ? 'planned' : 'no');
  return [el('h3', null, 'All runs'), memoryOfRuns.message ? el('p', null, memoryOfRuns.message) : null,
    memoryOfRuns.hint ? el('p.hint', null, el('em', null, 'try: '), memoryOfRuns.hint) : null,
    table('Memory over the runs', columns,
      memoryOfRuns.runs.map((row) => [String(row.run), row.topology || '', word(row), row.reason || '']))];
}

function reallocation(run) {
  const r = run.report.reallocation;
  if (r === undefined) { return storyOfMemory(); }
  const kept = 'The plan' + (r.plan_of !== undefined ? ' of run ' + r.plan_of : '') + ' was kept.';
  const columns = [['backend'], ['buffer type'], ['before and after'], [''], ['its peak']];
  return [el('p', null, r.replanned ? 'Planned' + (r.reason ? ': ' + r.reason : '') + '.' : kept),
    r.expectation ? el('p', null, r.expectation) : null,
    r.buffers.length > 0 ? table('Buffers', columns, r.buffers.map(grownRow)) : null,
    r.difference !== undefined ? differenceLines(r.difference) : null, keptAlthough(r),
    r.hint ? el('p.hint', null, el('em', null, 'try: '), r.hint) : null, storyOfMemory()];
}
