/* search.js - the box that finds tensors: by name, id, number, op or cause. */

const MOST_HITS = 50;

function matches(run, text) {
  const wanted = text.trim().toLowerCase();
  const score = (t) => {
    const [name, id] = [t.name.toLowerCase(), t.id.toLowerCase()];
    if (name === wanted || id === wanted || String(t.node) === wanted) { return 0; }
    if (name.startsWith(wanted) || id.startsWith(wanted)) { return 1; }
    if (name.includes(wanted) || id.includes(wanted)) { return 2; }
    return t.op.toLowerCase().includes(wanted) || t.cause.startsWith(wanted) ? 3 : -1;
  };
  return wanted === '' ? [] : run.graph.tensors.map((t) => [score(t), t]).filter(([points]) => points >= 0)
    .sort((a, b) => a[0] - b[0]).map(([, t]) => t);
}

function startSearch() {
  const box = byId('find');
  const list = byId('found');
  let hits = [];
  let at = -1;
  const open = (yes) => {
    list.hidden = !yes;
    box.setAttribute('aria-expanded', String(yes));
    box.removeAttribute('aria-activedescendant');
    at = -1;
  };
  const take = (t) => {
    open(false);
    choose(current, t, true);
  };
  const point = (i) => {
    at = i;
    Array.from(list.children).forEach((e, k) => e.setAttribute('aria-selected', String(k === i)));
    box.setAttribute('aria-activedescendant', 'found-' + i);
    list.children[i].scrollIntoView({ block: 'nearest' });
  };
  const option = (t, i) => el('li', { role: 'option', id: 'found-' + i, 'aria-selected': 'false',
    onpointerdown: (event) => { event.preventDefault(); take(t); } },
  t.node !== undefined ? t.node + ' ' : 'leaf ', nameOf(shownName(t)), ' ' + t.op + ' ', chip(t.on), ' ' + t.cause);
  const fill = () => {
    const all = matches(current, box.value);
    hits = all.slice(0, MOST_HITS);
    list.replaceChildren(...hits.map(option));
    if (hits.length === 0) { list.append(el('li', { role: 'option', 'aria-disabled': 'true' }, 'none found')); }
    open(box.value.trim() !== '');
    if (!list.hidden) { say(count(all.length, 'tensor') + ' found'); }
  };
  const keys = {
    ArrowDown: () => { if (list.hidden) { fill(); } point((at + 1) % hits.length); },
    ArrowUp: () => point((at + hits.length - (at < 0 ? 0 : 1)) % hits.length),
    Enter: () => take(hits[Math.max(0, at)]),
  };
  box.addEventListener('input', fill);
  box.addEventListener('blur', () => open(false));
  box.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') {
      if (list.hidden) { box.value = ''; }
      open(false);
    } else if (keys[event.key] !== undefined && hits.length > 0) {
      event.preventDefault();
      keys[event.key]();
    }
  });
}
