// SPDX-License-Identifier: Apache-2.0
// A placement as a tree of boxes: blocks and sections (blocks.h), partitions, nodes. Every arrow of the graph belongs
// to the innermost box that holds both of its ends, between the two children there: so each level is a small graph of
// its own.
"use strict";

{
  let ids = 0;

  function makeItem(kind, parent, fields) {
    const depth = parent ? parent.depth + 1 : 0;
    const item = { id: ++ids, kind, parent, depth, children: [], edges: new Map(), isOpen: false, ...fields };
    if (parent) {
      item.at = parent.children.length;
      parent.children.push(item);
    }
    return item;
  }

  /// What a group holds, from its children.
  function sumUp(item) {
    item.nodeCount = 0;
    item.partitionCount = 0;
    item.cost = 0;
    item.isAbout = false;
    item.byBackend = new Map();
    for (const child of item.children) {
      item.nodeCount += child.nodeCount;
      item.partitionCount += child.partitionCount;
      item.cost += child.cost;
      item.isAbout = item.isAbout || Boolean(child.isAbout);
      for (const [backend, count] of child.byBackend) item.byBackend.set(backend, (item.byBackend.get(backend) || 0) + count);
    }
  }

  /// Numbers the equal blocks of a group, between which there may be sections.
  function numberBlocks(group) {
    let number = 0;
    const visit = item => {
      item.first = number + 1;
      if (item.nodeCount * group.times === group.nodeCount) ++number;
      else item.children.forEach(visit);
      item.last = number;
    };
    if (group.times > 1) group.children.forEach(visit);
  }

  function addNodes(placement, partition, parent, blocks, leaves) {
    for (const block of blocks) {
      if (typeof block === "number") {
        const node = partition.nodes[block];
        leaves[node] = makeItem("node", parent, { node, partition, nodeCount: 1, partitionCount: 0, cost: partition.node_s[block],
          isAbout: !partition.exact.includes(block), byBackend: new Map([[partition.backend, 1]]) });
      } else {
        const group = makeItem("group", parent, { times: block.times, name: block.name, partition });
        addNodes(placement, partition, group, block.blocks, leaves);
        sumUp(group);
        numberBlocks(group);
      }
    }
  }

  function addPartitions(placement, parent, blocks, leaves) {
    for (const block of blocks) {
      if (typeof block !== "number") {
        const group = makeItem("group", parent, { times: block.times, name: block.name });
        addPartitions(placement, group, block.blocks, leaves);
        sumUp(group);
        numberBlocks(group);
        continue;
      }
      const partition = placement.partitions[block];
      const item = makeItem("partition", parent, { partition });
      if (partition.inside) addNodes(placement, partition, item, partition.inside, leaves);
      else leaves[partition.nodes[0]] = item;
      Object.assign(item, { nodeCount: partition.nodes.length, partitionCount: 1, cost: partition.cost_s, isAbout: false,
        byBackend: new Map([[partition.backend, partition.nodes.length]]) });
    }
  }

  /// Adds an arrow to the box that holds both ends.
  function addEdge(from, to, value, converts) {
    while (from.depth > to.depth) from = from.parent;
    while (to.depth > from.depth) to = to.parent;
    while (from.parent !== to.parent) {
      from = from.parent;
      to = to.parent;
    }
    if (from === to) return;
    const edges = from.parent.edges;
    const key = from.at * 65536 + to.at;
    let edge = edges.get(key);
    if (!edge) edges.set(key, edge = { from, to, values: new Set(), converts: false });
    edge.values.add(value);
    edge.converts = edge.converts || converts;
  }

  report.makeTree = placement => {
    const leaves = new Array(report.nodes.length);
    const root = makeItem("root", null, { isOpen: true });
    const graph = report.data.graph;
    const inputs = makeItem("port", root, { label: "inputs", values: graph.inputs, nodeCount: 0, partitionCount: 0, cost: 0,
      byBackend: new Map() });
    addPartitions(placement, root, placement.blocks, leaves);
    const outputs = makeItem("port", root, { label: "outputs", values: graph.outputs, nodeCount: 0, partitionCount: 0, cost: 0,
      byBackend: new Map() });
    sumUp(root);
    report.values.forEach((value, index) => {
      if (value.kind === "constant") return;
      const maker = report.producer[index];
      const from = maker >= 0 ? leaves[maker] : inputs;
      const conversions = placement.conversions.get(value.name);
      for (const reader of report.readers[index]) {
        const partition = placement.partitions[placement.ofNode[reader]];
        const isInside = maker >= 0 && placement.ofNode[maker] === partition.index;
        const read = conversions && !isInside && partition.inputs.find(input => input.value === value.name);
        addEdge(from, leaves[reader], index, Boolean(read && conversions.some(conversion => conversion.to === read.format)));
      }
    });
    for (const value of graph.outputs) {
      const maker = report.producer[value];
      const conversions = placement.conversions.get(report.values[value].name) || [];
      addEdge(maker >= 0 ? leaves[maker] : inputs, outputs, value, conversions.some(conversion => conversion.to === "host"));
    }
    return { root, leaves };
  };

  /// A section without a name goes by those of its first and last scope.
  function titleOfSection(item) {
    const named = item.children.filter(child => child.name);
    if (named.length === 0) return `Section ${item.at + 1}`;
    const [first, last] = [named[0].name, named[named.length - 1].name];
    return first === last ? first : `${first} to ${last}`;
  }

  function titleOfGroup(item) {
    if (item.name) return item.name;
    if (item.times > 1 && item.children[0].kind !== "group") return `${item.times} × ${report.boxTexts(item.children[0])[0]}`;
    if (item.times > 1) return `${item.times} × block of ${(item.partitionCount || item.nodeCount) / item.times}`;
    if (!item.first) return titleOfSection(item);
    return item.first === item.last ? `Block ${item.first}` : `Blocks ${item.first} to ${item.last}`;
  }

  /// Title and second line of a box.
  report.boxTexts = item => {
    const { nodes } = report;
    if (item.kind === "port") {
      const names = item.values.map(value => `%${report.values[value].name}`);
      return [item.label, names.length > 1 ? `${names[0]} and ${names.length - 1} more` : names.join("")];
    }
    if (item.kind === "node") {
      const time = item.cost > 0 ? `  ${report.aboutSeconds(item.cost, item.isAbout)}` : "";
      return [nodes[item.node].op + time, `%${nodes[item.node].name}`];
    }
    if (item.kind === "partition") {
      const { partition } = item;
      const ops = partition.nodes.slice(0, 3).map(node => nodes[node].op).join(", ");
      const title = partition.nodes.length > 3 ? `${ops}, … ${partition.nodes.length}` : ops;
      return [title, `${report.place(partition)}  ${report.seconds(partition.cost_s)}`];
    }
    const parts = item.partitionCount;
    const second = parts ? `${report.count(parts, "partition")}  ${report.seconds(item.cost)}`
      : `${report.count(item.nodeCount, "node")}  ${report.aboutSeconds(item.cost, item.isAbout)}`;
    return [titleOfGroup(item), second];
  };
}
