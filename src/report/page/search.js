/* search.js - the box that finds tensors: by name, id, op or cause. */

function matches(run, text) {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') { return []; }
  const score = (t) => {
    const name = t.name.toLowerCase();
    const id = t.id.toLowerCase();
    if (name === wanted || id === wanted || String(t.node) === wanted) { return 0; }
    if (name.startsWith(wanted) || id.startsWith(wanted)) { return 1; }
    if (name.includes(wanted) || id.includes(wanted)) { return 2; }
    return t.op.toLowerCase().includes(wanted) || t.cause.startsWith(wanted) ? 3 : -1;
  };
  return run.graph.tensors.map((t) => [score(t), t]).filter(([s]) => s >= 0).sort((a, b) => a[0] - b[0]).map(([, t]) => t);
}

function startSearch() {
  const box = byId('find');
  const list = byId('found');
  let hits = [];
  let at = -1;
  const close = () => { list.hidden = true; box.setAttribute('aria-expanded', 'false'); box.removeAttribute('aria-activedescendant'); at = -1; };
  const take = (t) => { close(); choose(current, t, true); };
  const point = (i) => {
    at = i;
    Array.from(list.children).forEach((e, k) => e.setAttribute('aria-selected', String(k === i)));
    if (i >= 0) {
      box.setAttribute('aria-activedescendant', 'found-' + i);
      list.children[i].scrollIntoView({ block: 'nearest' });
    }
  };
  const fill = () => {
    const all = matches(current, box.value);
    hits = all.slice(0, 50);
    list.replaceChildren(...hits.map((t, i) => el('li', { role: 'option', id: 'found-' + i, 'aria-selected': 'false', onpointerdown: (e) => { e.preventDefault(); take(t); } },
      t.node !== undefined ? t.node + ' ' : 'leaf ', nameOf(shownName(t)), ' ' + t.op + ' ', chip(t.on), ' ' + t.cause)));
    if (box.value.trim() !== '' && hits.length === 0) { list.replaceChildren(el('li.none', { role: 'option', 'aria-disabled': 'true' }, 'none found')); }
    list.hidden = box.value.trim() === '';
    box.setAttribute('aria-expanded', String(!list.hidden));
    at = -1;
    if (!list.hidden) { say(count(all.length, 'tensor') + ' found'); }
  };
  box.addEventListener('input', fill);
  box.addEventListener('blur', close);
  box.addEventListener('keydown', (e) => {
    if (e.key === 'ArrowDown' && hits.length > 0) { e.preventDefault(); if (list.hidden) { fill(); } point((at + 1) % hits.length); }
    if (e.key === 'ArrowUp' && hits.length > 0) { e.preventDefault(); point((at + hits.length - 1) % hits.length); }
    if (e.key === 'Enter' && hits.length > 0) { e.preventDefault(); take(hits[Math.max(0, at)]); }
    if (e.key === 'Escape') { if (list.hidden) { box.value = ''; } close(); }
  });
}
