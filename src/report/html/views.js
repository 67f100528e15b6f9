// The views, and the way from one to another: the part of the address behind #.

const account = report.account;
const kernelLink = (kernel, text) => kernel ? el('a', {href: `#kernel/${kernel.id}`, title: kernel.name}, text || kernel.name) : text || '(unknown)';
const percent = (part, whole) => whole ? `${(100 * part / whole).toFixed(part / whole < 0.1 ? 1 : 0)} %` : '';
const allKernels = [...kernels.values()];
const withCode = id => report.code[id];
const wasChanged = kernel => kernel.accounts.find(each => each.instrumented);
const resources = [['SGPRs', 'sgprs'], ['VGPRs', 'vgprs'], ['scratch bytes per lane', 'scratch_bytes'], ['waves per SIMD', 'waves_per_simd'], ['code bytes', 'code_bytes']];

// By time where there are times, else by launches.
const cost = allKernels.some(kernel => kernel.nanoseconds > 0)
  ? {title: 'Kernels by GPU time', of: kernel => kernel.nanoseconds, show: duration, note: 'Times are those of the instrumented launches, hooks included.'}
  : {title: 'Kernels by launches', of: kernel => kernel.launches, show: format, note: ''};

function card(value, label, bad) {
  return el('div', {class: 'card'}, el('div', {class: bad ? 'value bad' : 'value'}, value), el('div', {class: 'label'}, label));
}

function overview() {
  const total = allKernels.reduce((sum, kernel) => sum + cost.of(kernel), 0);
  const time = allKernels.reduce((sum, kernel) => sum + kernel.nanoseconds, 0);
  const ranked = allKernels.filter(kernel => cost.of(kernel) > 0).sort((a, b) => cost.of(b) - cost.of(a));
  const slower = allKernels.map(kernel => ({kernel, account: wasChanged(kernel)}))
    .filter(({account}) => account && account.waves_per_simd.after < account.waves_per_simd.before);
  return [
    el('div', {class: 'cards'},
      card(`${format(account.kernels_instrumented)} of ${format(account.kernels_seen)}`, 'kernels instrumented'),
      card(`${format(account.launches_instrumented)} of ${format(account.launches)}`, 'launches instrumented'),
      time > 0 && card(duration(time), 'GPU time of these'),
      card(`${format(account.sites_placed)} of ${format(account.sites_asked)}`, 'sites placed', account.sites_rejected > 0),
      card(format(account.records_lost), 'records lost', account.records_lost > 0),
      card(`${account.seconds.toFixed(2)} s`, 'spent instrumenting')),
    account.messages.map(text => el('div', {class: 'note'}, text)),
    report.launches.dropped > 0 && el('div', {class: 'note'}, `${format(report.launches.dropped)} launches are counted but not listed.`),
    el('div', {class: 'columns'},
      panel(cost.title, ranked.length ? barChart(ranked.slice(0, 15).map(kernel => ({label: tinyName(kernel.name), title: kernel.name,
        value: cost.of(kernel), shown: `${cost.show(cost.of(kernel))}  ${percent(cost.of(kernel), total)}`, href: `#kernel/${kernel.id}`})), true)
        : empty('No kernel was launched.'), ranked.length > 15 && el('a', {href: '#kernels'}, `all ${ranked.length} kernels`), cost.note && el('div', {class: 'soft'}, cost.note)),
      panel('Results', el('table', {}, el('tbody', {}, report.tools.map(table => el('tr', {},
        el('td', {class: 'name'}, el('a', {href: `#tool/${table.tool}`}, table.tool)), el('td', {class: 'number'}, `${format(table.rows.length)} rows`),
        el('td', {}, table.columns.join(', '))))))),
      slower.length > 0 && panel('Occupancy lost to hooks', el('table', {}, el('thead', {}, el('tr', {}, el('th', {}, 'kernel'), el('th', {class: 'number'}, 'waves per SIMD'))),
        el('tbody', {}, slower.map(({kernel, account}) => el('tr', {}, el('td', {class: 'name'}, kernelLink(kernel, shortName(kernel.name))),
          el('td', {class: 'number bad'}, `${account.waves_per_simd.before} → ${account.waves_per_simd.after}`))))))),
    report.launches.rows.length > 0 && panel('Launches in time', timeline(report.launches.rows.slice(0, 4000)),
      report.launches.rows.length > 4000 && el('div', {class: 'soft'}, `The first 4,000 of ${format(report.launches.rows.length)}.`))];
}

function kernelsView() {
  const total = allKernels.reduce((sum, kernel) => sum + kernel.nanoseconds, 0);
  const columns = [{title: 'kernel'}, {title: 'GPU time', number: true, show: duration}, {title: '%', number: true, show: value => value.toFixed(1)},
    {title: 'launches', number: true}, {title: 'instrumented', number: true}, {title: 'sites', number: true}, {title: 'VGPRs'}, {title: 'waves/SIMD'}, {title: 'state'}];
  const change = (account, key) => account ? account[key].before === account[key].after ? String(account[key].before) : `${account[key].before} → ${account[key].after}` : '';
  const rows = allKernels.map(kernel => {
    const changed = wasChanged(kernel);
    return {values: [kernel.name, kernel.nanoseconds, total ? 100 * kernel.nanoseconds / total : 0, kernel.launches, kernel.instrumented,
      kernel.accounts.reduce((sum, each) => sum + each.sites_placed, 0), change(changed, 'vgprs'), change(changed, 'waves_per_simd'),
      changed ? 'instrumented' : kernel.accounts[0].skipped], cells: [kernelLink(kernel, tinyName(kernel.name))]};
  });
  return [el('h1', {}, 'Kernels'), panel('', sortedTable(columns, rows, {by: 1}))];
}

function resourceTable(account) {
  return el('table', {class: 'resources'}, el('thead', {}, el('tr', {}, ['', 'before', 'after', ''].map(text => el('th', {class: 'number'}, text)))),
    el('tbody', {}, resources.map(([title, key]) => {
      const {before, after} = account[key];
      const worse = key === 'waves_per_simd' ? after < before : after > before;
      return el('tr', {}, el('td', {}, title), el('td', {class: 'number'}, format(before)), el('td', {class: 'number'}, format(after)),
        el('td', {class: `number change ${after === before ? '' : worse ? 'bad' : 'good'}`}, after === before ? '' : `${after > before ? '+' : '−'}${format(Math.abs(after - before))}`));
    })));
}

const blockAt = (fn, offset) => (fn.instrs.find(instr => instr[0] === offset) || [])[2];
const place = (id, f, offset) => `#kernel/${id}/${f}/${offset}`;
let chosenMetric = '';

// The listing: assembly as a heat map, source lines beside it, and the drawing above.
function codeViews(kernel, targetFunction, targetOffset) {
  const code = withCode(kernel.id);
  if (!code)
    return panel('Code', empty(kernel.accounts[0].skipped ? `There is no listing: ${kernel.accounts[0].skipped}.` : 'There is no listing of this kernel.'));
  const metrics = metricsOf(kernel.id);
  const preferred = metrics.find(metric => metric.label === chosenMetric) || metrics.find(metric => /^(executed|executions|instructions|count|waves|accesses)$/.test(metric.name)) || metrics[0];
  let metric = preferred, f = Math.min(targetFunction || 0, code.functions.length - 1), view = 'both';
  const body = el('div');
  const views = [['both', 'Side by side'], ['graph', 'Control flow'], ['listing', 'Assembly'], ['source', 'Source lines']];
  const buttons = views.map(([key, title]) => el('button', {onclick: () => { view = key; draw(); }}, title));
  const draw = () => {
    buttons.forEach((button, n) => button.classList.toggle('on', views[n][0] === view));
    body.replaceChildren(view === 'both' ? el('div', {class: 'split'}, graph(), listing()) : view === 'graph' ? graph() : view === 'listing' ? listing() : sources());
    requestAnimationFrame(() => body.querySelectorAll('.target, rect.here').forEach(target => target.scrollIntoView({block: 'nearest', inline: 'nearest'})));
  };
  const values = () => metric ? spread(metric, f, code.functions[f]) : {instrs: [], blocks: [], executions: []};
  const graph = () => {
    const fn = code.functions[f], {blocks, executions} = values();
    const most = Math.max(...blocks.map(value => value || 0)) || 1;
    const counts = metric && /^(executed|executions|instructions|count|waves)$/.test(metric.name);
    const edges = edgeCounts(fn.blocks, counts ? fn.blocks.map((_, b) => executions[b]) : fn.blocks.map(() => undefined));
    const sizeOf = b => (b + 1 < fn.blocks.length ? fn.blocks[b + 1][0] : fn.instrs.length) - fn.blocks[b][0];
    return el('div', {}, drawGraph(fn.blocks, edges,
      b => [`block ${b} · +${fn.instrs[fn.blocks[b][0]][0]}`, blocks[b] === undefined ? `${sizeOf(b)} instructions` : `${sizeOf(b)} instr · ${compact.format(blocks[b])}`],
      b => (blocks[b] || 0) / most, b => place(kernel.id, f, fn.instrs[fn.blocks[b][0]][0]), f === targetFunction ? blockAt(fn, targetOffset) : undefined),
      el('div', {class: 'soft'}, counts ? 'Numbers at edges follow from those of the blocks; where they do not say it, the edge is dashed. A click on a block shows its code.'
        : 'A click on a block shows its code.'));
  };
  const listing = () => {
    const fn = code.functions[f], {instrs, blocks} = values();
    const most = Math.max(...instrs.map(value => value || 0)) || 1;
    const rows = [];
    let lastLine = 0;
    fn.instrs.forEach(([offset, text, block, line], n) => {
      const first = fn.blocks[block] && fn.blocks[block][0] === n;
      if (first)
        rows.push(el('tr', {class: 'block'}, el('td', {}), el('td', {}, metric && metric.blocks && blocks[block] !== undefined ? format(blocks[block]) : ''),
          el('td', {colspan: 2}, `block ${block}`, fn.blocks[block][1].length ? [' → ', fn.blocks[block][1].map((to, s) => [s ? ', ' : '', el('a', {href: place(kernel.id, f, fn.instrs[fn.blocks[to][0]][0])}, String(to))])] : '')));
      const heat = (instrs[n] || 0) / most;
      const source = line && (line !== lastLine || first) ? code.lines[line - 1] : null;
      lastLine = line;
      rows.push(el('tr', {class: f === targetFunction && offset === targetOffset ? 'target' : null, h: heat, 'data-line': line || null,
        onmouseenter: line ? () => light(line, true) : null, onmouseleave: line ? () => light(line, false) : null},
        el('td', {class: 'offset'}, `+${offset}`),
        el('td', {class: heat > 0.7 ? 'heat hot' : 'heat'}, instrs[n] === undefined || metric.blocks ? '' : format(instrs[n])),
        el('td', {class: 'asm'}, text),
        el('td', {class: 'source'}, source && [el('span', {title: code.files[source[0]]}, code.files.length > 1 ? `${code.files[source[0]].split('/').pop()}:${source[1]}` : `line ${source[1]}`), source[2] !== null && el('span', {class: 'text'}, source[2].trim())])));
    });
    return el('div', {class: 'tall'}, el('table', {class: 'code'}, el('thead', {}, el('tr', {}, el('th', {class: 'number'}, 'offset'),
      el('th', {class: 'number'}, metric ? metric.name : ''), el('th', {}, 'instruction'), el('th', {}, code.lines.length ? 'source' : ''))), el('tbody', {}, rows)));
  };
  const light = (line, on) => body.querySelectorAll(`tr[data-line="${line}"]`).forEach(row => row.classList.toggle('lit', on));
  const sources = () => {
    if (code.lines.length === 0)
      return empty('This code has no debug information: compile with -g to see its source lines.');
    const sums = metric ? byLine(metric, code) : new Map();
    const most = Math.max(...sums.values(), 0) || 1;
    const order = code.lines.map((_, n) => n + 1).sort((a, b) => code.lines[a - 1][0] - code.lines[b - 1][0] || code.lines[a - 1][1] - code.lines[b - 1][1]);
    const firstPlace = new Map();
    code.functions.forEach((fn, g) => fn.instrs.forEach(([offset, , , line]) => { if (line && !firstPlace.has(line)) firstPlace.set(line, [g, offset]); }));
    let file = -1;
    return el('div', {class: 'tall'}, el('table', {class: 'code'}, el('tbody', {}, order.map(n => {
      const [fileNumber, line, text] = code.lines[n - 1], heat = (sums.get(n) || 0) / most;
      const head = fileNumber !== file ? el('tr', {class: 'block'}, el('td', {colspan: 3}, code.files[fileNumber])) : null;
      file = fileNumber;
      return [head, el('tr', {h: heat}, el('td', {class: 'offset'}, firstPlace.has(n) ? el('a', {href: place(kernel.id, ...firstPlace.get(n))}, String(line)) : String(line)),
        el('td', {class: heat > 0.7 ? 'heat hot' : 'heat'}, sums.has(n) ? format(sums.get(n)) : ''), el('td', {class: 'asm'}, text === null ? '(the source file was not found)' : text))];
    }))));
  };
  const choose = metrics.length > 0 && el('select', {'aria-label': 'Number shown', onchange: event => { metric = metrics[event.target.selectedIndex]; chosenMetric = metric.label; draw(); }},
    metrics.map(each => el('option', {selected: each === preferred}, each.label)));
  const functions = code.functions.length > 1 && el('select', {'aria-label': 'Function', onchange: event => { f = event.target.selectedIndex; draw(); }},
    code.functions.map((fn, n) => el('option', {selected: n === f}, shortName(fn.name))));
  draw();
  return panel('Code', el('div', {class: 'tools'}, buttons, choose, functions,
    metrics.length === 0 && el('span', {class: 'soft'}, 'No tool of this run counted instructions or blocks; instr_count with --instr_count.per=instruction does.')), body);
}

function kernelView(id, f, offset) {
  const kernel = kernels.get(Number(id));
  if (!kernel)
    return empty('There is no such kernel in this report.');
  const first = kernel.accounts[0], changed = wasChanged(kernel);
  const times = (launchesOf.get(kernel.id) || []).filter(launch => launch[column.begin] !== null && launch[column.instrumented]).map(launch => launch[column.end] - launch[column.begin]);
  const rejected = kernel.accounts.flatMap(each => each.rejected_sites);
  return [
    el('h1', {}, tinyName(kernel.name)), el('div', {class: 'mono full'}, kernel.name),
    el('p', {class: 'soft'}, first.symbol && el('span', {class: 'mono'}, first.symbol), first.object && [' in ', first.object], first.digest && ` (${first.digest.slice(0, 8)})`, ` on GPU ${first.gpu}`),
    el('div', {class: 'cards'},
      card(`${format(kernel.instrumented)} of ${format(kernel.launches)}`, 'launches instrumented'),
      kernel.timed > 0 && card(duration(kernel.nanoseconds), `GPU time of ${format(kernel.timed)} ${kernel.timed === 1 ? 'launch' : 'launches'}`),
      kernel.timed > 1 && card(duration(kernel.nanoseconds / kernel.timed), 'on average'),
      card(`${format(kernel.accounts.reduce((sum, each) => sum + each.sites_placed, 0))} of ${format(kernel.accounts.reduce((sum, each) => sum + each.sites_asked, 0))}`, 'sites placed', rejected.length > 0)),
    !changed && el('div', {class: 'note'}, `Not instrumented: ${first.skipped}`),
    codeViews(kernel, f, offset),
    el('div', {class: 'columns'},
      changed && panel('Registers and occupancy', kernel.accounts.filter(each => each.instrumented).map(each => [kernel.accounts.length > 1 && el('h3', {}, each.name), resourceTable(each)])),
      times.length > 1 && panel('Durations of launches', histogram(times, duration)),
      rejected.length > 0 && panel('Rejected sites', rejectedTable(kernel, rejected))),
    report.tools.map(table => toolTable(table, kernel.id)).filter(Boolean).map(([table, element]) => panel(table.tool, element))];
}

function rejectedTable(kernel, sites) {
  return sortedTable([{title: 'site'}, {title: 'reason'}], sites.map(site => ({values: [site.place, site.reason], cells: [placeLink(kernel, site.place)]})));
}

// A place as it is in a table: a link to the code if it is one.
function placeLink(kernel, text) {
  const code = withCode(kernel.id);
  const hit = code && code.functions.map((fn, f) => [f, fn.name.length, text.startsWith(`${fn.name} +`) && /^(\d+)(:|$)/.exec(text.slice(fn.name.length + 2))]).find(([, , match]) => match);
  return hit ? el('a', {href: place(kernel.id, hit[0], Number(hit[2][1]))}, text) : text;
}

// A place in few words: the function only where it is not the kernel itself.
function placeName(id, [f, offset], text) {
  const fn = withCode(id).functions[f], rest = text.slice(text.lastIndexOf(`+`, text.indexOf(': ', fn.name.length) < 0 ? text.length : text.indexOf(': ', fn.name.length)));
  return f === 0 ? rest : `${tinyName(fn.name)} ${rest}`;
}

// All of a tool's table, or a kernel's part of it.
function toolTable(table, only) {
  const numeric = numericColumns(table);
  const picked = table.rows.map((row, n) => [row, n]).filter(([, n]) => only === undefined || table.kernels[n] === only);
  if (picked.length === 0)
    return null;
  const rows = picked.map(([row, n]) => {
    const kernel = kernels.get(table.kernels[n]), at = table.places[n];
    const cells = table.columns.map((_, c) => {
      if (kernel && row[c] === kernel.name)
        return kernelLink(kernel, tinyName(kernel.name));
      if (kernel && at && !numeric[c] && / \+(0x[0-9a-f]+|\d+)(:|$)/.test(row[c]))
        return el('a', {href: place(kernel.id, at[0], at[1]), class: 'mono', title: row[c]}, placeName(kernel.id, at, row[c]));
      return undefined;
    });
    return {values: row, cells};
  });
  return [table, sortedTable(table.columns.map((title, c) => ({title, number: numeric[c]})), rows)];
}

function toolView(name) {
  const table = report.tools.find(each => each.tool === name);
  if (!table)
    return empty('There is no such tool in this report.');
  const numeric = numericColumns(table);
  const numbers = table.columns.map((title, c) => [title, c]).filter(([title, c]) => numeric[c] && title !== 'launch');
  const chart = el('div');
  const draw = c => {
    const named = table.columns.map((_, n) => n).filter(n => !numeric[n]);
    const items = table.rows.map((row, n) => ({row, n, value: Number(row[c]) || 0})).filter(item => item.value > 0).sort((a, b) => b.value - a.value).slice(0, 20)
      .map(({row, n, value}) => {
        const kernel = kernels.get(table.kernels[n]), at = table.places[n];
        const label = named.map(k => kernel && row[k] === kernel.name ? tinyName(kernel.name) : at && / \+(0x[0-9a-f]+|\d+)(:|$)/.test(row[k]) ? placeName(kernel.id, at, row[k]) : row[k]).filter(text => text !== '').join(' · ') || `row ${n + 1}`;
        return {label, value, shown: format(row[c]), href: at && kernel ? place(kernel.id, at[0], at[1]) : kernel ? `#kernel/${kernel.id}` : undefined};
      });
    chart.replaceChildren(items.length ? barChart(items) : empty('Nothing is above zero.'));
  };
  if (numbers.length)
    draw(numbers[0][1]);
  const made = toolTable(table);
  return [el('h1', {}, table.tool),
    numbers.length > 0 && panel('Largest', el('div', {class: 'tools'}, el('select', {'aria-label': 'Column', onchange: event => draw(numbers[event.target.selectedIndex][1])},
      numbers.map(([title]) => el('option', {}, title)))), chart),
    panel('All rows', made ? made[1] : empty('The tool reported nothing.'))];
}

function launchesView() {
  const columns = [{title: 'kernel'}, {title: 'launch', number: true}, {title: 'GPU', number: true}, {title: 'queue', number: true}, {title: 'begin', number: true, show: duration},
    {title: 'duration', number: true, show: duration}, {title: 'grid'}, {title: 'workgroup'}, {title: 'instrumented'}];
  const rows = report.launches.rows.map(launch => {
    const kernel = kernels.get(launch[column.kernel]), timed = launch[column.begin] !== null;
    return {values: [kernel ? kernel.name : '(unknown)', launch[column.launch], launch[column.gpu], launch[column.queue], timed ? launch[column.begin] : undefined,
      timed ? launch[column.end] - launch[column.begin] : undefined, launch[column.grid].join(' × '), launch[column.workgroup].join(' × '), launch[column.instrumented] ? 'yes' : 'no'], cells: [kernelLink(kernel, kernel && tinyName(kernel.name))]};
  });
  return [el('h1', {}, 'Launches'), report.launches.copies > 0 && el('p', {class: 'soft'}, `${format(report.launches.copies)} copies and fills, ${format(report.launches.copied_bytes)} bytes`),
    panel('In time', timeline(report.launches.rows.slice(0, 4000))), panel('One by one', sortedTable(columns, rows))];
}

const skippedKernels = allKernels.filter(kernel => kernel.accounts.some(each => !each.instrumented));
const rejectedSites = allKernels.flatMap(kernel => kernel.accounts.flatMap(each => {
  const open = {...each.sites_rejected};
  const listed = each.rejected_sites.map(site => {
    open[site.reason] = (open[site.reason] || 0) - 1;
    return {kernel, place: site.place, reason: site.reason, count: 1};
  });
  return [...listed, ...Object.entries(open).filter(([, count]) => count > 0).map(([reason, count]) => ({kernel, place: '', reason, count}))];
}));

function skippedView() {
  return [el('h1', {}, 'What was left alone'),
    panel('Kernels that ran unmodified', skippedKernels.length ? sortedTable([{title: 'kernel'}, {title: 'launches', number: true}, {title: 'reason'}], skippedKernels.map(kernel => ({
      values: [kernel.name, kernel.launches, kernel.accounts.find(each => !each.instrumented).skipped], cells: [kernelLink(kernel)]}))) : empty('None: every kernel that was launched is instrumented.')),
    panel('Rejected sites', rejectedSites.length ? sortedTable([{title: 'kernel'}, {title: 'site'}, {title: 'sites', number: true}, {title: 'reason'}], rejectedSites.map(site => ({
      values: [site.kernel.name, site.place, site.count, site.reason], cells: [kernelLink(site.kernel, shortName(site.kernel.name)), placeLink(site.kernel, site.place)]})))
      : empty('None: hooks are at all places that tools asked for.'))];
}

const views = {overview, kernels: kernelsView, launches: launchesView, skipped: skippedView, tool: toolView,
  kernel: (id, f, offset) => kernelView(id, f === undefined ? undefined : Number(f), offset === undefined ? undefined : Number(offset))};

function navigation(here) {
  const link = (hash, text, count, title) => el('a', {title, href: `#${hash}`, class: here === hash ? 'here' : null, 'aria-current': here === hash ? 'page' : null}, el('span', {class: 'text'}, text), count !== undefined && el('span', {class: 'count'}, format(count)));
  const ranked = [...allKernels].sort((a, b) => cost.of(b) - cost.of(a)).slice(0, 25);
  document.getElementById('nav').replaceChildren(link('overview', 'Overview'), link('kernels', 'Kernels', allKernels.length),
    ...(report.launches.rows.length ? [link('launches', 'Launches', report.launches.rows.length)] : []),
    link('skipped', 'Left alone', skippedKernels.length + rejectedSites.length),
    el('div', {class: 'group'}, 'Tools'), ...report.tools.map(table => link(`tool/${table.tool}`, table.tool, table.rows.length)),
    el('div', {class: 'group'}, cost.title), ...ranked.map(kernel => link(`kernel/${kernel.id}`, tinyName(kernel.name), undefined, kernel.name)));
}

function show() {
  const parts = decodeURIComponent(location.hash.slice(1) || 'overview').split('/');
  const view = Object.hasOwn(views, parts[0]) ? views[parts[0]] : overview;
  navigation(parts[0] === 'kernel' || parts[0] === 'tool' ? parts.slice(0, 2).join('/') : parts[0]);
  const main = document.getElementById('main');
  main.replaceChildren(...[view(...parts.slice(1))].flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  if (!main.querySelector('tr.target'))
    window.scrollTo(0, 0);
}

const themes = ['system', 'light', 'dark'];
let theme = 'system';
const themeButton = el('button', {onclick: () => setTheme(themes[(themes.indexOf(theme) + 1) % themes.length])});
function setTheme(name) {
  theme = name;
  if (name === 'system')
    delete document.documentElement.dataset.theme;
  else
    document.documentElement.dataset.theme = name;
  themeButton.textContent = `Theme: ${name}`;
}
setTheme('system');
const run = report.process;
document.getElementById('top').append(el('span', {class: 'brand'}, 'Luthier'), el('span', {class: 'command mono', title: run.command.join(' ')}, run.command.join(' ')),
  el('span', {class: 'soft'}, [run.hostname, run.rank && `rank ${run.rank}`, `pid ${run.pid}`].filter(Boolean).join(' · ')), themeButton);
window.addEventListener('hashchange', show);
show();
