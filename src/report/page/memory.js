/* memory.js - the memory plan: address upwards, time to the right, a rectangle a tensor; and memory from run to run. */

const PLOT = { left: 74, width: 860, height: 230 };

function blockWords(b) {
  return b.tensor + '  ' + bytes(b.size) + ' at ' + b.offset + '  from ' + (b.from === null ? 'the start' : b.from) + ' to ' +
    (b.to === null ? 'the end' : b.to) + (b.in_place_of !== undefined ? '  in place of ' + b.in_place_of : '') + (b.copy ? '  copy' : '');
}

/* Positions of the plan count copies too; how many there are. */
const positions = (buffer) => buffer.tensors.reduce((n, b) => Math.max(n, b.last, b.first), 1) + 1;

function peakPosition(buffer) {
  if (buffer.peak_at === null) { return -1; }
  const block = buffer.tensors.find((b) => b.from === buffer.peak_at) || buffer.tensors.find((b) => b.to === buffer.peak_at);
  return block === undefined ? null : block.from === buffer.peak_at ? block.first : block.last;
}

function chunkPicture(buffer, c, n) {
  const chunk = buffer.chunks[c];
  const extent = Math.max(chunk.held, chunk.used);
  const blocks = buffer.tensors.filter((b) => b.chunk === c && b.size > 0);
  if (extent === 0 || blocks.length === 0) { return null; }
  const told = el('p.readout', null, 'Point at a rectangle, or walk through them with the arrow keys.');
  const x = (p) => PLOT.left + (Math.max(-1, Math.min(n, p)) + 1) * PLOT.width / (n + 1);
  const y = (a) => 8 + PLOT.height * (1 - a / extent);
  const svg = draw('svg.plot', { viewBox: `0 0 ${PLOT.left + PLOT.width + 8} ${PLOT.height + 30}`, role: 'group',
    'aria-label': 'Memory of ' + buffer.buffer_type + (buffer.chunks.length > 1 ? ', chunk ' + c : '') });
  svg.append(draw('rect.frame', { x: PLOT.left, y: 8, width: PLOT.width, height: PLOT.height }));
  for (let i = 0; i <= 4; i++) {
    svg.append(draw('text.axis', { x: PLOT.left - 6, y: y(extent * i / 4) + 4, 'text-anchor': 'end' }, bytes(Math.round(extent * i / 4))));
  }
  blocks.forEach((b, i) => {
    const show = () => { told.textContent = shown(blockWords(b)); };
    const end = b.to === null ? n : b.last + 1;
    const box = { x: x(b.first).toFixed(1), y: y(b.offset + b.size).toFixed(1), width: Math.max(1, x(end) - x(b.first)).toFixed(1),
      height: Math.max(0.6, PLOT.height * b.size / extent).toFixed(1) };
    svg.append(draw('rect.block.c' + i % 8 + (b.copy ? '.copy' : ''), { ...box, tabindex: -1, role: 'img', 'aria-label': blockWords(b), 'data-tensor-id': b.id,
      onfocus: show, onpointerenter: show }));
    if (b.copy) { svg.append(draw('rect.hatched', box)); }
    if (box.height >= 12 && box.width >= 7 * shown(b.tensor).length + 6) {
      svg.append(draw('text.inbox', { x: Number(box.x) + 4, y: Number(box.y) + Number(box.height) / 2 + 4 }, b.tensor));
    }
  });
  const peak = peakPosition(buffer);
  if (peak !== null) { svg.append(draw('line.peak', { x1: x(peak + 0.5), x2: x(peak + 0.5), y1: 8, y2: 8 + PLOT.height })); }
  svg.append(draw('text.axis', { x: PLOT.left, y: PLOT.height + 24 }, 'start'),
    draw('text.axis', { x: PLOT.left + PLOT.width, y: PLOT.height + 24, 'text-anchor': 'end' }, 'end'));
  roving(svg, 'rect.block', ['ArrowLeft', 'ArrowRight']);
  return el('figure', null, svg, told);
}

const share = (part, whole) => ' (' + (whole > 0 ? Math.round(100 * part / whole) : 0) + '%)';

function bufferView(buffer) {
  const n = positions(buffer);
  const rows = el('tbody');
  const list = inParts(rows, buffer.tensors.length, 200, (i) => {
    const b = buffer.tensors[i];
    return el('tr', null, [b.chunk, b.offset, bytes(b.size)].map((v) => el('td.number', null, String(v))),
      [nameOf(b.tensor), b.from === null ? 'start' : nameOf(b.from), b.to === null ? 'end' : nameOf(b.to),
        b.in_place_of !== undefined ? 'in place of ' + b.in_place_of : b.copy ? 'copy' : ''].map((v) => el('td', null, v)));
  }, 'tensor');
  const owners = buffer.owners.slice(0, 8).map((o) => [nameOf(o.tensor), ' ' + bytes(o.size)]);
  return el('section.buffer', { 'data-buffer': buffer.buffer_type },
    el('h3', null, chipOf(buffer.backend), ' ', nameOf(buffer.buffer_type), '  ' + bytes(buffer.used) + ' used' +
      (buffer.held !== buffer.used ? ' of ' + bytes(buffer.held) : '') + ' in ' + count(buffer.chunks.length, 'chunk') + ', ' + count(buffer.tensors.length, 'tensor')),
    buffer.tensors.length === 0 ? null : [
      el('p', null, 'Peak ' + bytes(buffer.peak) + ' at ', buffer.peak_at === null ? 'the start' : nameOf(buffer.peak_at), ', then held by ',
        owners.map((o, i) => [i > 0 ? ', ' : '', o]), buffer.owners.length > 8 ? ', and ' + (buffer.owners.length - 8) + ' more' : '',
        '. Fragmentation ' + bytes(buffer.fragmentation) + share(buffer.fragmentation, buffer.used) + '. Copies ' + bytes(buffer.copies_at_peak) +
        share(buffer.copies_at_peak, buffer.peak) + ' of the peak, ' + bytes(buffer.copies) + ' in all.'),
      buffer.chunks.map((c, i) => chunkPicture(buffer, i, n)),
      el('details', null, el('summary', null, 'What lies where, from when to when'), el('div.scroll', null, el('table', null,
        el('caption.unseen', null, 'Tensors in ' + shown(buffer.buffer_type)),
        el('thead', null, el('tr', null, ['chunk', 'offset', 'size', 'tensor', 'from', 'to', ''].map((h, i) => el('th' + (i < 3 ? '.number' : ''), { scope: 'col' }, h)))), rows)), list.more)]);
}

function byCopies(memory) {
  if (memory.by_copies === undefined) { return null; }
  return [el('h3', null, 'Compute buffers by pipeline copies'), table('By pipeline copies', [['copies', 'number'], ...report.backends.map((b) => [b, 'number']), ['in copies', 'number']],
    memory.by_copies.map((row) => [String(row.n_copies), ...(row.status !== 'ok' ? report.backends.map(() => row.status)
      : report.backends.map((b) => size(row.compute_buffer_size[b]))), row.status === 'ok' ? bytes(Object.values(row.copies).reduce((a, b) => a + b, 0)) : '-']))];
}

function memory(run) {
  const m = run.report.memory;
  if (m === undefined) { return [el('p', null, 'There is no memory plan.')]; }
  const used = m.buffers.filter((b) => b.tensors.length > 0 || b.held > 0);
  return [m.kept_plan ? el('p.note', null, 'Addresses are of an earlier plan, which was kept.') : null,
    used.length === 0 ? el('p', null, 'No memory is needed.') : used.map(bufferView),
    m.overlaps.map((o) => el('p.note.error', null, o.tensor + ' overwrites ' + o.overwrites + ', which is still needed: the plan was made for another graph')),
    byCopies(m)];
}

/* ---- from run to run ------------------------------------------------------------------------------------------- */

function grewRow(b) {
  return [chipOf(b.backend), nameOf(b.buffer_type), bytes(b.before) + ' -> ' + bytes(b.after), b.grew ? 'grew' : '',
    b.peak_at !== undefined ? [bytes(b.peak) + ' at ', nameOf(b.peak_at), ': ' + b.owners.map((o) => o.tensor + ' ' + bytes(o.size)).join(', ')] : ''];
}

function differenceLines(d) {
  return [el('h3', null, 'Around the first that does not fit, run ' + d.with_run + ' (-) and now (+)'),
    el('pre.diff', null, d.lines.map((l) => el('span.' + l.side, null, ({ old: '-', new: '+', both: ' ' })[l.side] + ' ' +
      (l.source !== undefined ? '  src ' + l.source : String(l.position === undefined ? '' : l.position).padStart(5)) + '  ' +
      [l.op, l.name, l.shape, l.bytes > 0 ? bytes(l.bytes) : '-', l.backend].map(shown).join('  '), el('br'))))];
}

function reallocation(run) {
  const r = run.report.reallocation;
  if (r === undefined) { return [el('p', null, 'Nothing is known of this run\u2019s memory.')]; }
  const parts = [el('p', null, r.replanned ? (r.reason ? 'Planned: ' + r.reason + '.' : 'Planned.') : 'The plan' + (r.plan_of !== undefined ? ' of run ' + r.plan_of : '') + ' was kept.')];
  if (r.expectation) { parts.push(el('p', null, r.expectation)); }
  if (r.buffers.length > 0) {
    parts.push(table('Buffers', [['backend'], ['buffer type'], ['before and after'], [''], ['its peak']], r.buffers.map(grewRow)));
  }
  if (r.difference !== undefined) { parts.push(...differenceLines(r.difference)); }
  if (r.kept_although !== undefined) {
    parts.push(el('h3', null, 'Kept, but the graph is another'), el('ul' + (r.harmful ? '.error' : ''), null, r.kept_although.map((k) => el('li', null, k.text))));
  }
  if (r.hint) { parts.push(el('p.hint', null, el('em', null, 'try: '), r.hint)); }
  if (memoryOfRuns !== undefined) { parts.push(...storyOfMemory()); }
  return parts;
}

function storyOfMemory() {
  return [el('h3', null, 'All runs'), memoryOfRuns.message ? el('p', null, memoryOfRuns.message) : null,
    memoryOfRuns.hint ? el('p.hint', null, el('em', null, 'try: '), memoryOfRuns.hint) : null,
    table('Memory over the runs', [['run', 'number'], ['graph'], ['reallocated'], ['reason']], memoryOfRuns.runs.map((row) => [String(row.run), row.topology || '',
      row.unexpected ? 'unexpected' : row.reallocated ? 'yes' : row.replanned ? 'planned' : 'no', row.reason || '']))].filter((e) => e !== null);
}
