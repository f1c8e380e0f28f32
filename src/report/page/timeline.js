/* timeline.js - the execution as it was measured, or estimated: a lane for the host and for each backend. */

function eventWords(e) {
  const what = { copy: 'copy ' + e.name + ' ' + (e.from || '') + ' -> ' + (e.to || '') + ' ' + bytes(e.bytes || 0),
    compute: 'compute ' + e.name + (e.nodes > 1 ? ' and ' + (e.nodes - 1) + ' more' : ''), submit: 'submit ' + e.name, split: 'split ' + e.split,
    wait: 'wait for ' + e.name, synchronize: 'synchronize ' + e.name, run: 'the execution' }[e.kind] || e.kind;
  return what + (e.split >= 0 && e.kind !== 'split' ? '  split ' + e.split : '') + '  ' + time(e.end - e.begin) + ' from ' + time(e.begin);
}

function trackPicture(name, events, total, left, width, told) {
  const svg = draw('svg.track', { viewBox: `0 0 ${left + width + 6} 30`, role: 'group', 'aria-label': 'Timeline of ' + name });
  svg.append(draw('text', { x: left - 8, y: 19, 'text-anchor': 'end' }, name), draw('line.lane', { x1: left, x2: left + width, y1: 28, y2: 28 }));
  const order = { run: 0, split: 1, submit: 2, wait: 3, synchronize: 3, compute: 4, copy: 5 };
  events.sort((a, b) => order[a.kind] - order[b.kind] || a.begin - b.begin);
  for (const e of events) {
    const show = () => { told.textContent = shown(eventWords(e)); };
    svg.append(draw('rect.event.' + e.kind, { x: (left + width * e.begin / total).toFixed(2), y: 4, width: Math.max(0.8, width * (e.end - e.begin) / total).toFixed(2), height: 20,
      tabindex: -1, role: 'img', 'aria-label': eventWords(e), onfocus: show, onpointerenter: show }));
  }
  roving(svg, 'rect.event', ['ArrowLeft', 'ArrowRight']);
  return svg;
}

function timeline(run) {
  const events = (run.graph.timeline || []).filter((e) => e.kind !== 'run' && e.kind !== 'split');
  if (events.length === 0) { return null; }
  const total = Math.max(...run.graph.timeline.map((e) => e.end), 1);
  const told = el('p.readout', null, 'Point at a bar, or walk through them with the arrow keys.');
  const tracks = ['', ...report.backends];
  const left = 24 + 8 * Math.max(4, ...report.backends.map((b) => shown(b).length));
  const parts = [el('p', null, (run.report.estimate !== undefined ? 'Estimated, ' : 'Measured, ') + time(total) + ' from the first split to the last wait.'),
    el('p.legend', null, ['compute', 'copy', 'wait', 'submit'].map((k) => el('span.key.' + k, null, k)))];
  for (const track of tracks) {
    const own = events.filter((e) => e.track === track).slice(0, 3000);
    if (own.length > 0) { parts.push(trackPicture(track === '' ? 'host' : track, own, total, left, 860, told)); }
  }
  parts.push(told);
  const s = run.report.trace_summary;
  if (s !== undefined) {
    parts.push(table('Where the time went', [['track'], ['computing', 'number'], ['copying', 'number'], ['waiting', 'number'], ['computes', 'number'], ['copies', 'number'], ['bytes', 'number']],
      s.tracks.map((t) => [t.host ? 'host' : nameOf(t.track), time(t.computing * 1e9), time(t.copying * 1e9), time(t.waiting * 1e9), String(t.computes), String(t.copies), bytes(t.bytes)])));
  }
  return parts;
}

function values(run) {
  const printed = run.graph.printed || [];
  return printed.length === 0 ? null : printed.map((v) => el('pre.value', { 'data-id': v.id, tabindex: 0 }, ...v.text.split('\n').flatMap((line, i) => (i > 0 ? [el('br'), line] : [line]))));
}
