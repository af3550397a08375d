// SPDX-License-Identifier: Apache-2.0
// The graph: boxes in their backends' colours, opened and closed, zoomed, selected. Only what is seen is laid out and
// drawn.
"use strict";

{
  const kMostSeen = 700;    // boxes that Expand opens at most
  const kLeastScale = 0.65;  // at which names can be read
  const { placements } = report;
  const canvas = document.getElementById("canvas");
  const section = document.getElementById("graph");
  const trees = new Map();  // by placement
  let placement = placements[0];
  let tree = null;
  let selected = null;
  let active = null;  // the one box that Tab reaches
  let changed = new Set();  // nodes that another placement has elsewhere

  const svg = d3.select(canvas).append("svg").attr("role", "tree").attr("aria-label", "The model, by partitions and blocks");
  const stage = svg.append("g");
  const zoom = d3.zoom().scaleExtent([0.02, 4]).on("zoom", () => stage.attr("transform", d3.event.transform));
  svg.call(zoom).on("dblclick.zoom", null);
  const defs = svg.append("defs");
  defs.append("pattern").attr("id", "hatch").attr("width", 7).attr("height", 7).attr("patternUnits", "userSpaceOnUse")
    .attr("patternTransform", "rotate(45)").append("rect").attr("width", 1.6).attr("height", 7).attr("fill", "#0000004d");
  defs.append("marker").attr("id", "arrow").attr("viewBox", "0 0 8 8").attr("refX", 7).attr("refY", 4)
    .attr("markerWidth", 8).attr("markerHeight", 8).attr("markerUnits", "userSpaceOnUse").attr("orient", "auto")
    .append("path").attr("d", "M0,0 L8,4 L0,8 z").attr("fill", "var(--edge)");

  /// Stripes of a group's backends, as wide as their shares of its nodes.
  function fillOf(item) {
    const shares = [...item.byBackend].sort((a, b) => b[1] - a[1]);
    if (item.kind === "partition" || item.kind === "node") return report.colour(item.partition.backend);
    return shares.length === 1 ? report.colour(shares[0][0]) : null;
  }

  function labelOf(item) {
    const texts = report.boxTexts(item).join(", ");
    const backends = item.kind === "group" || item.kind === "node" ? `, on ${[...item.byBackend.keys()].join(" and ")}` : "";
    return texts + backends;
  }

  const canOpen = item => item.children.length > 0;
  const line = d3.line().curve(d3.curveBasis);

  function drawEdges(item, group) {
    const edges = group.append("g").attr("aria-hidden", "true").selectAll("path").data([...item.edges.values()]).enter().append("path")
      .attr("class", edge => `edge${edge.converts ? " converts" : ""}${isNear(edge) ? " is-near" : ""}`)
      .attr("d", edge => line(edge.points)).attr("marker-end", "url(#arrow)");
    report.withTip(edges, edge => {
      const values = [...edge.values].slice(0, 6).map(value => `%${report.values[value].name}: ${report.values[value].type}`);
      const rest = edge.values.size > 6 ? [`and ${edge.values.size - 6} more`] : [];
      return [...values, ...rest, ...(edge.converts ? ["copied or converted on the way"] : [])].join("\n");
    });
  }

  function isNear(edge) {
    return selected !== null && (edge.from === selected || edge.to === selected);
  }

  function drawToggle(item, group, x, y) {
    const toggle = group.append("g").attr("class", "toggle").attr("transform", `translate(${x},${y})`);
    toggle.append("rect").attr("width", 16).attr("height", 16).attr("rx", 3);
    toggle.append("text").attr("x", 8).attr("y", 12.5).attr("text-anchor", "middle").text(item.isOpen ? "−" : "+");
    toggle.on("click", () => {
      d3.event.stopPropagation();
      report.graph.toggle(item);
    });
  }

  function holdsChange(item) {
    if (changed.size === 0 || item.kind === "port") return false;
    if (item.kind === "node") return changed.has(item.node);
    if (item.kind === "partition") return item.partition.nodes.some(node => changed.has(node));
    return item.children.some(holdsChange);
  }

  function drawItem(item, parent) {
    const { width, height } = item.layout;
    const [title, second] = report.boxTexts(item);
    const isFrame = item.isOpen;
    const group = parent.append("g").datum(item).attr("transform", `translate(${item.x},${item.y})`).attr("id", `box${item.id}`)
      .attr("class", `${isFrame ? "frame" : "box"} ${item.kind}${item === selected ? " is-selected" : ""}${
        !isFrame && holdsChange(item) ? " is-changed" : ""}`)
      .attr("role", "treeitem").attr("tabindex", item === active ? 0 : -1).attr("aria-level", item.depth)
      .attr("aria-setsize", item.parent.children.length).attr("aria-posinset", item.at + 1)
      .attr("aria-selected", item === selected ? "true" : "false").attr("aria-label", labelOf(item))
      .on("click", () => {
        d3.event.stopPropagation();
        report.graph.select(item);
        if (item.kind === "group" && !item.isOpen) report.graph.toggle(item);
        section.scrollIntoView({ block: "nearest" });
      });
    if (canOpen(item)) group.attr("aria-expanded", String(item.isOpen));
    const fill = fillOf(item);
    const body = group.append("rect").attr("class", "body").attr("width", width).attr("height", height)
      .attr("rx", item.kind === "port" ? 18 : 5);
    if (isFrame) {
      group.append("rect").attr("class", "title").attr("x", 1).attr("y", 1).attr("width", width - 2).attr("height", 22).attr("rx", 4);
      if (fill) group.append("rect").attr("x", 4).attr("y", 4).attr("width", 6).attr("height", 16).attr("fill", fill);
      group.append("text").attr("x", 15).attr("y", 16).text(report.fitted(`${title} · ${second}`, width - 44, 12));
      drawToggle(item, group, width - 20, 4);
      drawEdges(item, group);
      for (const child of item.children) drawItem(child, group);
      return;
    }
    const room = width - (canOpen(item) ? 40 : 18);
    let ink = null;
    if (fill && item.kind !== "port") {
      body.style("fill", fill);
      ink = report.ink(fill);
      report.hatch(group, item.byBackend.keys().next().value, { width, height, rounded: 5 });
    } else if (item.kind === "group") {
      drawShares(item, group, width, height);
    }
    group.append("text").attr("x", 9).attr("y", 17).style("fill", ink).text(report.fitted(title, room, 12));
    group.append("text").attr("class", "second").attr("x", 9).attr("y", 33).style("fill", ink).text(report.fitted(second, room, 10.5));
    if (item.times > 1) body.attr("stroke-width", 3);
    if (canOpen(item)) drawToggle(item, group, width - 22, 13);
    group.append("title").text(`${title}\n${second}`);
  }

  function drawShares(item, group, width, height) {
    const sum = d3.sum([...item.byBackend.values()]);
    let x = 1;
    for (const [backend, count] of item.byBackend) {
      const part = ((width - 2) * count) / sum;
      group.append("rect").attr("x", x).attr("y", height - 6).attr("width", part).attr("height", 5).attr("fill", report.colour(backend));
      x += part;
    }
  }

  function draw() {
    report.layOut(tree.root);
    stage.selectAll("*").remove();
    drawEdges(tree.root, stage);
    for (const child of tree.root.children) drawItem(child, stage);
  }

  /// Where an item is, and how large, in the coordinates of the drawing.
  function placeOf(item) {
    let x = 0, y = 0;
    for (let one = item; one.parent; one = one.parent) {
      x += one.x;
      y += one.y;
    }
    return { x, y, ...item.layout };
  }

  function viewSize() {
    return { width: canvas.clientWidth || 800, height: canvas.clientHeight || 600 };
  }

  function moveTo(x, y, scale) {
    svg.call(zoom.transform, d3.zoomIdentity.translate(x, y).scale(scale));
  }

  const graph = report.graph = {
    get selected() { return selected; },
    get active() { return active; },
    get placement() { return placement; },
    get root() { return tree.root; },
    itemOf: node => tree.leaves[node],

    /// Shows all, or as much as can be read from the top.
    fit(isWhole) {
      const view = viewSize(), { width, height } = tree.root.layout;
      const whole = Math.min(view.width / width, view.height / height, 1);
      const scale = isWhole ? whole : Math.max(whole, Math.min(view.width / width, 0.9));
      moveTo(Math.max((view.width - width * scale) / 2, 0), isWhole ? Math.max((view.height - height * scale) / 2, 0) : 4, scale);
    },

    zoomBy(factor) { svg.call(zoom.scaleBy, factor); },

    panBy(x, y) { svg.call(zoom.translateBy, x, y); },

    /// Moves the item into view, where it is not.
    center(item, always) {
      const at = placeOf(item), view = viewSize();
      const now = d3.zoomTransform(svg.node());
      const [left, top] = now.apply([at.x, at.y]);
      const isSeen = left >= 0 && top >= 0 && left + Math.min(at.width * now.k, view.width) <= view.width + 1 &&
        top + 40 * now.k <= view.height;
      if (isSeen && !always) return;
      const scale = always ? Math.max(now.k, 0.8) : now.k;
      moveTo(view.width / 2 - (at.x + at.width / 2) * scale,
        view.height / 2 - (at.y + Math.min(at.height, view.height / scale) / 2) * scale, scale);
    },

    select(item) {
      selected = item;
      active = item;
      draw();
      report.details.show(item, placement);
    },

    focus(item) {
      active = item;
      stage.selectAll("[tabindex='0']").attr("tabindex", -1);
      const box = document.getElementById(`box${item.id}`);
      if (!box) return;
      box.setAttribute("tabindex", "0");
      graph.center(item);
      box.focus({ preventScroll: true });
    },

    /// Shows an open item whole, or as much as can be read from its top.
    fitTo(item) {
      const at = placeOf(item), view = viewSize(), margin = 12;
      const whole = Math.min((view.width - margin) / at.width, (view.height - margin) / at.height, 1);
      const scale = Math.max(whole, Math.min((view.width - margin) / at.width, kLeastScale));
      moveTo(view.width / 2 - (at.x + at.width / 2) * scale,
        at.height * scale < view.height ? view.height / 2 - (at.y + at.height / 2) * scale : margin / 2 - at.y * scale, scale);
    },

    /// Opens, and shows what it opened; or closes, and keeps the item where it is on the screen.
    toggle(item) {
      if (!canOpen(item) || !item.parent) return;
      const before = placeOf(item);
      const hadFocus = stage.node().contains(document.activeElement);
      item.isOpen = !item.isOpen;
      report.outdate(item);
      draw();
      const after = placeOf(item);
      if (item.isOpen) graph.fitTo(item);
      else svg.call(zoom.translateBy, before.x - after.x, before.y - after.y);
      if (hadFocus) graph.focus(item);
    },

    openAll(isOpen) {
      const count = item => d3.sum(item.children, child => 1 + (child.isOpen ? count(child) : 0));
      let seen = count(tree.root);
      let level = tree.root.children;
      if (!isOpen) {
        const close = item => {
          item.isOpen = false;
          item.isStale = true;
          item.children.forEach(close);
        };
        level.forEach(close);
      }
      while (isOpen && level.length) {
        const closed = level.filter(item => canOpen(item) && !item.isOpen);
        for (const item of closed) {
          if (seen + item.children.length > kMostSeen) continue;
          seen += item.children.length;
          item.isOpen = true;
          report.outdate(item);
        }
        if (closed.length) break;
        level = level.flatMap(item => item.children);
      }
      report.outdate(tree.root);
      active = tree.root.children[0];
      draw();
      graph.fit(false);
    },

    /// Opens what holds the node, selects it and moves it into view, with its details beside it.
    reveal(node) {
      section.scrollIntoView({ block: "start", behavior: "instant" });
      const item = tree.leaves[node];
      for (let one = item.parent; one && one.parent; one = one.parent) {
        if (!one.isOpen) {
          one.isOpen = true;
          report.outdate(one);
        }
      }
      graph.select(item);
      graph.center(item, true);
      graph.focus(item);
    },

    /// On paper the whole drawing fits its place, whatever was seen.
    print(isPrinting) {
      const { width, height } = tree.root.layout;
      svg.attr("viewBox", isPrinting ? `0 0 ${width} ${height}` : null);
      stage.attr("transform", isPrinting ? null : d3.zoomTransform(svg.node()));
    },

    /// `nodes`: that are marked as changed.
    show(which, nodes = new Set()) {
      placement = which;
      changed = nodes;
      if (!trees.has(which)) trees.set(which, report.makeTree(which));
      tree = trees.get(which);
      selected = null;
      active = tree.root.children[0];
      draw();
      graph.fit(false);
      report.details.showPlacement(which);
    },
  };
}
