// SPDX-License-Identifier: Apache-2.0
// Places of boxes and arrows. Each open box is laid out by itself with dagre, its open children as boxes of their own
// size: what is opened or closed costs its own level and those above it. A level has at most 34 boxes.
"use strict";

{
  const kHeight = 42, kTitle = 24, kMargin = 12;
  const measuring = document.createElement("canvas").getContext("2d");

  function textWidth(text, size) {
    measuring.font = `${size}px system-ui, "Liberation Sans", sans-serif`;
    return measuring.measureText(text).width;
  }

  /// Cuts a text to a width.
  report.fitted = (text, width, size) => {
    if (textWidth(text, size) <= width) return text;
    let most = text.length;
    while (most > 1 && textWidth(`${text.slice(0, most)}…`, size) > width) --most;
    return `${text.slice(0, most)}…`;
  };

  function sizeOfBox(item) {
    const [title, second] = report.boxTexts(item);
    const wanted = Math.max(textWidth(title, 12), textWidth(second, 10.5)) + (item.children.length ? 44 : 22);
    return { width: Math.min(Math.max(wanted, 84), 230), height: kHeight };
  }

  function layLevel(item) {
    const graph = new dagre.graphlib.Graph();
    graph.setGraph({ rankdir: "TB", nodesep: 18, ranksep: 26, edgesep: 8, marginx: kMargin, marginy: kMargin, ranker: "longest-path" });
    graph.setDefaultEdgeLabel(() => ({}));
    for (const child of item.children) graph.setNode(child.id, { width: child.layout.width, height: child.layout.height });
    for (const edge of item.edges.values()) graph.setEdge(edge.from.id, edge.to.id);
    dagre.layout(graph);
    const top = item.kind === "root" ? 0 : kTitle;
    for (const child of item.children) {
      const node = graph.node(child.id);
      child.x = node.x - node.width / 2;
      child.y = node.y - node.height / 2 + top;
    }
    for (const edge of item.edges.values()) {
      edge.points = graph.edge(edge.from.id, edge.to.id).points.map(point => [point.x, point.y + top]);
    }
    const size = graph.graph();
    const title = item.kind === "root" ? 0 : textWidth(report.boxTexts(item).join(" · "), 12) + 60;
    item.layout = { width: Math.max(size.width, Math.min(title, 420)), height: size.height + top, isOpen: true };
  }

  /// Sets `layout` ({width, height}) of the item and of all that is seen in it, `x` and `y` of these within their
  /// parents.
  report.layOut = item => {
    if (item.layout && item.layout.isOpen === item.isOpen && !item.isStale) return;
    if (!item.isOpen) {
      item.layout = { ...sizeOfBox(item), isOpen: false };
    } else {
      for (const child of item.children) report.layOut(child);
      layLevel(item);
    }
    item.isStale = false;
  };

  /// Marks what is to be laid out anew after an item was opened or closed.
  report.outdate = item => {
    for (let one = item; one; one = one.parent) one.isStale = true;
  };
}
