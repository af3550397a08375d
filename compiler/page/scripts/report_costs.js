// SPDX-License-Identifier: Apache-2.0
// Where the predicted time goes: a treemap by backend and partition, and the conversions with their bytes.
"use strict";

{
  const { element } = report;

  function hierarchyOf(placement) {
    const groups = new Map();
    const add = (name, leaf) => {
      if (!groups.has(name)) groups.set(name, { name, children: [] });
      groups.get(name).children.push(leaf);
    };
    for (const partition of placement.partitions) add(partition.backend, { partition, cost: partition.cost_s });
    for (const conversion of placement.json.conversions) add("conversions", { conversion, cost: conversion.cost_s });
    return d3.hierarchy({ children: [...groups.values()] }).sum(one => one.cost || 0).sort((a, b) => b.value - a.value);
  }

  function nameOf({ partition, conversion }) {
    if (conversion) return `%${conversion.value}`;
    const first = report.nodes[partition.nodes[0]];
    if (partition.nodes.length === 1) return `${first.op} %${first.name}`;
    return `${partition.id}: ${partition.nodes.length} nodes, ${first.op} …`;
  }

  const wayOf = conversion => `${conversion.from} to ${conversion.to}, ${report.bytes(conversion.bytes)}`;

  function textOf(leaf) {
    const { partition, conversion, cost } = leaf.data;
    return [nameOf(leaf.data), partition ? report.place(partition) : wayOf(conversion), report.seconds(cost)].join("\n");
  }

  function drawMap(section, placement) {
    if (placement.partitions.length + placement.json.conversions.length === 0) {
      section.append(element("p", {}, "Nothing to show: the model has no operators."));
      return;
    }
    const width = report.widthOf(section), height = 380;
    const root = d3.treemap().size([width, height]).paddingTop(18).paddingInner(1).round(true)(hierarchyOf(placement));
    const svg = report.figure(section, width, height, "Predicted costs by backend and partition; the tables below have the same");
    for (const group of root.children || []) {
      svg.append("text").attr("x", group.x0 + 3).attr("y", group.y0 + 13)
        .text(report.fitted(`${group.data.name} ${report.seconds(group.value)}`, group.x1 - group.x0 - 6, 11));
    }
    const seen = root.leaves().filter(leaf => leaf.x1 - leaf.x0 >= 1 && leaf.y1 - leaf.y0 >= 1);
    const colour = leaf => report.colour(leaf.parent.data.name);
    const rects = svg.append("g").selectAll("rect").data(seen).enter().append("rect")
      .attr("x", leaf => leaf.x0).attr("y", leaf => leaf.y0)
      .attr("width", leaf => leaf.x1 - leaf.x0).attr("height", leaf => leaf.y1 - leaf.y0)
      .attr("fill", colour).attr("stroke", "var(--soft)").attr("stroke-width", 0.5).style("cursor", "pointer")
      .on("click", leaf => {
        if (leaf.data.partition) report.graph.reveal(leaf.data.partition.nodes[0]);
      });
    report.withTip(rects, textOf);
    const named = seen.filter(leaf => leaf.x1 - leaf.x0 > 50 && leaf.y1 - leaf.y0 > 16);
    svg.append("g").selectAll("text").data(named).enter().append("text").attr("x", leaf => leaf.x0 + 4).attr("y", leaf => leaf.y0 + 13)
      .style("fill", leaf => report.ink(colour(leaf))).style("pointer-events", "none")
      .text(leaf => report.fitted(nameOf(leaf.data), leaf.x1 - leaf.x0 - 8, 11));
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
