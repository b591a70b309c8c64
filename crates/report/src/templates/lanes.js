'use strict';
// A diagram in a narrow box: its lanes stand closer together until all of them are
// visible. Labels have no room then; what a step does is told in words above.
function closeLanes(svg, width) {
  const number = (element, name) => +element.getAttribute(name);
  const all = (selector) => [...svg.querySelectorAll(selector)];
  const whole = svg.viewBox.baseVal.width;
  const gutter = number(svg.querySelector('.k'), 'x') + 8;
  const lanes = [...new Set(all('.headt').map((head) => number(head, 'x')))];
  lanes.sort((one, other) => one - other);

  // Where each x comes to: between these pairs evenly. Around a lane nothing is
  // squeezed, so that marks keep their shape.
  const first = 50;
  const gap = (width - 26 - first) / Math.max(lanes.length - 1, 1);
  const near = Math.min(14, gap / 2 - 1);
  const pairs = [[0, 0], [gutter - 34, 2], [gutter, 34]];
  lanes.forEach((lane, place) => {
    const to = first + place * gap;
    pairs.push([lane - near, to - near], [lane + near, to + near]);
  });
  pairs.push([whole - 8, width - 5], [whole, width]);
  const moved = (x) => {
    const at = Math.max(pairs.findIndex(([from]) => x <= from), 1);
    const [[a, from], [b, to]] = [pairs[at - 1], pairs[at]];
    return Math.round((from + (x - a) * (to - from) / (b - a)) * 10) / 10;
  };

  for (const circle of all('circle')) circle.setAttribute('cx', moved(number(circle, 'cx')));
  for (const rect of all('rect:not(.legend *)')) {
    const [x, wide] = [number(rect, 'x'), number(rect, 'width')];
    rect.setAttribute('x', moved(x));
    rect.setAttribute('width', moved(x + wide) - moved(x));
  }
  for (const text of all('text:not(.legend *)')) {
    text.setAttribute('x', text.matches('.vt') ? 40 : moved(number(text, 'x')));
  }
  for (const path of all('path:not(.legend *)')) {
    const way = path.getAttribute('d');
    path.setAttribute('d', way.replace(/([MLH])(-?[\d.]+)/g, (_, to, x) => to + moved(+x)));
  }
  for (const message of all('.m:not(.legend *)')) {
    const tip = message.querySelector('.a');
    if (tip) tip.setAttribute('d', arrowTip(message.querySelector('path').getAttribute('d')));
  }
  svg.setAttribute('width', width);
  svg.setAttribute('viewBox', '0 0 ' + width + ' ' + svg.viewBox.baseVal.height);
  svg.classList.add('close');
}

// The tip at the end of a line `Mx yLx y`, which points another way now.
function arrowTip(line) {
  const [x1, y1, x2, y2] = line.match(/-?[\d.]+/g).map(Number);
  const length = Math.max(Math.hypot(x2 - x1, y2 - y1), 1);
  const [ux, uy] = [(x2 - x1) / length * 8, (y2 - y1) / length * 8];
  const corner = (side) => (x2 - ux - uy * side) + ' ' + (y2 - uy + ux * side);
  return 'M' + x2 + ' ' + y2 + 'L' + corner(0.45) + 'L' + corner(-0.45) + 'z';
}
