/* main.js - puts a run's sections on the page, and ties keys, pointers and the address together. */

let current = runs[0];

const SECTIONS = [
  ['summary', 'Summary', (run) => summary(run)],
  ['all-runs', 'Runs', (run) => (runs.length > 1 ? allRuns(run) : null)],
  ['findings', 'Findings', (run) => (run.report.findings === undefined ? null : findings(run))],
  ['cuts', 'What cuts it', (run) => (run.report.n_splits > 1 ? cuts(run) : null)],
  ['graph', 'Splits', (run) => (run.report.n_splits > 0 ? [...lanes(run), ...splits(run)] : null)],
  ['passes', 'Passes', (run) => passes(run)],
  ['timeline', 'Timeline', (run) => timeline(run)],
  ['values', 'Values', (run) => values(run)],
  ['memory', 'Memory', (run) => memory(run)],
  ['reallocation', 'Reallocation', (run) => reallocation(run)]];

/* A picture of thousands of rectangles can wait until it is looked at. */
function later(section, make) {
  let done = false;
  const fill = () => { if (!done) { done = true; add(section, [make()]); } };
  section.fill = fill;
  new IntersectionObserver((entries, watch) => { if (entries.some((e) => e.isIntersecting)) { watch.disconnect(); fill(); } },
    { rootMargin: '400px' }).observe(section);
}

function show(run) {
  current = run;
  chosen = null;
  visible = null;
  byId('detail').hidden = true;
  document.body.classList.remove('with-detail');
  const main = byId('report');
  const links = byId('sections').firstElementChild;
  const large = (run.report.n_nodes || 0) > SMALL;
  main.replaceChildren();
  links.replaceChildren();
  for (const [id, title, make] of SECTIONS) {
    const waits = large && ['passes', 'memory', 'timeline'].includes(id);
    const content = waits ? [] : make(run);
    if (content === null) { continue; }
    const section = el('section.part', { id, 'aria-labelledby': id + '-title' }, el('h2', { id: id + '-title', tabindex: -1 }, title), content);
    main.append(section);
    if (waits) { later(section, () => make(run)); }
    links.append(el('li', null, el('a', { href: '#' + id }, title)));
  }
  byId('runs').querySelectorAll('a').forEach((a, i) => a.setAttribute('aria-current', String(runs[i] === run)));
}

/* ---- keys and pointers ----------------------------------------------------------------------------------------- */

const tensorUnder = (event) => {
  const e = event.target.closest && event.target.closest('[data-tensor]');
  return e ? current.graph.tensors[Number(e.dataset.tensor)] : null;
};

function startPointers() {
  let timer = 0;
  const over = (event) => {
    const t = tensorUnder(event);
    clearTimeout(timer);
    if (event.pointerType === 'mouse' && !event.target.closest('#detail')) {
      timer = setTimeout(() => { if (t !== null) { showPanel(current, t); } else if (chosen !== null) { showPanel(current, chosen); } }, t !== null ? 120 : 500);
    }
  };
  document.addEventListener('pointerover', over);
  document.addEventListener('focusin', (event) => {
    const t = tensorUnder(event);
    if (t !== null && event.target.closest('main') && event.target.matches(':focus-visible')) { showPanel(current, t); }
  });
  document.addEventListener('click', (event) => {
    const t = tensorUnder(event);
    const link = event.target.closest('[data-to-split]');
    if (t !== null) {
      choose(current, t, event.target.closest('table.nodes') === null);
    } else if (link !== null) {
      event.preventDefault();
      goToSplit(Number(link.dataset.toSplit));
    }
  });
}

function startKeys() {
  document.addEventListener('keydown', (event) => {
    const typing = event.target.matches('input');
    if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      byId('find').focus();
    } else if (event.key === 'Escape' && !typing && !byId('detail').hidden) {
      closePanel();
    } else if ((event.key === 'ArrowLeft' || event.key === 'ArrowRight') && event.target.matches('table.nodes button.tensor')) {
      const i = Number(event.target.closest('[data-split]').dataset.split) + (event.key === 'ArrowLeft' ? -1 : 1);
      if (i >= 0 && i < current.report.n_splits) {
        event.preventDefault();
        choose(current, current.graph.tensors[current.graph.nodes[current.report.splits[i].start]], true);
      }
    }
  });
}

/* ---- the address: #run=1, #split=3, #tensor=ID, or a section ----------------------------------------------------- */

function follow() {
  let text = '';
  try {
    text = decodeURIComponent(location.hash.slice(1));
  } catch (e) {
    return;
  }
  const [key, value] = [text.split('=')[0], text.slice(text.indexOf('=') + 1)];
  if (key === 'run') {
    const run = runs.find((r) => String(r.report.index) === value);
    if (run !== undefined && run !== current) { show(run); byId('report').focus(); scrollTo(0, 0); }
  } else if (key === 'split') {
    goToSplit(Number(value));
  } else if (key === 'tensor' && current.graph.byId.has(value)) {
    choose(current, current.graph.byId.get(value), true);
  } else if (SECTIONS.some(([id]) => id === text) && byId(text + '-title')) {
    const section = byId(text);
    if (section.fill) { section.fill(); }
    byId(text + '-title').focus({ preventScroll: true });
    section.scrollIntoView();
  }
}

function start() {
  byId('name').append(shown(report.name));
  if (runs.length === 0) {
    byId('report').append(el('p', null, 'No run was made.'));
    return;
  }
  byId('lead').textContent = count(runs.length, 'run') + ', backends ' + report.backends.map(shown).join(' ');
  if (runs.length > 1) {
    byId('runs').hidden = false;
    byId('runs').append(el('ul', null, runs.map((r) => el('li', null, el('a', { href: '#run=' + r.report.index }, runTitle(r))))));
  }
  show(runs[0]);
  startSearch();
  startPointers();
  startKeys();
  addEventListener('hashchange', follow);
  addEventListener('beforeprint', () => { document.querySelectorAll('section.part').forEach((s) => { if (s.fill) { s.fill(); } }); });
  follow();
  if (current.graph.open !== undefined && location.hash === '') { choose(current, current.graph.tensors[current.graph.open], true); }
  document.documentElement.dataset.ready = 'true';
}

start();
