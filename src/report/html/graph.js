// A function's control flow as a drawing: blocks in layers from top to bottom, edges that go back up at the right.
//
// The usual steps of a layered drawing: find the edges that go back (depth first), layer the rest by the longest path,
// put a bend into every layer that an edge crosses, order each layer by its neighbours' middles, and place.

const mostBlocks = 400;

function layered(count, edges) {
  const outs = Array.from({length: count}, () => []);
  edges.forEach((edge, n) => outs[edge.from].push(n));
  const back = new Set(), state = new Array(count).fill(0), order = [];
  for (let root = 0; root < count; ++root) {
    if (state[root])
      continue;
    const stack = [[root, 0]];
    state[root] = 1;
    while (stack.length) {
      const top = stack[stack.length - 1];
      if (top[1] === outs[top[0]].length) {
        state[top[0]] = 2;
        order.push(top[0]);
        stack.pop();
        continue;
      }
      const n = outs[top[0]][top[1]++], to = edges[n].to;
      if (state[to] === 1)
        back.add(n);
      else if (state[to] === 0) {
        state[to] = 1;
        stack.push([to, 0]);
      }
    }
  }
  const layer = new Array(count).fill(0);
  for (const block of order.reverse())
    for (const n of outs[block])
      if (!back.has(n))
        layer[edges[n].to] = Math.max(layer[edges[n].to], layer[block] + 1);
  return {layer, back};
}

function drawGraph(blocks, edges, labelOf, heatOf, hrefOf, here) {
  if (blocks.length > mostBlocks)
    return empty(`This function has ${format(blocks.length)} blocks; drawings are made of up to ${mostBlocks}. “luthier cfg” draws any of them.`);
  const {layer, back} = layered(blocks.length, edges);
  const boxHeight = 40, layerGap = 46, nodeGap = 26;
  const labels = blocks.map((_, b) => labelOf(b));
  const nodes = blocks.map((_, b) => ({block: b, layer: layer[b], width: Math.max(90, Math.max(...labels[b].map(line => line.length)) * 7 + 18)}));
  const layers = [];
  const put = node => { (layers[node.layer] = layers[node.layer] || []).push(node); };
  nodes.forEach(put);
  const chains = edges.map((edge, n) => {
    if (back.has(n))
      return null;
    const chain = [nodes[edge.from]];
    for (let l = layer[edge.from] + 1; l < layer[edge.to]; ++l) {
      const bend = {bend: true, layer: l, width: 8};
      put(bend);
      chain.push(bend);
    }
    return [...chain, nodes[edge.to]];
  });
  for (const node of layers.flat()) {
    node.ups = [];
    node.downs = [];
  }
  for (const chain of chains)
    for (let n = 0; chain && n + 1 < chain.length; ++n) {
      chain[n].downs.push(chain[n + 1]);
      chain[n + 1].ups.push(chain[n]);
    }
  const number = () => layers.forEach(each => each.forEach((node, n) => { node.order = n; }));
  const middle = (list, key) => list.reduce((sum, node) => sum + node[key], 0) / list.length;
  number();
  for (let round = 0; round < 8; ++round) {
    const down = round % 2 === 0;
    for (const each of down ? layers : [...layers].reverse()) {
      for (const node of each) {
        const near = down ? node.ups : node.downs;
        node.wish = near.length ? middle(near, 'order') : node.order;
      }
      each.sort((a, b) => a.wish - b.wish);
      each.forEach((node, n) => { node.order = n; });
    }
  }
  // Where they go: next to each other, then towards their neighbours as far as there is room.
  for (const each of layers) {
    let x = 0;
    for (const node of each) {
      node.x = x + node.width / 2;
      x += node.width + nodeGap;
    }
  }
  for (let round = 0; round < 12; ++round)
    for (const each of round % 2 ? [...layers].reverse() : layers) {
      const wishes = each.map(node => {
        const near = [...node.ups, ...node.downs];
        return near.length ? middle(near, 'x') : node.x;
      });
      let edge = -Infinity;
      const left = each.map((node, n) => {
        const x = Math.max(wishes[n], edge + node.width / 2);
        edge = x + node.width / 2 + nodeGap;
        return x;
      });
      edge = Infinity;
      for (let n = each.length - 1; n >= 0; --n) {
        const right = Math.min(wishes[n], edge - each[n].width / 2);
        edge = right - each[n].width / 2 - nodeGap;
        each[n].x = (left[n] + right) / 2;
      }
      let end = -Infinity;
      for (const node of each) {
        node.x = Math.max(node.x, end + node.width / 2);
        end = node.x + node.width / 2 + nodeGap;
      }
    }
  const least = Math.min(...layers.flat().map(node => node.x - node.width / 2));
  let right = 0;
  for (const node of layers.flat()) {
    node.x += 20 - least;
    node.y = 16 + node.layer * (boxHeight + layerGap);
    right = Math.max(right, node.x + node.width / 2);
  }
  const most = Math.max(...edges.map(edge => edge.count || 0)) || 1;
  const known = edges.some(edge => edge.count !== undefined);
  const svgEdges = [], svgLabels = [];
  let lane = 0;
  edges.forEach((edge, n) => {
    const from = nodes[edge.from], to = nodes[edge.to], heat = (edge.count || 0) / most;
    const start = from.y + boxHeight, end = to.y;
    let path, labelX, labelY;
    if (back.has(n)) {
      const x = right + 22 + 16 * lane++;
      path = `M ${from.x + from.width / 4} ${start} C ${from.x + from.width / 4} ${start + 24}, ${x} ${start + 24}, ${x} ${start - 6} ` +
        `L ${x} ${end + 6} C ${x} ${end - 24}, ${to.x + to.width / 4} ${end - 24}, ${to.x + to.width / 4} ${end - 5}`;
      labelX = x - 4;
      labelY = (start + end) / 2;
    } else {
      const chain = chains[n];
      path = `M ${chain[0].x} ${start}`;
      for (let c = 1; c < chain.length; ++c) {
        const y0 = chain[c - 1].y + boxHeight, y1 = chain[c].y - (c + 1 === chain.length ? 5 : 0), bendY = (y0 + y1) / 2;
        path += ` C ${chain[c - 1].x} ${bendY}, ${chain[c].x} ${bendY}, ${chain[c].x} ${y1}`;
        if (chain[c].bend)
          path += ` L ${chain[c].x} ${chain[c].y + boxHeight}`;
      }
      labelX = (chain[0].x + chain[1].x) / 2;
      labelY = (start + chain[1].y) / 2 + 3;
    }
    const tip = back.has(n) ? to.x + to.width / 4 : to.x;
    const title = edge.count === undefined ? `block ${edge.from} to ${edge.to}` : `block ${edge.from} to ${edge.to}: ${format(edge.count)} times`;
    svgEdges.push(el('path', {d: path, h: heat, class: known && edge.count === undefined ? 'unknown' : null, 'stroke-width': 1 + 4 * heat}, el('title', {}, title)),
      el('path', {class: 'arrow', d: `M ${tip - 4} ${end - 7} L ${tip + 4} ${end - 7} L ${tip} ${end} Z`}));
    if (edge.count !== undefined)
      svgLabels.push(el('text', {class: 'edge', x: labelX, y: labelY, 'text-anchor': back.has(n) ? 'end' : 'middle'}, compact.format(edge.count)));
  });
  const width = right + 40 + 16 * lane, height = 32 + layers.length * (boxHeight + layerGap) - layerGap;
  const boxes = nodes.map(node => {
    const heat = heatOf(node.block), light = heat > 0.75;
    return el('svg:a', {href: hrefOf(node.block)},
      el('rect', {x: node.x - node.width / 2, y: node.y, width: node.width, height: boxHeight, h: heat, class: node.block === here ? 'here' : null}),
      labels[node.block].map((line, n) => el('text', {x: node.x, y: node.y + 16 + 15 * n, 'text-anchor': 'middle', class: light ? 'light' : null}, line)));
  });
  return el('div', {class: 'graph'}, el('svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': 'control flow'}, svgEdges, svgLabels, boxes));
}
