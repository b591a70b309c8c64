'use strict';
// The page is complete without this script; it adds a window onto the time
// line. The drawing itself never changes: a window is the view box of its
// pictures, and the place of the labels on top of them.
(() => {
  const root = document.documentElement;
  root.classList.add('scripted');
  const $ = (selector, from = document) => from.querySelector(selector);
  const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];

  $('#theme').addEventListener('click', () => {
    const dark = root.dataset.theme
      ? root.dataset.theme === 'dark'
      : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
  });

  // --- the window, in ms ---------------------------------------------------
  const chart = $('#chart');
  const plot = $('.plot', chart);
  const end = +chart.dataset.end;
  const views = $$('svg.view', chart).map((svg) => [svg, svg.viewBox.baseVal.height]);
  const labels = $$('.lanes .x', chart).map((label) => ({
    label, from: +label.dataset.from, to: +label.dataset.to, text: label.textContent,
  }));
  // Closer than this, 32-bit floats of the browser would place marks beside
  // where they belong.
  const narrowest = Math.max(0.5, end / 6000);
  let from = 0;
  let width = end;

  function time(ms, step) {
    const digits = Math.max(0, Math.min(6, Math.ceil(3 - Math.log10(step))));
    return (ms / 1e3).toFixed(digits) + ' s';
  }

  function step(rough) {
    const power = 10 ** Math.floor(Math.log10(rough));
    return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) || rough;
  }

  function ticks() {
    const many = Math.max(2, Math.floor(plot.clientWidth / 110));
    const by = Math.max(0.001, step(width / many));
    const marks = [];
    // At the right edge there is no room for a label.
    for (let at = Math.ceil(from / by) * by; at <= from + 0.96 * width; at += by) {
      const span = document.createElement('span');
      span.style.left = ((at - from) / width) * 100 + '%';
      span.textContent = at === 0 ? '0' : time(at, by);
      marks.push(span);
    }
    $('#ticks').replaceChildren(...marks);
  }

  function show(wantedFrom, wantedWidth) {
    width = Math.min(end, Math.max(Math.min(narrowest, end), wantedWidth));
    from = Math.min(Math.max(0, wantedFrom), end - width);
    for (const [svg, height] of views) {
      svg.setAttribute('viewBox', from + ' 0 ' + width + ' ' + height);
    }
    const room = plot.clientWidth;
    for (const one of labels) {
      const left = Math.max(one.from, from);
      const right = Math.min(one.to, from + width);
      const style = one.label.style;
      style.left = ((left - from) / width) * 100 + '%';
      style.width = Math.max(0, (right - left) / width) * 100 + '%';
      one.label.hidden = right < left;
      one.label.textContent = ((right - left) / width) * room < 24 ? '' : one.text;
    }
    ticks();
    $('#window').textContent = width >= end
      ? 'the whole run'
      : time(from, width / 100) + ' to ' + time(from + width, width / 100);
  }

  function zoom(factor, at = from + width / 2) {
    const next = Math.min(end, Math.max(narrowest, width * factor));
    show(at - ((at - from) / width) * next, next);
  }

  // --- violations ----------------------------------------------------------
  const violations = $$('#violations tbody tr');
  let current = -1;

  function go(index) {
    if (!violations.length) return;
    current = (index + violations.length) % violations.length;
    for (const row of violations) row.classList.toggle('on', row === violations[current]);
    const { from: a, to: b } = violations[current].dataset;
    show(+a, Math.max(0.001, b - a));
    chart.scrollIntoView({ block: 'nearest' });
  }

  const does = {
    first: () => go(0),
    next: () => go(current + 1),
    prev: () => go(current < 0 ? -1 : current - 1),
    in: () => zoom(0.5),
    out: () => zoom(2),
    left: () => show(from - width / 4, width),
    right: () => show(from + width / 4, width),
    all: () => show(0, end),
  };

  document.addEventListener('click', (event) => {
    const button = event.target.closest('button[data-do]');
    if (button) { does[button.dataset.do](); return; }
    if (event.target.closest('#jump')) { does.first(); return; }
    const link = event.target.closest('#violations a');
    if (link) {
      event.preventDefault();
      history.replaceState(null, '', link.hash);
      go(violations.indexOf(link.closest('tr')));
      chart.focus();
      return;
    }
    const copy = event.target.closest('.copy');
    if (copy) {
      navigator.clipboard.writeText(copy.previousElementSibling.textContent);
      copy.textContent = 'copied';
      setTimeout(() => { copy.textContent = 'copy'; }, 1500);
    }
  });

  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const anywhere = { v: 'first', n: 'next', p: 'prev' }[event.key];
    // Arrows scroll tables and the page; they move the window only on it.
    const here = chart.contains(document.activeElement) && {
      ArrowLeft: 'left', ArrowRight: 'right', '+': 'in', '=': 'in', '-': 'out', 0: 'all', Home: 'all',
    }[event.key];
    const what = anywhere || here;
    if (what) { does[what](); event.preventDefault(); }
  });

  // --- mouse -----------------------------------------------------------------
  const timeAt = (event) => {
    const box = plot.getBoundingClientRect();
    return from + ((event.clientX - box.left) / box.width) * width;
  };
  let held = null;
  chart.addEventListener('pointerdown', (event) => {
    if (event.button === 0 && event.target.closest('.plot')) {
      held = { x: event.clientX, from };
      chart.setPointerCapture(event.pointerId);
    }
  });
  chart.addEventListener('pointermove', (event) => {
    const box = plot.getBoundingClientRect();
    if (held) show(held.from - ((event.clientX - held.x) / box.width) * width, width);
    const inside = event.clientX >= box.left && event.clientX <= box.right;
    const cursor = $('#cursor');
    cursor.hidden = !inside;
    if (inside) {
      cursor.style.left = event.clientX - chart.getBoundingClientRect().left - chart.clientLeft + 'px';
      cursor.dataset.at = time(timeAt(event), width / 1000);
      cursor.classList.toggle('right', event.clientX > box.left + box.width * 0.8);
    }
  });
  for (const name of ['pointerup', 'pointercancel']) {
    chart.addEventListener(name, () => { held = null; });
  }
  chart.addEventListener('pointerleave', () => { $('#cursor').hidden = true; });
  chart.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event));
  }, { passive: false });
  addEventListener('resize', () => show(from, width));

  show(0, end);
  const wanted = /^#v\d+$/.test(location.hash) && $(location.hash);
  if (wanted) go(violations.indexOf(wanted));
})();
