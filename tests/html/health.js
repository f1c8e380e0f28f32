/* health.js - a function that gives what is wrong with the page for people with other eyes or hands, as texts. */
() => {
  const wrong = [];
  const linear = (v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = (rgb) => rgb.slice(0, 3).map(linear)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const color = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const behind = (e) => {
    for (let at = e; at !== null; at = at.parentElement) {
      const c = color(getComputedStyle(at).backgroundColor);
      if (c.length === 3 || c[3] === 1) { return c; }
    }
    return [255, 255, 255];
  };
  const seen = new Set();
  document.querySelectorAll('body *').forEach((e) => {
    const own = Array.from(e.childNodes).some((n) => n.nodeType === 3 && n.textContent.trim() !== '');
    if (!own || e.closest('script,style,noscript,svg,.unseen,.skip') || e.getClientRects().length === 0) { return; }
    const [a, b] = [luminance(color(getComputedStyle(e).color)), luminance(behind(e))].sort((x, y) => y - x);
    const key = e.tagName + '.' + e.className + ' in ' + e.parentElement.className;
    if ((a + 0.05) / (b + 0.05) < 4.5 && !seen.has(key)) {
      seen.add(key);
      wrong.push('contrast ' + ((a + 0.05) / (b + 0.05)).toFixed(2) + ' of ' + key);
    }
  });
  for (const landmark of ['header', 'main', 'nav[aria-label]', 'aside', '[role=search]']) {
    if (document.querySelector(landmark) === null) { wrong.push('no ' + landmark); }
  }
  let level = 0;
  document.querySelectorAll('h1,h2,h3,h4').forEach((h) => {
    const own = Number(h.tagName[1]);
    if (own > level + 1) { wrong.push('heading ' + h.textContent + ' skips a level'); }
    level = own;
  });
  if (document.querySelectorAll('h1').length !== 1) { wrong.push('not one h1'); }
  const ids = Array.from(document.querySelectorAll('[id]')).map((e) => e.id);
  ids.filter((id, i) => ids.indexOf(id) !== i).forEach((id) => wrong.push('id ' + id + ' twice'));
  document.querySelectorAll('button,a[href],input,[tabindex="0"],[role=img],[role=link]').forEach((e) => {
    const label = e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.textContent.trim() ||
      (e.labels && e.labels.length > 0);
    if (!label) { wrong.push('no name: ' + e.outerHTML.slice(0, 80)); }
  });
  document.querySelectorAll('table').forEach((t) => {
    if (t.querySelector('caption') === null || t.querySelector('th') === null) { wrong.push('a bare table'); }
  });
  return wrong;
}
