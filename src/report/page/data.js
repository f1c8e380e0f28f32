/* data.js - what the page knows: the lines of the JSON report and, for every run, its graph. */

/* Lines stand in script elements that no browser runs.  What a run has is read when it is first shown. */
const linesOf = (kind) => Array.from(document.querySelectorAll('script[data-line="' + kind + '"]'))
  .map((script) => script.textContent.trim()).filter((text) => text !== '');
const report = JSON.parse(linesOf('report')[0]);
const about = JSON.parse(linesOf('about')[0]);
const memoryOfRuns = linesOf('memory').map((text) => JSON.parse(text))[0];

class Run {
  constructor(head, reportText, graphText) {
    this.head = JSON.parse(head);
    this.texts = [reportText, graphText];
  }

  get report() {
    if (this.readReport === undefined) { this.readReport = JSON.parse(this.texts[0]); }
    return this.readReport;
  }

  get graph() {
    if (this.readGraph === undefined) { this.readGraph = prepare(JSON.parse(this.texts[1]), this.report); }
    return this.readGraph;
  }
}

const runs = linesOf('head').map((head, i) => [head, linesOf('run')[i], linesOf('graph')[i]])
  .filter((three) => three[2] !== undefined).map((three) => new Run(...three));

/* Numbers of texts become the texts; users of every tensor, findings that name it, its place in memory. */
function prepare(graph, run) {
  const text = (n) => (n === undefined ? '' : graph.texts[n]);
  graph.tensors = graph.tensors || [];
  graph.nodes = graph.nodes || [];
  graph.leafs = graph.leafs || [];
  graph.tensors.forEach((t, i) => {
    t.index = i;
    t.name = t.name === undefined ? t.id : t.name;
    for (const key of ['op', 'shape', 'cause', 'words', 'buffer']) { t[key] = text(t[key]); }
    t.src = t.src || [];
    t.users = [];
    t.findings = [];
    t.split = t.split === undefined ? -1 : t.split;
    t.on = t.on === undefined ? -1 : t.on;
  });
  graph.nodes.forEach((i, at) => { graph.tensors[i].node = at; });
  graph.byId = new Map(graph.tensors.map((t) => [t.id, t]));
  graph.tensors.forEach((t) => new Set(t.src).forEach((s) => {
    if (s >= 0) { graph.tensors[s].users.push(t.index); }
  }));
  (run.findings || []).forEach((f) => (f.tensors || []).forEach((id) => {
    const t = tensorCalled(graph, id);
    if (t !== undefined) { t.findings.push(f); }
  }));
  graph.text = text;
  return graph;
}

/* Findings name tensors as people do: by name, or by id. */
function tensorCalled(graph, text) {
  if (graph.byName === undefined) {
    graph.byName = new Map();
    graph.tensors.forEach((t) => { if (!graph.byName.has(t.name)) { graph.byName.set(t.name, t); } });
  }
  return graph.byId.get(text) || graph.byName.get(text);
}

const isView = (t) => ['RESHAPE', 'VIEW', 'PERMUTE', 'TRANSPOSE', 'NONE'].includes(t.op);
const shownName = (t) => shown(t.name !== '' ? t.name : t.id);
const backendName = (b) => (b >= 0 ? report.backends[b] : 'none');

/* Control characters, and characters that turn or hide text, are shown as escapes. */
function shown(text) {
  return String(text).replace(
    /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (c) => {
      const n = c.charCodeAt(0).toString(16);
      return n.length < 3 ? '\\x' + n.padStart(2, '0') : '\\u' + n.padStart(4, '0');
    });
}

/* As the text report has sizes: two digits below ten of a unit. */
function bytes(n) {
  if (n < 1024) { return n + ' B'; }
  let unit = 0;
  let x = n;
  while (x >= 1024 && unit < 5) { x /= 1024; unit++; }
  return (x < 9.95 ? x.toFixed(1) : x.toFixed(0)) + ' ' + ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'][unit];
}

const count = (n, noun) => n + ' ' + noun + (n === 1 ? '' : 's');

function time(ns) {
  const [size, unit] = ns >= 0.9995e9 ? [1e9, 's'] : ns >= 0.9995e6 ? [1e6, 'ms'] : [1e3, 'us'];
  const x = ns / size;
  return x.toFixed(x < 9.995 ? 2 : x < 99.95 ? 1 : 0) + ' ' + unit;
}

/* The class that gives a backend its colour; the last one, the CPU, has its own. */
function hue(b) {
  return b < 0 ? 'bnone' : b === report.backends.length - 1 ? 'blast' : 'b' + b % 6;
}
const hueOf = (name) => hue(report.backends.indexOf(name));
