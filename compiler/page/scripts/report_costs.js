// SPDX-License-Identifier: Apache-2.0
// Where the predicted time goes: a treemap by backend, partition and kernel, and the conversions with their bytes.
"use strict";

{
  const { element } = report;

  function hierarchyOf(placement) {
    const groups = new Map();
    const add = (name, leaf) => {
      if (!groups.has(name)) groups.set(name, { name, children: [] });
      groups.get(name).children.push(leaf);
    };
    const times = report.times(placement);
    const kernels = new Map(placement.partitions.map(partition => [partition, []]));
    for (const kernel of times.kernels) {
      if (kernel.predicted > 0) kernels.get(kernel.partition).push({ partition: kernel.partition, kernel, cost: kernel.predicted });
    }
    for (const partition of placement.partitions) {
      const inside = kernels.get(partition);
      add(partition.backend, inside.length > 1 ? { partition, children: inside }
        : { partition, kernel: inside.length ? inside[0].kernel : undefined, cost: partition.cost_s });
    }
    for (const conversion of placement.json.conversions) add("conversions", { conversion, cost: conversion.cost_s });
    return d3.hierarchy({ children: [...groups.values()] }).sum(one => one.cost || 0).sort((a, b) => b.value - a.value);
  }

  function nameOf({ partition, kernel, conversion }) {
    if (conversion) return `%${conversion.value}`;
    if (kernel && kernel.head >= 0) return `${report.kernelOps(kernel)} %${report.nodes[kernel.head].name}`;
    const first = report.nodes[partition.nodes[0]];
    return `${partition.id}: ${partition.nodes.length} nodes, ${first.op} …`;
  }

  const timeOf = ({ kernel, cost }) => report.aboutSeconds(cost, Boolean(kernel && kernel.isAbout));

  const wayOf = conversion => `${conversion.from} to ${conversion.to}, ${report.bytes(conversion.bytes)}`;

  function textOf(leaf) {
    const { partition, kernel, conversion, cost } = leaf.data;
    const share = report.percent(cost / (report.placements[0].json.cost.predicted_s || 1));
    const measured = kernel && kernel.measured !== undefined
      ? [`measured ${report.aboutSeconds(kernel.measured, kernel.isMeasuredAbout)}${kernel.isByClock ? " by its rules" : ""}`] : [];
    return [nameOf(leaf.data), partition ? `${report.place(partition)}, in ${partition.id}` : wayOf(conversion),
      `${timeOf(leaf.data)}, ${share}`, ...measured].join("\n");
  }

  function drawMap(section, placement) {
    if (placement.partitions.length + placement.json.conversions.length === 0) {
      section.append(element("p", {}, "Nothing to show: the model has no operators."));
      return;
    }
    const width = report.widthOf(section), height = 380;
    const title = 16;  // of a backend, and of a partition of several kernels
    const root = d3.treemap().size([width, height]).paddingTop(box => (box.depth === 0 ? 0 : title)).paddingInner(1)
      .round(true)(hierarchyOf(placement));
    const svg = report.figure(section, width, height,
      "Predicted costs by backend, partition and kernel; the tables have the same");
    const seen = root.leaves().filter(leaf => leaf.x1 - leaf.x0 >= 1 && leaf.y1 - leaf.y0 >= 1);
    const backendOf = box => (box.depth <= 1 ? box.data.name : backendOf(box.parent));
    const colour = leaf => report.colour(backendOf(leaf));
    const rects = svg.append("g").selectAll("rect").data(seen).enter().append("rect")
      .attr("x", leaf => leaf.x0).attr("y", leaf => leaf.y0)
      .attr("width", leaf => leaf.x1 - leaf.x0).attr("height", leaf => leaf.y1 - leaf.y0)
      .attr("fill", colour).attr("stroke", "var(--soft)").attr("stroke-width", 0.5).style("cursor", "pointer")
      .on("click", leaf => {
        const { partition, kernel } = leaf.data;
        if (partition) report.graph.reveal(kernel && kernel.head >= 0 ? kernel.head : partition.nodes[0]);
      });
    report.withTip(rects, textOf);
    const over = svg.append("g").style("pointer-events", "none");
    for (const leaf of seen) {
      report.hatch(over, backendOf(leaf), { x: leaf.x0, y: leaf.y0, width: leaf.x1 - leaf.x0, height: leaf.y1 - leaf.y0 });
    }
    const write = (box, text, line, ink) => over.append("text").attr("x", box.x0 + 4).attr("y", box.y0 + 12 + 13 * line)
      .style("fill", ink).text(report.fitted(text, box.x1 - box.x0 - 8, 11));
    for (const box of root.descendants().filter(one => one.children && one.depth > 0 && one.x1 - one.x0 > 30)) {
      const name = box.depth === 1 ? `${box.data.name}${report.isModel(box.data.name) ? " (a model of a chip)" : ""}`
        : box.data.partition.id;
      write(box, `${name} ${report.seconds(box.value)}`, 0, null);
    }
    for (const leaf of seen.filter(one => one.x1 - one.x0 > 44 && one.y1 - one.y0 > 15)) {
      const ink = report.ink(colour(leaf));
      write(leaf, nameOf(leaf.data), 0, ink);
      if (leaf.y1 - leaf.y0 > 29) write(leaf, timeOf(leaf.data), 1, ink);
    }
  }

  function partitionTable(placement) {
    const total = placement.json.cost.predicted_s || 1;
    const mostExpensive = [...placement.partitions].sort((a, b) => b.cost_s - a.cost_s).slice(0, 30);
    const more = partition => partition.nodes.length > 1 ? ` and ${partition.nodes.length - 1} more` : "";
    return report.table("The most expensive partitions", ["Partition", "On", "Rules", ">Cost", ">Of all"], mostExpensive.map(partition => [
      [report.nodeLink(partition.nodes[0]), more(partition)], [report.chip(partition.backend), report.place(partition)],
      partition.rules.map(rule => rule.name).slice(0, 3).join(", "), report.seconds(partition.cost_s),
      report.percent(partition.cost_s / total)]));
  }

  function drawConversions(section, conversions) {
    section.append(element("h3", {}, "Conversions"));
    if (conversions.length === 0) {
      section.append(element("p", {}, "None: every value is read as it was made."));
      return;
    }
    const shown = [...conversions].sort((a, b) => b.cost_s - a.cost_s).slice(0, 200);
    const bytes = d3.sum(conversions, one => one.bytes), cost = d3.sum(conversions, one => one.cost_s);
    section.append(
      element("p", {}, `${report.count(conversions.length, "conversion")} of ${report.bytes(bytes)}, ${report.seconds(cost)}`),
      report.table("Conversions", ["Value", "From", "To", ">Bytes", ">Cost"], shown.map(one =>
        [element("code", {}, `%${one.value}`), one.from, one.to, report.bytes(one.bytes), report.seconds(one.cost_s)])));
    const rest = conversions.length - shown.length;
    if (rest > 0) section.append(element("p", { class: "note" }, `and ${rest} more, cheaper ones`));
  }

  report.drawCosts = section => {
    const placement = report.placements[0];
    drawMap(section, placement);
    section.append(element("details", {}, element("summary", {}, "The most expensive partitions"), partitionTable(placement)));
    drawConversions(section, placement.json.conversions);
  };
}
