// The tables are there without this script; it unpacks what is behind a cell, and
// adds filters, stepping and keys. It reads no data but the document. The markup that
// it unpacks was made and escaped by whoever wrote the page.
(() => {
  const root = document.documentElement;
  root.classList.add('scripted');
  const $ = (selector, from = document) => from.querySelector(selector);
  const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];

  // --- theme -------------------------------------------------------------
  $('#theme').addEventListener('click', () => {
    const dark = root.dataset.theme
      ? root.dataset.theme === 'dark'
      : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
  });

  // --- filters -----------------------------------------------------------
  const filters = ['lock', 'property', 'verdict'].map((name) => $('#f-' + name));
  const matches = (td, verdict) =>
    !verdict ||
    (verdict === 'unexpected' ? td.classList.contains('surprise') : td.dataset.verdict === verdict);
  function filter() {
    const [lock, property, verdict] = filters.map((f) => f.value);
    let shown = 0;
    for (const body of $$('.verdicts tbody')) {
      let any = false;
      for (const row of $$('tr[data-property]', body)) {
        let found = 0;
        for (const td of $$('td[data-verdict]', row)) {
          const on = matches(td, verdict);
          td.classList.toggle('off', !on);
          found += on;
        }
        const fits = (!lock || body.dataset.lock === lock) &&
          (!property || row.dataset.property === property) && found > 0;
        row.hidden = !fits;
        if (fits) { any = true; shown += found; }
      }
      body.hidden = !any;
    }
    const active = lock || property || verdict;
    $('#count').textContent = active ? shown + (shown === 1 ? ' cell' : ' cells') : '';
  }
  // A report of scenarios alone has no matrix.
  filters.forEach((f) => f && f.addEventListener('change', filter));

  // --- the open cell -----------------------------------------------------
  let current = null; // the counterexample on show
  let step = 0;
  let lastCell = null; // to give the focus back

  const packs = new Map(); // a document for each pack that was opened

  async function unpack(id) {
    if (!packs.has(id)) {
      const packed = document.getElementById(id).content.textContent.trim();
      const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
      const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
      const text = await new Response(plain).text();
      packs.set(id, new DOMParser().parseFromString(text, 'text/html'));
    }
    return packs.get(id);
  }

  const shelf = $('#shelf');
  function close() {
    shelf.replaceChildren();
    document.body.classList.remove('reading');
    current = null;
    if (lastCell) { lastCell.focus(); lastCell = null; }
  }

  // An old browser has no DecompressionStream.
  function refuse(error) {
    const note = document.createElement('p');
    note.className = 'note alarm';
    note.setAttribute('role', 'alert');
    note.textContent = 'This browser cannot unpack what is behind a cell (' + error.message +
      '). report.md and the pages in locks/ show it without.';
    const back = document.createElement('a');
    back.className = 'back';
    back.href = '#top';
    back.textContent = '← matrix';
    shelf.replaceChildren(back, note);
    document.body.classList.add('reading');
    scrollTo(0, 0);
  }

  const here = () => location.hash.slice(1);
  async function open() {
    const id = here();
    const link = /^[cs][0-9]+$/.test(id) && $('.verdicts a[href="#' + id + '"]');
    if (!link) { close(); return; }
    const active = document.activeElement;
    const from = active.matches('#matrix a[href="#' + id + '"]') ? active : link;
    let pack;
    try {
      pack = await unpack('pack' + link.closest('[data-pack]').dataset.pack);
    } catch (error) {
      refuse(error);
      return;
    }
    // Somebody may have gone on meanwhile.
    if (here() !== id) return;
    const take = (name) => {
      const found = name && pack.getElementById(name);
      return found && document.importNode(found, true);
    };
    const target = take(id);
    lastCell = from;
    current = null;
    shelf.replaceChildren(target);
    if ($('.asked', target)) list(link, $('.asked', target));
    document.body.classList.add('reading');
    scrollTo(0, 0);
    if (target.classList.contains('src')) return;
    const cx = take(target.dataset.cx);
    const src = take(target.dataset.source);
    let place = $(':scope > .slot-src', target);
    if (cx) {
      $('.slot', target).append(cx);
      fit(cx);
      place = $('.panes .slot-src', cx) || place;
    }
    if (src) place.append(src);
    $('h2', target).focus({ preventScroll: true });
    if (cx && $('.now', cx)) {
      current = cx;
      go(wantBad ? +cx.dataset.violation : 1);
      wantBad = false;
    }
  }

  // The properties of a lock under the faults of a cell, with their verdicts.
  function list(link, nav) {
    const cell = link.closest('td');
    const column = [...cell.parentElement.children].indexOf(cell);
    const rows = $$('tr[data-property]', cell.closest('tbody'));
    for (const td of rows.map((row) => row.children[column])) {
      const from = $('a', td);
      if (!from) continue;
      const [name, sizes] = [td.parentElement.dataset.property, $('th small', td.parentElement)];
      const to = document.createElement('a');
      to.href = from.hash;
      to.className = 'word ' + td.dataset.verdict;
      const mark = document.createElement('i');
      mark.setAttribute('aria-hidden', 'true');
      mark.textContent = from.textContent.trim().split(' ')[0];
      to.append(mark, ' ' + name + (sizes ? ' (' + sizes.textContent + ')' : ''));
      to.setAttribute('aria-label', to.textContent.slice(2) + ': ' + td.dataset.verdict);
      if (from === link) to.setAttribute('aria-current', 'true');
      nav.append(to);
    }
  }

  // A diagram that is wider than its box can have its lanes closer together; on a
  // telephone it has.
  function fit(cx) {
    const [drawn, button] = [$('svg.lp', cx), $('[data-lanes]', cx)];
    const room = $('.diagram', cx) && $('.diagram', cx).clientWidth;
    // A run of nothing but ticks has no steps, and fits.
    if (!drawn || !$('.k', drawn) || drawn.viewBox.baseVal.width <= room) return;
    const close = drawn.cloneNode(true);
    closeLanes(close, room);
    const show = (narrow) => {
      (narrow ? drawn : close).replaceWith(narrow ? close : drawn);
      button.setAttribute('aria-pressed', narrow);
    };
    button.hidden = false;
    button.addEventListener('click', () => {
      show(button.getAttribute('aria-pressed') !== 'true');
      go(step);
    });
    if (room < 640) show(true);
  }

  for (const details of $$('details[data-drawing]')) {
    details.addEventListener('toggle', async () => {
      const place = $('.diagram', details);
      if (!details.open || place.firstChild) return;
      const found = (await unpack('drawings')).getElementById(details.dataset.drawing);
      if (found) place.replaceChildren(...document.importNode(found, true).childNodes);
    });
  }
  let wantBad = false;

  function visible(element, box) {
    const a = element.getBoundingClientRect();
    const b = box.getBoundingClientRect();
    if (a.top < b.top) box.scrollTop += a.top - b.top - 40;
    else if (a.bottom > b.bottom) box.scrollTop += a.bottom - b.bottom + 40;
  }

  function mark(selector, on, from) {
    for (const old of $$(selector + '.on', from)) old.classList.remove('on');
    for (const now of on) now.classList.add('on');
  }

  function lineOf(number) {
    const li = $('.now li[data-step="' + number + '"]', current);
    return li ? +li.dataset.line : 0;
  }

  // A step without a line of its own (a reply on its way, a tick) keeps the
  // line that acted last, of the same run of steps.
  function showLine(number) {
    let line = 0;
    for (let k = number; k > 0 && !line; k--) line = lineOf(k);
    const code = $('.code.main', current);
    const li = code && line ? code.children[line - 1] : null;
    mark('.code li', li ? [li] : [], current);
    return li;
  }

  function go(wanted) {
    const items = $$('.now li', current);
    step = Math.min(Math.max(wanted, 1), items.length);
    const pick = (selector) => $$(selector + '[data-step="' + step + '"]', current);
    mark('.now li', pick('.now li'), current);
    mark('.lp .s', pick('.lp .s'), current);
    const told = pick('.story span');
    mark('.story span', told, current);
    const li = showLine(step);
    // The last line first: if not all of them fit, the first one wins.
    for (const line of [told.at(-1), told[0]]) {
      if (line) visible(line, $('.story', current));
    }
    if (li) visible(li, $('.text .slot-src', current));
    const row = pick('.lp .s')[0];
    if (row) {
      const at = row.getBoundingClientRect();
      if (at.top < 130 || at.bottom > innerHeight - 20) {
        scrollBy(0, at.top - innerHeight / 2);
      }
    }
  }

  const moves = {
    first: () => go(1),
    prev: () => go(step - 1),
    next: () => go(step + 1),
    bad: () => go(+current.dataset.violation),
  };

  document.addEventListener('click', (event) => {
    const button = event.target.closest('button[data-go]');
    if (button && current) {
      const move = moves[button.dataset.go];
      if (move) move(); else go(+button.dataset.go);
      return;
    }
    const copy = event.target.closest('.copy');
    if (copy) {
      const text = $('code', copy.parentElement);
      getSelection().selectAllChildren(text);
      if (navigator.clipboard) navigator.clipboard.writeText(text.textContent).catch(() => {});
      copy.textContent = 'copied';
      setTimeout(() => { copy.textContent = 'copy'; }, 1500);
      return;
    }
    const row = event.target.closest('.story span[data-step], .lp .s');
    if (row && current && current.contains(row)) go(+row.dataset.step);
  });

  // Hovering shows a step's line without leaving the step that is marked.
  document.addEventListener('mouseover', (event) => {
    if (!current) return;
    const row = event.target.closest('.lp .s, .story span[data-step]');
    showLine(row && current.contains(row) ? +row.dataset.step : step);
  });

  function jump() {
    const button = $('#jump');
    // The next one after the cell that has the focus, so that `v` walks through all.
    const all = $$('.verdicts td[data-verdict=violated]:not(.off)')
      .filter((td) => td.offsetParent !== null);
    const cell = document.activeElement.closest('.verdicts td');
    const follows = Node.DOCUMENT_POSITION_FOLLOWING;
    const shown = all.find((td) => cell && cell.compareDocumentPosition(td) & follows) || all[0];
    // Behind an open cell the table is not shown.
    const first = document.body.classList.contains('reading') && button;
    const target = shown ? $('a', shown).hash : first && '#' + first.dataset.first;
    if (target) { wantBad = true; location.hash = target; }
  }
  if ($('#jump')) $('#jump').addEventListener('click', jump);

  // --- keys --------------------------------------------------------------
  // A table is one tab stop; arrows go from cell to cell.
  const tables = $$('#matrix .scroll > table');
  for (const table of tables) {
    $$('td a', table).forEach((link, place) => { link.tabIndex = place ? -1 : 0; });
  }
  function across(link, key) {
    const td = link.closest('td');
    const row = td.parentElement;
    const column = [...row.children].indexOf(td);
    if (key === 'ArrowLeft' || key === 'ArrowRight') {
      const links = $$('td a', row);
      return links[links.indexOf(link) + (key === 'ArrowLeft' ? -1 : 1)];
    }
    const rows = $$('tr', row.closest('table'))
      .filter((r) => r.offsetParent !== null && $('td a', r));
    const other = rows[rows.indexOf(row) + (key === 'ArrowUp' ? -1 : 1)];
    return other && ((other.children[column] && $('a', other.children[column])) || $('td a', other));
  }

  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest('select, input, textarea')) return;
    const key = event.key;
    const link = event.target.closest('#matrix td a');
    if (link && key.startsWith('Arrow')) {
      const next = across(link, key);
      if (next) {
        link.tabIndex = -1;
        next.tabIndex = 0;
        next.focus();
        event.preventDefault();
      }
      return;
    }
    if (!shelf.firstChild) {
      if (key === 'v') jump();
      return;
    }
    if (key === 'Escape') { location.hash = '#top'; close(); return; }
    if (!current) return;
    const move = {
      ArrowRight: 'next', j: 'next', ArrowLeft: 'prev', k: 'prev', Home: 'first', v: 'bad', End: 'bad',
    }[key];
    if (move) { moves[move](); event.preventDefault(); }
  });

  addEventListener('hashchange', open);
  open();
})();
