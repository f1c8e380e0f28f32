/* dom.js - elements from data.  Texts become text nodes and nothing else: no markup is ever made of them. */

/* el('td.number', {title: 'x'}, 'text', element, ...): null and undefined are left out. */
function el(spec, attributes, ...children) {
  const [tag, ...classes] = spec.split('.');
  const e = document.createElement(tag);
  return dress(e, classes, attributes, children);
}

const drawing = document.getElementById('drawing');

/* The same within a drawing; the namespace is that of the drawing in the page. */
function draw(spec, attributes, ...children) {
  const [tag, ...classes] = spec.split('.');
  return dress(document.createElementNS(drawing.namespaceURI, tag), classes, attributes, children);
}

function dress(e, classes, attributes, children) {
  if (classes.length > 0) { e.setAttribute('class', classes.join(' ')); }
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) { continue; }
    if (key.startsWith('on')) {
      e.addEventListener(key.slice(2), value);
    } else {
      e.setAttribute(key, value === true ? '' : value);
    }
  }
  add(e, children);
  return e;
}

function add(e, children) {
  for (const child of children) {
    if (Array.isArray(child)) {
      add(e, child);
    } else if (child !== null && child !== undefined && child !== '') {
      e.append(child.nodeType !== undefined ? child : shown(child));
    }
  }
}

const byId = (id) => document.getElementById(id);

/* A name out of the file keeps its direction to itself. */
const nameOf = (text) => el('bdi', null, text);
const chip = (b) => el('span.chip.' + hue(b), null, nameOf(backendName(b)));
const chipOf = (name) => el('span.chip.' + hueOf(name), null, nameOf(name));

const tableCell = (tag, c, content, attributes) => el(tag + (c ? '.' + c : ''), attributes, content);

/* A table: columns are ['head', 'class']; rows are arrays of cells. */
function table(caption, columns, rows) {
  return el('div.scroll', null, el('table', null, el('caption.unseen', null, caption),
    el('thead', null, el('tr', null, columns.map(([head, c]) => tableCell('th', c, head, { scope: 'col' })))),
    el('tbody', null, rows.map((row) => el('tr', null, row.map((cell, i) => tableCell('td', columns[i][1], cell)))))));
}

/* ---- long lists ------------------------------------------------------------------------------------------------ */

/* What stands for a stretch that is not shown, as its parent wants it. */
function gapElement(parent, button) {
  switch (parent.tagName) {
    case 'TBODY': return el('tr.gap', null, el('td', { colspan: 8 }, button));
    case 'UL': return el('li.gap', null, button);
    case 'P': return el('span.gap', null, button);
    default: return el('div.gap', null, button);
  }
}

/*
 * Long lists are shown in parts: make(i) gives an element, what is not shown stands behind a button in its place.  The
 * function that comes back shows the part with an element, without those before it.
 */
function inParts(parent, n, part, make, noun) {
  const gaps = new Set();
  const gap = (from, to) => {
    if (from >= to) { return []; }
    const button = el('button.more', { type: 'button' },
      'Show ' + Math.min(part, to - from) + ' more of ' + count(to - from, noun));
    const g = { from, to, element: gapElement(parent, button) };
    gaps.add(g);
    button.addEventListener('click', () => {
      const next = fill(g, from, Math.min(from + part, to))[0];
      const target = next.matches('button') ? next : next.querySelector('button, [tabindex]');
      if (target !== null) { target.focus(); }
    });
    return [g.element];
  };
  const fill = (g, from, to) => {
    const fresh = [];
    for (let i = from; i < to; i++) { fresh.push(make(i)); }
    gaps.delete(g);
    g.element.replaceWith(...gap(g.from, from), ...fresh, ...gap(to, g.to));
    return fresh;
  };
  if (n > 0) {
    parent.append(...gap(0, n));
    fill(...gaps, 0, Math.min(part, n));
  }
  return (i) => {
    const g = Array.from(gaps).find((at) => at.from <= i && i < at.to);
    const from = i - i % part;
    if (g !== undefined) { fill(g, Math.max(from, g.from), Math.min(from + part, g.to)); }
  };
}

/* ---- keys ------------------------------------------------------------------------------------------------------ */

/* One stop for the tab key in a group; arrow keys move within it. */
function roving(group, selector, keys) {
  const items = () => Array.from(group.querySelectorAll(selector)).filter((e) => e.getClientRects().length > 0);
  const stop = (e) => {
    group.querySelectorAll(selector + '[tabindex="0"]').forEach((other) => other.setAttribute('tabindex', '-1'));
    e.setAttribute('tabindex', '0');
  };
  const first = group.querySelector(selector);
  if (first) { stop(first); }
  group.addEventListener('focusin', (event) => {
    const item = event.target.closest(selector);
    if (item && group.contains(item)) { stop(item); }
  });
  group.addEventListener('keydown', (event) => {
    const item = event.target.closest(selector);
    const step = { [keys[0]]: -1, [keys[1]]: 1, Home: -Infinity, End: Infinity, PageUp: -10, PageDown: 10 }[event.key];
    if (!item || step === undefined || event.altKey || event.ctrlKey || event.metaKey) { return; }
    const all = items();
    const to = Math.max(0, Math.min(all.length - 1, all.indexOf(item) + step));
    event.preventDefault();
    all[to].focus();
    all[to].scrollIntoView({ block: 'nearest', inline: 'nearest' });
  });
}

const say = (text) => { byId('said').textContent = shown(text); };
