// Elements and charts. Text always goes in as text: names come from foreign files.

function el(tag, attributes, ...children) {
  const svg = ['svg', 'g', 'rect', 'path', 'text', 'line', 'title', 'svg:a'].includes(tag);
  const node = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag.replace('svg:', '')) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false)
      continue;
    if (key.startsWith('on'))
      node.addEventListener(key.slice(2), value);
    else if (key === 'h')
      node.style.setProperty('--h', value);
    else
      node.setAttribute(key, value === true ? '' : value);
  }
  for (const child of children.flat(Infinity))
    if (child !== undefined && child !== null && child !== false)
      node.append(child instanceof Node ? child : String(child));
  return node;
}

const panel = (title, ...children) => el('section', {class: 'panel'}, title && el('h2', {}, title), children);
const empty = text => el('div', {class: 'empty'}, text);

// items: {label, value, shown, href, title}
function barChart(items, hot) {
  const most = Math.max(...items.map(item => item.value), 0) || 1;
  return el('div', {class: 'bars'}, items.map(item => [
    el('div', {class: 'label', title: item.title || item.label}, item.href ? el('a', {href: item.href}, item.label) : item.label),
    el('div', {class: 'track'}, el('div', {class: hot ? 'fill hot' : 'fill', h: item.value / most})),
    el('div', {class: 'value'}, item.shown)]));
}

// How values are distributed, in at most so many bins.
function histogram(values, show, bins = 30) {
  const least = Math.min(...values), most = Math.max(...values);
  const width = 640, height = 150, left = 44, bottom = 22;
  const count = most > least ? bins : 1;
  const counts = new Array(count).fill(0);
  for (const value of values)
    ++counts[Math.min(count - 1, Math.floor((value - least) / (most - least || 1) * count))];
  const top = Math.max(...counts), step = (width - left) / count;
  const svg = el('svg', {viewBox: `0 0 ${width} ${height + bottom}`, width: '100%', role: 'img', 'aria-label': 'histogram'});
  svg.append(el('line', {class: 'axis', x1: left, x2: width, y1: height, y2: height}),
    el('text', {class: 'tick', x: left - 6, y: 12, 'text-anchor': 'end'}, compact.format(top)),
    el('text', {class: 'tick', x: left - 6, y: height, 'text-anchor': 'end'}, '0'),
    el('text', {class: 'tick', x: left, y: height + 16}, show(least)),
    el('text', {class: 'tick', x: width, y: height + 16, 'text-anchor': 'end'}, show(most)));
  counts.forEach((n, b) => {
    const from = least + (most - least) * b / count, to = least + (most - least) * (b + 1) / count;
    const tall = n ? Math.max(2, n / top * (height - 6)) : 0;
    svg.append(el('rect', {class: 'mark', x: left + b * step + 1, width: Math.max(1, step - 2), y: height - tall, height: tall},
      el('title', {}, `${show(from)} to ${show(to)}: ${format(n)}`)));
  });
  return svg;
}

// Launches in time, a row for each queue.
function timeline(launches) {
  const timed = launches.filter(launch => launch[column.begin] !== null);
  if (timed.length === 0)
    return empty('No launch left times.');
  const queueOf = launch => `GPU ${launch[column.gpu]} queue ${launch[column.queue]}`;
  const queues = [...new Set(timed.map(queueOf))].sort();
  const end = Math.max(...timed.map(launch => launch[column.end])) || 1;
  const begin = Math.min(...timed.map(launch => launch[column.begin]));
  const width = 1000, left = 110, row = 26, height = queues.length * row;
  const x = time => left + (time - begin) / (end - begin || 1) * (width - left);
  const svg = el('svg', {viewBox: `0 0 ${width} ${height + 20}`, width: '100%', role: 'img', 'aria-label': 'launches in time'});
  queues.forEach((queue, q) => svg.append(el('text', {class: 'tick', x: left - 8, y: q * row + 17, 'text-anchor': 'end'}, queue),
    el('line', {class: 'axis', x1: left, x2: width, y1: (q + 1) * row, y2: (q + 1) * row})));
  for (const launch of timed) {
    const kernel = kernels.get(launch[column.kernel]);
    const from = x(launch[column.begin]);
    const mark = el('rect', {class: launch[column.instrumented] ? 'mark' : 'mark plain', x: from, y: queues.indexOf(queueOf(launch)) * row + 4,
      width: Math.max(0.7, x(launch[column.end]) - from), height: row - 8, rx: 2},
      el('title', {}, `${kernel ? kernel.name : 'unknown kernel'}, launch ${launch[column.launch]}: ${duration(launch[column.end] - launch[column.begin])}`));
    svg.append(kernel ? el('svg:a', {href: `#kernel/${kernel.id}`}, mark) : mark);
  }
  svg.append(el('text', {class: 'tick', x: left, y: height + 16}, '0'),
    el('text', {class: 'tick', x: width, y: height + 16, 'text-anchor': 'end'}, duration(end - begin)));
  return svg;
}

// A table with sort and search. columns: {title, number}; rows: {values, cells, href}: `values` are sorted and searched,
// `cells` (elements, optional) shown.
function sortedTable(columns, rows, options = {}) {
  const pageSize = 300;
  let by = options.by === undefined ? -1 : options.by, down = options.down !== false, shown = pageSize, wanted = '';
  const most = columns.map((c, n) => c.number ? Math.max(...rows.slice(0, 100000).map(row => Number(row.values[n]) || 0), 0) : 0);
  const body = el('tbody'), head = el('tr'), count = el('span', {class: 'soft'});
  const more = el('button', {onclick: () => { shown += pageSize * 4; fill(); }}, 'Show more');
  const fill = () => {
    const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = rows.filter(row => { const text = row.values.join(' ').toLowerCase(); return words.every(word => text.includes(word)); });
    if (by >= 0) {
      const number = columns[by].number;
      hits.sort((a, b) => (number ? Number(a.values[by]) - Number(b.values[by]) : String(a.values[by]).localeCompare(String(b.values[by]))) * (down ? -1 : 1));
    }
    head.replaceChildren(...columns.map((c, n) => el('th', {class: `sortable${c.number ? ' number' : ''}`, tabindex: 0, role: 'columnheader',
      'aria-sort': n === by ? (down ? 'descending' : 'ascending') : 'none', onclick: () => sort(n), onkeydown: event => { if (event.key === 'Enter') sort(n); }},
      c.title, el('span', {class: 'arrow'}, n === by ? (down ? ' ▾' : ' ▴') : ''))));
    body.replaceChildren(...hits.slice(0, shown).map(row => el('tr', {}, columns.map((c, n) => el('td', {class: c.number ? (most[n] > 0 ? 'number bar' : 'number') : 'name',
      h: c.number && most[n] > 0 ? Math.max(0, Number(row.values[n]) || 0) / most[n] : undefined},
      row.cells && row.cells[n] !== undefined ? row.cells[n] : row.values[n] === undefined ? '' : c.number ? (c.show || format)(row.values[n]) : row.values[n])))));
    count.textContent = hits.length === rows.length ? `${format(rows.length)} rows` : `${format(hits.length)} of ${format(rows.length)} rows`;
    more.hidden = hits.length <= shown;
  };
  const sort = n => { down = n === by ? !down : Boolean(columns[n].number); by = n; fill(); };
  const search = el('input', {type: 'search', placeholder: 'Search', 'aria-label': 'Search', value: wanted,
    oninput: event => { wanted = event.target.value; shown = pageSize; fill(); }});
  fill();
  return el('div', {}, el('div', {class: 'tools'}, search, count), el('div', {class: 'tall'}, el('table', {}, el('thead', {}, head), body)), more);
}
