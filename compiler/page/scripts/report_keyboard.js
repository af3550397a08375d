// SPDX-License-Identifier: Apache-2.0
// Keys and buttons of the graph.
"use strict";

{
  const canvas = document.getElementById("canvas");

  /// Boxes as they are seen, from the top and the left of each level.
  function siblings(item) {
    return [...item.parent.children].sort((a, b) => a.y - b.y || a.x - b.x);
  }

  function neighbour(item, step) {
    const all = siblings(item);
    return all[all.indexOf(item) + step];
  }

  const acts = {
    ArrowDown: item => neighbour(item, 1) || (item.parent.parent && neighbour(item.parent, 1)),
    ArrowUp: item => neighbour(item, -1) || (item.parent.parent && item.parent),
    ArrowRight(item) {
      if (!item.children.length) return neighbour(item, 1);
      if (!item.isOpen) report.graph.toggle(item);
      return siblings(item.children[0])[0];
    },
    ArrowLeft(item) {
      if (item.isOpen) {
        report.graph.toggle(item);
        return item;
      }
      return item.parent.parent ? item.parent : neighbour(item, -1);
    },
    Home: item => siblings(item)[0],
    End: item => siblings(item).pop(),
  };

  const tools = {
    less: () => report.graph.openAll(false),
    more: () => report.graph.openAll(true),
    in: () => report.graph.zoomBy(1.3),
    out: () => report.graph.zoomBy(1 / 1.3),
    fit: () => report.graph.fit(true),
  };

  const keys = { "+": "in", "=": "in", "-": "out", 0: "fit", c: "less", x: "more" };

  canvas.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const item = report.graph.active;
    if (!item) return;
    if (event.key === "Enter" || event.key === " ") {
      report.graph.select(item);
      if (event.key === "Enter") report.graph.toggle(item);
      report.graph.focus(item);
    } else if (keys[event.key]) {
      tools[keys[event.key]]();
      report.graph.focus(report.graph.active);
    } else if (acts[event.key]) {
      const next = acts[event.key](item);
      if (next) report.graph.focus(next);
    } else {
      return;
    }
    event.preventDefault();
  });

  for (const button of document.querySelectorAll("[data-act]")) {
    button.addEventListener("click", () => tools[button.dataset.act]());
  }

  document.addEventListener("keydown", event => {
    const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    document.getElementById("find").focus();
  });
}
