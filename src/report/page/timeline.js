/* timeline.js - the execution as it was measured or estimated: a lane for the host and for each backend; values. */

const TRACK = { width: 860, most: 3000 };
const DRAWN = ['submit', 'wait', 'synchronize', 'compute', 'copy']; /* the later above the earlier */

function eventWords(e) {
  const more = e.nodes > 1 ? ' and ' + (e.nodes - 1) + ' more' : '';
  const what = { copy: 'copy ' + e.name + ' ' + e.from + ' -> ' + e.to + ' ' + bytes(e.bytes || 0),
    compute: 'compute ' + e.name + more, submit: 'submit ' + e.name + more, wait: 'wait for ' + e.name,
    synchronize: 'synchronize ' + e.name }[e.kind];
  return what + (e.split >= 0 ? '  split ' + e.split : '') + '  ' + time(e.end - e.begin) + ' from ' + time(e.begin)
    + (e.critical ? ', on the critical path' : '');
}

function eventBox(e, total, left, told) {
  const show = () => { told.textContent = shown(eventWords(e)); };
  const width = TRACK.width * (e.end - e.begin) / total;
  const mark = !e.critical ? '' : width < 3 ? '.critical' : '.critical.framed'; /* a frame would hide a thin bar */
  return draw('rect.event.' + e.kind + mark, { x: (left + TRACK.width * e.begin / total).toFixed(2), y: 4, height: 20,
    width: Math.max(0.8, width).toFixed(2), tabindex: -1, role: 'img',
    'aria-label': eventWords(e), onfocus: show, onpointerenter: show });
}

/* What of an estimate's critical path is in this lane: a line above its bars, which is seen where they are thin. */
function pathAbove(events, total, left) {
  const x = (t) => (left + TRACK.width * t / total).toFixed(2);
  const d = events.filter((e) => e.critical).map((e) => `M${x(e.begin)} 1.5H${x(e.end)}`).join('');
  return d === '' ? null : draw('path.critical-path', { d });
}

/* What is drawn of a lane, in that order: all, or if they are too many the longest and one in `step` of the others. */
function drawnOf(events) {
  const half = events.length <= TRACK.most ? events.length : TRACK.most / 2;
  const byLength = [...events].sort((a, b) => (b.end - b.begin) - (a.end - a.begin));
  const rest = byLength.slice(half).sort((a, b) => a.begin - b.begin);
  const step = Math.max(1, Math.ceil(rest.length / half));
  const drawn = [...byLength.slice(0, half), ...rest.filter((_, i) => i % step === 0)];
  drawn.sort((a, b) => DRAWN.indexOf(a.kind) - DRAWN.indexOf(b.kind) || a.begin - b.begin);
  return { drawn, half, step };
}

function trackPicture(name, events, total, left, told) {
  const svg = draw('svg.track', { viewBox: `0 0 ${left + TRACK.width + 6} 30`, role: 'group',
    'aria-label': 'Timeline of ' + name });
  const { drawn, half, step } = drawnOf(events);
  add(svg, [draw('text', { x: left - 8, y: 19, 'text-anchor': 'end' }, name),
    draw('line.lane', { x1: left, x2: left + TRACK.width, y1: 28, y2: 28 }),
    pathAbove(events, total, left), drawn.map((e) => eventBox(e, total, left, told))]);
  roving(svg, 'rect.event', ['ArrowLeft', 'ArrowRight']);
  const leftOut = drawn.length === events.length ? null : el('p.small.left-out', null, nameOf(name), ': of '
    + events.length + ' bars the ' + half + ' longest are drawn, and one in ' + step + ' of the others.');
  return [svg, leftOut];
}

const timeOrNone = (ns) => (ns > 0 ? time(ns) : '-');

function timesTable(run) {
  const s = run.report.trace_summary;
  const columns = [['track'], ['computing', 'number'], ['copying', 'number'], ['waiting', 'number'],
    ['computes', 'number'], ['copies', 'number'], ['bytes', 'number']];
  const row = (t) => [t.host ? 'host' : nameOf(t.track),
    ...[t.computing, t.copying, t.waiting].map((x) => timeOrNone(x * 1e9)), String(t.computes),
    String(t.copies), size(t.bytes)];
  return s === undefined ? null : table('Where the time went', columns, s.tracks.map(row));
}

/* From which batch offloading pays, in the words of the text. */
function gainWords(g) {
  const from = (batch) => (batch > 0 ? ' from ' + batch : ' never');
  const each = g.first === g.last ? ''
    : ' (' + g.first_node + from(g.first) + ', ' + g.last_node + from(g.last) + ')';
  const asks = g.asks_from >= 0 ? ', and asks for them from ' + g.asks_from
    : g.asked > 0 ? ', and was recorded to ask for ' + g.asked + ' of them' : ', and does not ask for them';
  return count(g.nodes, 'product') + (g.nodes === 1 ? ' has ' : ' have ') + bytes(g.bytes)
    + ' of weights in host memory; ' + g.backend
    + (g.pays_from > 0 ? ' is faster, copying included, from a batch of ' + g.pays_from
      : ' is never faster, copying included') + each + asks;
}

/* What --estimate adds up: by lane, and what of it lies on the critical path. */
function estimateTable(estimate) {
  if (estimate === undefined) { return null; }
  const columns = [['track'], ['computing', 'number'], ['copying', 'number'], ['waiting', 'number'],
    ['on the critical path', 'number'], ['computes', 'number'], ['copies', 'number'], ['bytes', 'number']];
  const row = (l) => [nameOf(l.lane), ...[l.computing, l.copying, l.waiting, l.critical_computing + l.critical_copying]
    .map(timeOrNone), String(l.computes), String(l.copies), size(l.bytes)];
  const ends = estimate.batch_end;
  const each = ends.length > 1 ? (ends[ends.length - 1] - ends[0]) / (ends.length - 1) : 0;
  const assumed = estimate.figures.filter((f) => f.assumed).map((f) => f.backend);
  const batches = ends.length < 2 ? null : el('p', null,
    ends.length + ' batches: the first after ' + time(ends[0]) + ', then one every ' + time(each) + '.');
  const note = assumed.length === 0 ? null : el('p.small', null,
    'Figures of ' + assumed.join(', ') + ' are assumed: a description can say them ("speed").');
  const gains = estimate.offload.map((g) => el('p', { 'data-offload': g.backend }, gainWords(g) + '.'));
  return [batches, table('Estimated times', columns, estimate.lanes.map(row)), gains, note];
}

function timeline(run) {
  const events = (run.graph.timeline || []).filter((e) => DRAWN.includes(e.kind));
  if (events.length === 0) { return null; }
  const total = Math.max(1, ...run.graph.timeline.map((e) => e.end));
  const told = el('p.readout', null, 'Point at a bar, or walk through them with the arrow keys.');
  const left = 24 + 8 * Math.max(4, ...report.backends.map((b) => shown(b).length));
  const pictures = ['', ...report.backends].map((track) => {
    const own = events.filter((e) => e.track === track);
    return own.length === 0 ? null : trackPicture(track === '' ? 'host' : track, own, total, left, told);
  });
  const keys = ['compute', 'copy', 'wait', 'submit'].filter((kind) => events.some((e) => e.kind === kind
    || (kind === 'wait' && e.kind === 'synchronize')));
  const how = run.report.estimate !== undefined ? 'Estimated: ' : 'Measured: ';
  return [el('p', null, how + time(total) + ' from the first split to the last wait.'),
    el('p', null, keys.map((kind) => el('span.key.' + kind, null, kind)),
      events.some((e) => e.critical) ? el('span.key.critical', null, 'on the critical path') : null),
    pictures, told, estimateTable(run.report.estimate), timesTable(run)];
}

function values(run) {
  const printed = run.graph.printed || [];
  const lines = (text) => text.trimEnd().split('\n').map((line) => el('div', null, line === '' ? ' ' : line));
  const listing = (v) => el('div.listing', { 'data-id': v.id, tabindex: 0, role: 'region',
    'aria-label': 'Value of ' + shown(v.id) }, lines(v.text));
  return printed.length === 0 ? null : printed.map(listing);
}
