/* lanes.js - the graph as a whole: a lane a backend, splits from left to right, what is copied between them. */

const LANE = 46;
const BOX = 26;

/* x and width of every split: as wide as it has nodes, but never too small to be seen. */
function spread(splits, nNodes, width) {
  const least = 7;
  const free = Math.max(0, width - least * splits.length);
  let x = 0;
  return splits.map((s) => {
    const w = least + free * (s.end - s.start) / Math.max(1, nNodes);
    const at = { x, w };
    x += w;
    return at;
  });
}

function copyArcs(run, places, top) {
  const r = run.report;
  if (r.copies.length > 1200) { return []; }
  return r.copies.map((c) => {
    const t = run.graph.byId.get(c.id);
    const root = t.view !== undefined && t.split < 0 ? run.graph.tensors[t.view] : t;
    const from = report.backends.indexOf(c.from);
    const to = report.backends.indexOf(c.to);
    const target = places[c.split];
    const x2 = target.x + Math.min(6, target.w / 2);
    const x1 = root.split >= 0 ? places[root.split].x + places[root.split].w - 1 : Math.max(0, x2 - 26);
    const y1 = top + from * LANE + BOX / 2;
    const y2 = top + to * LANE + (to > from ? 0 : BOX);
    const mid = (x1 + x2) / 2;
    return draw('path.arc.' + hue(from), { d: `M${x1.toFixed(1)} ${y1}C${mid.toFixed(1)} ${y1} ${x2.toFixed(1)} ${(y1 + y2) / 2} ${x2.toFixed(1)} ${y2}`,
      'stroke-width': (0.7 + Math.min(4, Math.log2(1 + c.bytes / 1024) / 4)).toFixed(1), 'data-split': c.split });
  });
}

function splitWords(run, i) {
  const s = run.report.splits[i];
  const t = headOf(run, s);
  return 'split ' + i + '  ' + s.backend + '  nodes ' + s.start + '-' + (s.end - 1) + '  ' +
    (s.inputs.length > 0 ? count(s.inputs.length, 'input') + ' ' + bytes(s.input_bytes) : 'no inputs') + ': ' + t.op + ' ' + shownName(t) + '  ' +
    t.cause + (t.words !== '' ? '  ' + t.words : '');
}

function lanes(run) {
  const r = run.report;
  const n = report.backends.length;
  const left = Math.min(160, 24 + 8 * Math.max(...report.backends.map((b) => shown(b).length)));
  const width = Math.max(720, 9 * r.n_splits);
  const places = spread(r.splits, r.n_nodes, width);
  const told = el('p.readout', null, 'Point at a split, or reach it with the tab and arrow keys; Enter goes to its nodes.');
  const svg = draw('svg.lanes', { width: left + width + 10, height: n * LANE + 26, role: 'group', 'aria-label': 'Splits by backend' });
  report.backends.forEach((name, b) => {
    svg.append(draw('line.lane', { x1: left, x2: left + width, y1: 14 + b * LANE + BOX / 2, y2: 14 + b * LANE + BOX / 2 }),
      draw('text', { x: left - 8, y: 14 + b * LANE + BOX / 2 + 4, 'text-anchor': 'end' }, name));
  });
  const shifted = draw('g', { transform: `translate(${left} 0)` });
  shifted.append(...copyArcs(run, places, 14));
  r.splits.forEach((s, i) => {
    const b = report.backends.indexOf(s.backend);
    const show = () => { told.textContent = shown(splitWords(run, i)); mark(svg, i); };
    shifted.append(draw('rect.box.' + hue(b), { x: places[i].x.toFixed(1), y: 14 + b * LANE, width: Math.max(3, places[i].w - 1.5).toFixed(1),
      height: BOX, rx: 2, tabindex: -1, role: 'link', 'data-split': i, 'aria-label': splitWords(run, i), onfocus: show, onpointerenter: show,
      onclick: () => goToSplit(i), onkeydown: (e) => { if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); goToSplit(i); } } }));
    if (places[i].w > 8 + 7 * String(i).length) {
      shifted.append(draw('text.inbox', { x: (places[i].x + places[i].w / 2).toFixed(1), y: 14 + b * LANE + BOX / 2 + 4, 'text-anchor': 'middle' }, String(i)));
    }
  });
  svg.append(shifted, draw('text.axis', { x: left, y: n * LANE + 18 }, 'node 0'),
    draw('text.axis', { x: left + width, y: n * LANE + 18, 'text-anchor': 'end' }, 'node ' + (r.n_nodes - 1)));
  roving(svg, '[data-split][role]', ['ArrowLeft', 'ArrowRight']);
  return [el('div.scroll', null, svg), told];
}

/* The copies into a split stand out while it is pointed at. */
function mark(svg, i) {
  svg.querySelectorAll('.arc').forEach((a) => a.classList.toggle('strong', a.getAttribute('data-split') === String(i)));
}
