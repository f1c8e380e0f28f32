/* main.js - puts a run's sections on the page, and ties keys, pointers and the address together. */

let current = runs[0];

/* Those that are null are left out. */
const SECTIONS = [
  ['summary', 'Summary', (run) => summary(run)],
  ['all-runs', 'Runs', (run) => (runs.length > 1 ? allRuns(run) : null)],
  ['findings', 'Findings', (run) => (run.report.findings === undefined ? null : findings(run))],
  ['cuts', 'What cuts it', (run) => (run.report.n_splits > 1 ? cuts(run) : null)],
  ['graph', 'Splits', (run) => (run.report.n_splits > 0 ? [lanes(run), splits(run)] : null)],
  ['passes', 'Passes', (run) => passes(run)],
  ['timeline', 'Timeline', (run) => timeline(run)],
  ['values', 'Values', (run) => values(run)],
  ['memory', 'Memory', (run) => memory(run)],
  ['reallocation', 'Reallocation', (run) => reallocation(run)]];

/* A picture of thousands of rectangles can wait until it is looked at. */
function later(section, make) {
  let done = false;
  section.fill = () => {
    if (!done) {
      done = true;
      add(section, [make()]);
    }
  };
  const watch = new IntersectionObserver((entries) => {
    if (entries.some((e) => e.isIntersecting)) {
      watch.disconnect();
      section.fill();
    }
  }, { rootMargin: '400px' });
  watch.observe(section);
}

function show(run) {
  const main = byId('report');
  const links = byId('sections').firstElementChild;
  const large = run.head.nodes > SMALL;
  current = run;
  hidePanel();
  main.replaceChildren();
  links.replaceChildren();
  for (const [id, title, make] of SECTIONS) {
    const waits = large && ['passes', 'memory'].includes(id);
    const content = waits ? [] : make(run);
    if (content === null) { continue; }
    const section = el('section.part', { id, 'aria-labelledby': id + '-title' },
      el('h2', { id: id + '-title', tabindex: -1 }, title), content);
    main.append(section);
    if (waits) { later(section, () => make(run)); }
    links.append(el('li', null, el('a', { href: '#' + id }, title)));
  }
  byId('runs').querySelectorAll('a').forEach((a, i) => a.setAttribute('aria-current', String(runs[i] === run)));
}

/* ---- pointers and keys ----------------------------------------------------------------------------------------- */

function tensorUnder(event) {
  const e = event.target.closest('[data-tensor]');
  return e !== null ? current.graph.tensors[Number(e.dataset.tensor)] : null;
}

/* What is pointed at shows in the panel for as long; the chosen tensor comes back after it. */
function startPointers() {
  let timer = 0;
  document.addEventListener('pointerover', (event) => {
    const t = tensorUnder(event);
    clearTimeout(timer);
    if (event.pointerType === 'mouse' && event.target.closest('#detail') === null && (t !== null || chosen !== null)) {
      timer = setTimeout(() => showPanel(current, t !== null ? t : chosen), t !== null ? 120 : 500);
    }
  });
  document.addEventListener('focusin', (event) => {
    const t = tensorUnder(event);
    if (t !== null && event.target.closest('main') !== null && event.target.matches(':focus-visible')) {
      showPanel(current, t);
    }
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

/* From a node to the first one of the split before or after. */
function toNextSplit(event, step) {
  const i = Number(event.target.closest('[data-split]').dataset.split) + step;
  if (i >= 0 && i < current.report.n_splits) {
    event.preventDefault();
    choose(current, current.graph.tensors[current.graph.nodes[current.report.splits[i].start]], true);
  }
}

function startKeys() {
  document.addEventListener('keydown', (event) => {
    const typing = event.target.matches('input');
    const held = event.ctrlKey || event.metaKey || event.altKey;
    if (event.key === '/' && !typing && !held) {
      event.preventDefault();
      byId('find').focus();
    } else if (event.key === 'Escape' && !typing && !byId('detail').hidden) {
      closePanel();
    } else if (!held && event.target.matches('table.nodes button.tensor')) {
      if (event.key === 'ArrowLeft') { toNextSplit(event, -1); }
      if (event.key === 'ArrowRight') { toNextSplit(event, 1); }
    }
  });
}

/* ---- the address: #run=1, #split=3, #tensor=ID, or a section --------------------------------------------------- */

function goToSection(id) {
  const section = byId(id);
  if (section.fill !== undefined) { section.fill(); }
  byId(id + '-title').focus({ preventScroll: true });
  section.scrollIntoView();
}

function goToRun(index) {
  const run = runs.find((r) => String(r.head.index) === index);
  if (run !== undefined && run !== current) {
    show(run);
    byId('report').focus();
    scrollTo(0, 0);
  }
}

function follow() {
  let text = '';
  try {
    text = decodeURIComponent(location.hash.slice(1));
  } catch (error) {
    return; /* no address of this page */
  }
  const value = text.slice(text.indexOf('=') + 1);
  if (text.startsWith('run=')) {
    goToRun(value);
  } else if (text.startsWith('split=')) {
    goToSplit(Number(value));
  } else if (text.startsWith('tensor=') && current.graph.byId.has(value)) {
    choose(current, current.graph.byId.get(value), true);
  } else if (SECTIONS.some(([id]) => id === text) && byId(text) !== null) {
    goToSection(text);
  }
}

/* ---- start ----------------------------------------------------------------------------------------------------- */

function putHeader() {
  byId('name').append(shown(report.name));
  byId('lead').textContent = count(runs.length, 'run') + ', backends ' + report.backends.map(shown).join(' ');
  byId('about').textContent = shown(about);
  if (runs.length > 1) {
    byId('runs').hidden = false;
    byId('runs').append(el('ul', null,
      runs.map((r) => el('li', null, el('a', { href: '#run=' + r.head.index }, runTitle(r.head))))));
  }
}

function start() {
  putHeader();
  if (current === undefined) {
    byId('report').append(el('p', null, 'No run was made.'));
    return;
  }
  show(current);
  startSearch();
  startPointers();
  startKeys();
  addEventListener('hashchange', follow);
  addEventListener('beforeprint', () => {
    document.querySelectorAll('section.part').forEach((s) => { if (s.fill !== undefined) { s.fill(); } });
  });
  follow();
  if (current.graph.open !== undefined && location.hash === '') {
    choose(current, current.graph.tensors[current.graph.open], true);
  }
}

start();
document.documentElement.dataset.ready = 'true';
