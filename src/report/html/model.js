'use strict';
// The report's data, and what follows from it. Nothing here touches the page.

const report = JSON.parse(document.getElementById('data').textContent);

// Kernels by id. Variants of a kernel have accounts of their own and one id.
const kernels = new Map();
report.account.kernels.forEach((account, n) => {
  const id = report.ids[n] || -1 - n; // those whose code is not known have none
  if (!kernels.has(id))
    kernels.set(id, {id, name: account.name, accounts: [], launches: 0, instrumented: 0, timed: 0, nanoseconds: 0});
  const kernel = kernels.get(id);
  kernel.accounts.push(account);
  kernel.launches += account.launches;
  kernel.instrumented += account.launches_instrumented;
  kernel.timed += account.launches_timed;
  kernel.nanoseconds += account.nanoseconds;
});

const column = Object.fromEntries(report.launches.columns.map((name, n) => [name, n]));
const launchesOf = new Map();
for (const launch of report.launches.rows) {
  const id = launch[column.kernel];
  if (!launchesOf.has(id))
    launchesOf.set(id, []);
  launchesOf.get(id).push(launch);
}

const isNumber = value => typeof value === 'number' || (typeof value === 'string' && /^-?\d+$/.test(value));

// Which columns of a table hold nothing but numbers.
function numericColumns(table) {
  return table.columns.map((_, c) => table.rows.length > 0 && table.rows.some(row => row[c] !== undefined) &&
    table.rows.every(row => row[c] === undefined || row[c] === '' || isNumber(row[c])));
}

// Numbers of tools that belong to places in a kernel's code: {label, blocks, at: Map of "function:offset" to number}.
// A tool whose rows are blocks names the block's first instruction, and its column is called `block`.
function metricsOf(id) {
  const metrics = [];
  for (const table of report.tools) {
    const rows = table.rows.map((row, n) => ({row, place: table.places[n]}))
      .filter(({place}, n) => place && table.kernels[n] === id);
    if (rows.length === 0)
      continue;
    const blocks = table.columns.includes('block');
    numericColumns(table).forEach((numeric, c) => {
      if (!numeric || table.columns[c] === 'launch')
        return;
      const at = new Map();
      for (const {row, place} of rows)
        at.set(place.join(':'), (at.get(place.join(':')) || 0) + Number(row[c] || 0));
      metrics.push({label: `${table.tool}: ${table.columns[c]}`, name: table.columns[c], blocks, at});
    });
  }
  return metrics;
}

// A metric for each instruction and each block of a function. What counts whole blocks is shared out among their
// instructions, so that sums over lines stay right.
function spread(metric, functionNumber, code) {
  const instrs = code.instrs.map(([offset]) => metric.at.get(`${functionNumber}:${offset}`));
  const blocks = code.blocks.map(([first], b) => {
    const end = b + 1 < code.blocks.length ? code.blocks[b + 1][0] : code.instrs.length;
    if (metric.blocks) {
      const total = instrs[first];
      for (let n = first; total !== undefined && n < end; ++n)
        instrs[n] = total / (end - first);
      return total;
    }
    const known = instrs.slice(first, end).filter(value => value !== undefined);
    return known.length ? Math.max(...known) : undefined;
  });
  const executions = code.blocks.map(([first], b) => metric.blocks ? instrs[first] : blocks[b]);
  return {instrs, blocks, executions};
}

// How often each edge was taken, as far as counts of blocks say: what flows into a block flows out of it. Edges that
// remain open stay undefined; counts that contradict each other (they were no executions) give none at all.
function edgeCounts(blocks, counts) {
  const edges = blocks.flatMap(([, successors], from) => [...new Set(successors)].map(to => ({from, to, count: undefined})));
  const outs = blocks.map((_, b) => edges.filter(edge => edge.from === b));
  const ins = blocks.map((_, b) => edges.filter(edge => edge.to === b));
  let changed = true, good = true;
  const settle = (list, total) => {
    const open = list.filter(edge => edge.count === undefined);
    if (open.length !== 1 || total === undefined)
      return;
    open[0].count = total - list.reduce((sum, edge) => sum + (edge.count || 0), 0);
    good = good && open[0].count >= 0 && Number.isInteger(open[0].count);
    changed = true;
  };
  while (changed && good) {
    changed = false;
    for (let b = 0; b < blocks.length; ++b) {
      if (outs[b].length)
        settle(outs[b], counts[b]);
      if (b !== 0) // the first one is also entered from outside
        settle(ins[b], counts[b]);
    }
  }
  if (!good)
    edges.forEach(edge => { edge.count = undefined; });
  return edges;
}

// Of a kernel's metric: sums by source line.
function byLine(metric, code) {
  const sums = new Map();
  code.functions.forEach((fn, f) => {
    const {instrs} = spread(metric, f, fn);
    fn.instrs.forEach(([, , , line], n) => {
      if (line && instrs[n] !== undefined)
        sums.set(line, (sums.get(line) || 0) + instrs[n]);
    });
  });
  return sums;
}

const compact = new Intl.NumberFormat('en', {notation: 'compact', maximumSignificantDigits: 3});
const plain = new Intl.NumberFormat('en', {maximumFractionDigits: 3});
const format = value => typeof value === 'number' ? plain.format(value) : isNumber(value) ? plain.format(BigInt(value)) : String(value);

function duration(nanoseconds) {
  for (const [unit, size] of [['s', 1e9], ['ms', 1e6], ['µs', 1e3]])
    if (nanoseconds >= size)
      return `${(nanoseconds / size).toPrecision(4).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '')} ${unit}`;
  return `${Math.round(nanoseconds)} ns`;
}

// "void ns::saxpy<float>(float*, int)" as "ns::saxpy<float>", and as "saxpy<…>" where there is little room.
function shortName(name) {
  const bare = name.startsWith('void ') ? name.slice(5) : name;
  let depth = 0;
  for (let n = 0; n < bare.length; ++n) {
    if (bare[n] === '<')
      ++depth;
    else if (bare[n] === '>' && depth)
      --depth;
    else if (bare[n] === '(' && depth === 0 && n > 0)
      return bare.slice(0, n);
  }
  return bare;
}

function tinyName(name) {
  const bare = shortName(name);
  if (bare.includes('operator'))
    return bare;
  let depth = 0, text = '', start = 0;
  for (let n = 0; n < bare.length; ++n) {
    if (bare[n] === '<' && depth++ === 0)
      text += '<…>';
    else if (bare[n] === '>' && depth)
      --depth;
    else if (depth === 0)
      text += bare[n];
    if (depth === 0 && text.endsWith('::'))
      start = text.length;
  }
  return text.slice(start) || bare;
}
