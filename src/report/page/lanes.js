/* lanes.js - the graph as a whole: a lane a backend, splits from left to right, what is copied between them. */

const LANE = { height: 46, box: 26, top: 14, least: 7, mostCopies: 1200 };
const laneTop = (b) => LANE.top + b * LANE.height;

/* x and width of every split: as wide as it has nodes, but never too small to be seen. */
function spread(splits, nNodes, width) {
  const free = Math.max(0, width - LANE.least * splits.length);
  let x = 0;
  return splits.map((s) => {
    const w = LANE.least + free * (s.end - s.start) / Math.max(1, nNodes);
    x += w;
    return { x: x - w, w };
  });
}

function arc(run, places, copy) {
  const t = run.graph.byId.get(copy.id);
  const root = t.view !== undefined && t.split < 0 ? run.graph.tensors[t.view] : t;
  const from = report.backends.indexOf(copy.from);
  const to = report.backends.indexOf(copy.to);
  const target = places[copy.split];
  const x2 = target.x + Math.min(6, target.w / 2);
  const x1 = root.split >= 0 ? places[root.split].x + places[root.split].w - 1 : Math.max(0, x2 - 26);
  const y1 = laneTop(from) + LANE.box / 2;
  const y2 = laneTop(to) + (to > from ? 0 : LANE.box);
  const mid = ((x1 + x2) / 2).toFixed(1);
  const d = `M${x1.toFixed(1)} ${y1}C${mid} ${y1} ${x2.toFixed(1)} ${(y1 + y2) / 2} ${x2.toFixed(1)} ${y2}`;
  const thick = 0.7 + Math.min(4, Math.log2(1 + copy.bytes / 1024) / 4);
  return draw('path.arc.' + hue(from), { d, 'stroke-width': thick.toFixed(1), 'data-into': copy.split });
}

function splitWords(run, i) {
  const s = run.report.splits[i];
  const t = headOf(run, s);
  const inputs = s.inputs.length > 0 ? count(s.inputs.length, 'input') + ' ' + bytes(s.input_bytes) : 'no inputs';
  const parts = ['split ' + i, s.backend, 'nodes ' + s.start + '-' + (s.end - 1), inputs + ':', t.op, shownName(t),
    t.cause, t.words];
  return parts.filter((part) => part !== '').join('  ');
}

/* The copies into a split stand out while it is pointed at. */
function mark(svg, i) {
  svg.querySelectorAll('.arc').forEach((a) => a.classList.toggle('strong', a.dataset.into === String(i)));
}

function splitBox(run, i, place, svg, told) {
  const s = run.report.splits[i];
  const b = report.backends.indexOf(s.backend);
  const show = () => {
    told.textContent = shown(splitWords(run, i));
    mark(svg, i);
  };
  const open = (event) => {
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      goToSplit(i);
    }
  };
  const box = draw('rect.box.' + hue(b), { x: place.x.toFixed(1), y: laneTop(b), height: LANE.box, rx: 2,
    width: Math.max(3, place.w - 1.5).toFixed(1), tabindex: -1, role: 'link', 'data-box': i,
    'aria-label': splitWords(run, i), onfocus: show, onpointerenter: show, onclick: () => goToSplit(i),
    onkeydown: open });
  const label = place.w <= 8 + 7 * String(i).length ? null : draw('text.inbox', { x: (place.x + place.w / 2).toFixed(1),
    y: laneTop(b) + LANE.box / 2 + 4, 'text-anchor': 'middle' }, String(i));
  return [box, label];
}

function lanes(run) {
  const r = run.report;
  const left = Math.min(160, 24 + 8 * Math.max(...report.backends.map((b) => shown(b).length)));
  const room = byId('report').clientWidth - left - 50;
  const width = Math.max(280, Math.min(1400, room), (LANE.least + 2) * r.n_splits);
  const bottom = laneTop(report.backends.length) + 4;
  const places = spread(r.splits, r.n_nodes, width);
  const told = el('p.readout', null,
    'Point at a split, or reach it with the tab and arrow keys; Enter goes to its nodes.');
  const svg = draw('svg.lanes', { width: left + width + 10, height: bottom + 12, role: 'group',
    'aria-label': 'Splits by backend' });
  report.backends.forEach((name, b) => {
    const y = laneTop(b) + LANE.box / 2;
    svg.append(draw('line.lane', { x1: left, x2: left + width, y1: y, y2: y }),
      draw('text', { x: left - 8, y: y + 4, 'text-anchor': 'end' }, name));
  });
  const shifted = draw('g', { transform: `translate(${left} 0)` });
  if (r.copies.length <= LANE.mostCopies) { add(shifted, r.copies.map((c) => arc(run, places, c))); }
  add(shifted, r.splits.map((s, i) => splitBox(run, i, places[i], svg, told)));
  svg.append(shifted, draw('text.axis', { x: left, y: bottom }, 'node 0'),
    draw('text.axis', { x: left + width, y: bottom, 'text-anchor': 'end' }, 'node ' + (r.n_nodes - 1)));
  roving(svg, '[data-box]', ['ArrowLeft', 'ArrowRight']);
  const leftOut = r.copies.length <= LANE.mostCopies ? null
    : el('p.small', null, r.copies.length + ' copies are too many to be drawn.');
  return [el('div.scroll', null, svg), leftOut, told];
}
