/* memory.js - the memory plan: address upwards, time to the right, a rectangle a tensor. */

const PLOT = { left: 74, top: 8, width: 860, height: 230 };

const lifeWords = (b) => 'from ' + (b.from === null ? 'the start' : b.from) + ' to ' +
  (b.to === null ? 'the end' : b.to) + (b.in_place_of !== undefined ? ', in place of ' + b.in_place_of : '');
const blockWords = (b) => b.tensor + '  ' + bytes(b.size) + ' at ' + b.offset + '  ' + lifeWords(b) +
  (b.copy ? '  copy' : '');

/* ---- a chunk --------------------------------------------------------------------------------------------------- */

/* Positions count copies as well as nodes, from -1: before the first. */
function scales(buffer, extent) {
  const n = buffer.tensors.reduce((most, b) => Math.max(most, b.last, b.first), 1) + 1;
  const within = (p) => Math.max(-1, Math.min(n, p));
  return { n, x: (p) => PLOT.left + (within(p) + 1) * PLOT.width / (n + 1),
    y: (address) => PLOT.top + PLOT.height * (1 - address / extent) };
}

function peakPosition(buffer) {
  if (buffer.peak_at === null) { return -1; }
  const begins = buffer.tensors.find((b) => b.from === buffer.peak_at);
  const ends = buffer.tensors.find((b) => b.to === buffer.peak_at);
  return begins !== undefined ? begins.first : ends !== undefined ? ends.last : null;
}

function frame(scale, extent) {
  const axis = [0, 1, 2, 3, 4].map((i) => draw('text.axis', { x: PLOT.left - 6, y: scale.y(extent * i / 4) + 4,
    'text-anchor': 'end' }, bytes(Math.round(extent * i / 4))));
  const y = PLOT.top + PLOT.height + 15;
  return [draw('rect.frame', { x: PLOT.left, y: PLOT.top, width: PLOT.width, height: PLOT.height }), axis,
    draw('text.axis', { x: PLOT.left, y }, 'start'),
    draw('text.axis', { x: PLOT.left + PLOT.width, y, 'text-anchor': 'end' }, 'end')];
}

/* A tensor whose memory another one takes over ends where that one begins. */
function blockBoxes(b, i, scale, extent, taken, told) {
  const end = b.to === null ? scale.n : taken.has(b.tensor + '\n' + b.last) ? b.last : b.last + 1;
  const x = scale.x(b.first);
  const place = { x: x.toFixed(1), y: scale.y(b.offset + b.size).toFixed(1),
    width: Math.max(1, scale.x(Math.max(end, b.first + 1)) - x).toFixed(1),
    height: Math.max(0.6, PLOT.height * b.size / extent).toFixed(1) };
  const show = () => { told.textContent = shown(blockWords(b)); };
  const label = place.height >= 12 && place.width >= 7 * shown(b.tensor).length + 6;
  return [draw('rect.block.c' + i % 8, { ...place, tabindex: -1, role: 'img', 'aria-label': blockWords(b),
    onfocus: show, onpointerenter: show }), b.copy ? draw('rect.hatched', place) : null,
  label ? draw('text.inbox', { x: x + 4, y: Number(place.y) + Number(place.height) / 2 + 4 }, b.tensor) : null];
}

function chunkPicture(buffer, c) {
  const extent = Math.max(buffer.chunks[c].held, buffer.chunks[c].used);
  const blocks = buffer.tensors.filter((b) => b.chunk === c && b.size > 0);
  if (extent === 0 || blocks.length === 0) { return null; }
  const told = el('p.readout', null, 'Point at a rectangle, or walk through them with the arrow keys.');
  const scale = scales(buffer, extent);
  const taken = new Set(blocks.filter((b) => b.in_place_of !== undefined).map((b) => b.in_place_of + '\n' + b.first));
  const peak = peakPosition(buffer);
  const svg = draw('svg.plot', { viewBox: `0 0 ${PLOT.left + PLOT.width + 8} ${PLOT.height + 30}`, role: 'group',
    'aria-label': 'Memory of ' + buffer.buffer_type + (buffer.chunks.length > 1 ? ', chunk ' + c : '') });
  const boxes = blocks.map((b, i) => blockBoxes(b, i, scale, extent, taken, told));
  const line = peak === null ? null : draw('line.peak', { x1: scale.x(peak + 0.5), x2: scale.x(peak + 0.5),
    y1: PLOT.top, y2: PLOT.top + PLOT.height });
  add(svg, [frame(scale, extent), boxes, line]);
  roving(svg, 'rect.block', ['ArrowLeft', 'ArrowRight']);
  return el('figure', null, svg, told);
}

/* ---- a buffer -------------------------------------------------------------------------------------------------- */

const share = (part, whole) => bytes(part) + ' (' + (whole > 0 ? Math.round(100 * part / whole) : 0) + '%)';

function peakLine(run, buffer) {
  const most = 8;
  const owner = (o, i) => [i > 0 ? ', ' : '', nameOf(o.tensor), ' ' + bytes(o.size)];
  const owners = buffer.owners.slice(0, most).map(owner);
  const t = buffer.peak_at === null ? undefined : run.graph.byId.get(buffer.peak_at);
  const node = t !== undefined && t.node !== undefined ? 'node ' + t.node + ' ' : '';
  const at = buffer.peak_at === null ? 'the start' : [node, nameOf(buffer.peak_at)];
  return el('p', null, 'Peak ' + bytes(buffer.peak) + ' at ', at, ', then held by ', owners, buffer.owners.length > most
    ? ', and ' + (buffer.owners.length - most) + ' more' : '',
    '. Fragmentation ' + share(buffer.fragmentation, buffer.used) + '. Copies ' +
    share(buffer.copies_at_peak, buffer.peak) + ' of the peak, ' + bytes(buffer.copies) + ' in all.');
}

function blockRow(b) {
  const numbers = [b.chunk, b.offset, bytes(b.size)].map((v) => el('td.number', null, String(v)));
  const note = b.in_place_of !== undefined ? 'in place of ' + b.in_place_of : b.copy ? 'copy' : '';
  return el('tr', null, numbers, [b.tensor, b.from === null ? 'start' : b.from, b.to === null ? 'end' : b.to, note]
    .map((text) => el('td', null, nameOf(text))));
}

function blocksTable(buffer) {
  const details = el('details', null, el('summary', null, 'What lies where, from when to when'));
  details.addEventListener('toggle', () => {
    if (details.children.length > 1) { return; }
    const body = el('tbody');
    inParts(body, buffer.tensors.length, 200, (i) => blockRow(buffer.tensors[i]), 'tensor');
    const heads = [['chunk', 'number'], ['offset', 'number'], ['size', 'number'], ['tensor'], ['from'], ['to'], ['']];
    details.append(el('div.scroll', null, el('table', null,
      el('caption.unseen', null, 'Tensors in ' + shown(buffer.buffer_type)),
      el('thead', null, el('tr', null, heads.map(([head, c]) => tableCell('th', c, head, { scope: 'col' })))), body)));
  });
  return details;
}

function bufferView(run, buffer) {
  const of = buffer.held !== buffer.used ? ' of ' + bytes(buffer.held) : '';
  return el('section', { 'data-buffer': buffer.buffer_type },
    el('h3', null, chipOf(buffer.backend), ' ',
      buffer.buffer_type !== buffer.backend ? nameOf(buffer.buffer_type) : null, ' ' +
      bytes(buffer.used) + ' used' + of + ' in ' + count(buffer.chunks.length, 'chunk') + ', ' +
      count(buffer.tensors.length, 'tensor')),
    buffer.tensors.length === 0 ? null
      : [peakLine(run, buffer), buffer.chunks.map((c, i) => chunkPicture(buffer, i)), blocksTable(buffer)]);
}

/* ---- the plan -------------------------------------------------------------------------------------------------- */

function byCopies(memory) {
  if (memory.by_copies === undefined) { return null; }
  const columns = [['copies', 'number'], ...report.backends.map((b) => [b, 'number']), ['in copies', 'number']];
  const row = (c) => (c.status !== 'ok' ? [String(c.n_copies), ...report.backends.map(() => '-'), c.status]
    : [String(c.n_copies), ...report.backends.map((b) => size(c.compute_buffer_size[b])),
      size(Object.values(c.copies).reduce((a, b) => a + b, 0))]);
  return [el('h3', null, 'Compute buffers by pipeline copies'),
    table('By pipeline copies', columns, memory.by_copies.map(row))];
}

function memory(run) {
  const m = run.report.memory;
  if (m === undefined) { return [el('p', null, 'There is no memory plan.')]; }
  const used = m.buffers.filter((b) => b.tensors.length > 0 || b.held > 0);
  const overlaps = m.overlaps.map((o) => el('p.note.error', null,
    o.tensor + ' overwrites ' + o.overwrites + ', which is still needed: the plan was made for another graph'));
  return [m.kept_plan ? el('p.note', null, 'Addresses are of an earlier plan, which was kept.') : null, overlaps,
    used.length === 0 ? el('p', null, 'No memory is needed.') : used.map((b) => bufferView(run, b)), byCopies(m)];
}
