// SPDX-License-Identifier: Apache-2.0
// The document of the page (report_data.h) with what the views look up: partitions by node, colours by backend.
"use strict";

const report = {};

report.data = JSON.parse(document.getElementById("data").textContent);

{
  const data = report.data;

  /// One placement: `partitions` as the document of `--json` has them, each with its nodes as indices, its rules and its parts.
  function readPlacement(shown) {
    const json = shown.placement || data.summary.placement;
    const partitions = json.partitions.map((partition, index) => ({
      ...partition, ...shown.partitions[index], names: partition.nodes, index,
    }));
    const ofNode = new Int32Array(data.graph.nodes.length).fill(-1);
    for (const partition of partitions) {
      for (const node of partition.nodes) ofNode[node] = partition.index;
    }
    const conversions = new Map();  // by value name
    for (const conversion of json.conversions) {
      if (!conversions.has(conversion.value)) conversions.set(conversion.value, []);
      conversions.get(conversion.value).push(conversion);
    }
    const byName = new Map(partitions.map(partition => [partition.id, partition]));
    const given = shown.given && { by: shown.given.by, nodes: new Set(shown.given.nodes) };
    return { name: shown.name, json, given, partitions, ofNode, conversions, byName, blocks: shown.blocks };
  }

  /// What the search proved of a placement: {isBest, gap}. Nothing where places were given: its bound is that of the
  /// rest.
  report.proofOf = ({ json: { objective }, given }) => {
    if (given) return {};
    if (objective.optimal) return { isBest: true };
    return objective.gap !== null && objective.bound > 0 ? { gap: objective.gap } : {};
  };

  report.nodes = data.graph.nodes;
  report.values = data.graph.values;
  report.placements = data.placements.map(readPlacement);

  /// Node that makes a value; -1: it is an input or a constant.
  report.producer = new Int32Array(report.values.length).fill(-1);
  report.readers = report.values.map(() => []);
  report.nodes.forEach((node, index) => {
    for (const value of node.out) if (value >= 0) report.producer[value] = index;
    for (const value of new Set(node.in)) if (value >= 0) report.readers[value].push(index);
  });

  // A backend has the same colour on every page. Those of rules/ have ones that people with any colour vision tell apart
  // (Okabe and Ito); names stand beside them everywhere.
  const kColours = new Map(Object.entries({ host: "#b9bec6", conversions: "#f3cdb6", onednn: "#56b4e9", xnnpack: "#e69f00",
    openblas: "#009e73", npu: "#cc79a7", dsp: "#f0e442", systolic: "#d55e00", ethosu: "#b8a1e3" }));
  const names = new Set();
  for (const row of data.summary.backends || []) names.add(row.backend);
  for (const name of data.choices.backends) names.add(name);
  for (const placement of report.placements) for (const partition of placement.partitions) names.add(partition.backend);
  report.backends = [...names];
  const models = new Set(data.about.models);

  /// Whether a backend is a model of a chip: no device runs what is there.
  report.isModel = backend => models.has(backend);

  /// The colour of another name: of a hue that the name alone decides.
  function colourOfName(name) {
    let hash = 2166136261;
    for (const letter of name) hash = Math.imul(hash ^ letter.codePointAt(0), 16777619) >>> 0;
    return d3.color(d3.hsl(hash % 360, 0.5, 0.45 + (hash >>> 16) % 4 * 0.08)).hex();
  }

  report.colour = name => {
    if (!kColours.has(name)) kColours.set(name, colourOfName(name));
    return kColours.get(name);
  };

  /// Black or white: what reads better on the colour.
  report.ink = colour => {
    const parts = [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16) / 255);
    const [r, g, b] = parts.map(part => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#000000" : "#ffffff";
  };

  /// `npu[0]`, `onednn` where it works in host memory: as explain_text.h has it.
  report.place = partition => partition.device === "host" ? partition.backend
    : partition.device.startsWith(partition.backend) ? partition.device : `${partition.backend} on ${partition.device}`;
}
