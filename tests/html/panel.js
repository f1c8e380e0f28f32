/* panel.js - a function that gives what the panel tells of a tensor. */
(id) => {
  location.hash = '#tensor=' + encodeURIComponent(id);
  return new Promise((done) => setTimeout(() => {
    const panel = document.getElementById('detail');
    const texts = (selector) => Array.from(panel.querySelectorAll(selector)).map((e) => e.textContent.trim());
    done({ hidden: panel.hidden, title: texts('h2')[0], steps: texts('.history tr td:last-child'),
      passes: texts('.history th'), whyNot: texts('.why-not li'), hints: texts('.hints li'),
      sources: texts('.sources li .tensor') });
  }, 0));
}
