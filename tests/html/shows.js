/* shows.js - a function that gives what the page shows of its run, read from the document alone, all of it opened. */
async () => {
  const text = (e) => e.textContent.trim();
  for (let round = 0; round < 500; round++) {
    document.querySelectorAll('details:not([open])').forEach((d) => { d.open = true; });
    await new Promise((done) => setTimeout(done, 0)); /* folds are filled when they have been opened */
    const more = Array.from(document.querySelectorAll('button.more')).filter((b) => !b.hidden);
    if (more.length === 0) { break; }
    more.forEach((b) => b.click());
  }
  const facts = {};
  document.querySelectorAll('[data-fact]').forEach((f) => { facts[f.dataset.fact] = text(f.querySelector('dd')); });
  const splits = Array.from(document.querySelectorAll('section.split')).map((s) => ({
    index: Number(s.dataset.split), backend: text(s.querySelector('h3 .chip')), start: Number(s.dataset.start),
    end: Number(s.dataset.end), title: text(s.querySelector('h3')),
    inputs: Array.from(s.querySelectorAll('[data-input]')).map((i) => i.dataset.input) }));
  splits.sort((a, b) => a.index - b.index);
  const nodes = Array.from(document.querySelectorAll('tr[data-node]')).map((row) => ({
    id: row.dataset.id, node: Number(row.dataset.node), backend: text(row.children[5]),
    cause: text(row.children[6]) }));
  nodes.sort((a, b) => a.node - b.node);
  const findings = Array.from(document.querySelectorAll('.findings > li')).map((f) => ({
    kind: f.dataset.kind, message: text(f.querySelector('.message')) }));
  const buffers = Array.from(document.querySelectorAll('[data-buffer]')).map((b) => b.dataset.buffer);
  return { facts, splits, nodes, findings, buffers, boxes: document.querySelectorAll('[data-box]').length };
}
