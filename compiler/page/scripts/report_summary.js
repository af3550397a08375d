// SPDX-License-Identifier: Apache-2.0
// What the command printed, as tables: the model, the backends with their shares and refusals.
"use strict";

/// `122 operators, 25.5 M parameters, 8.2 GFLOP; collagec 0.9`
report.modelText = () => {
  const { model, collage } = report.data.summary;
  return `${report.count(model.ops, "operator")}, ${report.amount(model.parameters, "")} parameters, ${
    report.amount(model.flops, "FLOP")}; collagec ${collage}`;
};

report.drawSummary = section => {
  const { element } = report;
  const { summary } = report.data;
  if (!summary.backends && !report.data.difference) return false;  // `compare` has them with its strategies
  section.append(element("p", {}, `${summary.model.name}: ${report.modelText()}`));
  for (const [label, text] of [["Rewrites", summary.rewrites], ["Costs", summary.costs], ["Considered", summary.considered],
    ["Evolution", summary.evolved], ["Rivals", summary.rivals], ["Certificate", summary.certificate], ["Wrote", summary.wrote]]) {
    if (text) section.append(element("p", {}, element("strong", {}, `${label}: `), text));
  }
  if (!summary.backends) return true;
  const macs = d3.sum(summary.backends, row => row.macs);
  section.append(report.table("Backends", ["Backend", ">Nodes", ">Partitions",
    ">MACs", ">Predicted", "Refused"],
  summary.backends.map(row => [
    [report.chip(row.backend), row.backend + (report.isModel(row.backend) ? " (a model of a chip)" : "")], row.ops, row.partitions,
    macs > 0 ? report.percent(row.macs / macs) : "-", row.partitions ? report.seconds(row.predicted_s) : "-",
    row.absent ? `absent: ${row.absent}` : refusals(row.refused)])));

  function refusals(texts) {
    if (texts.length < 2) return texts.join("");
    return element("details", {}, element("summary", {}, texts[0]), texts.slice(1).map(text => element("div", {}, text)));
  }
  if (summary.uncompiled) {
    const list = Object.entries(summary.uncompiled)
      .map(([op, count]) => `${op} ${count}× (${summary.uncompiled_why[op].join("; ")})`).join(", ");
    section.append(element("p", {}, element("strong", {}, "On reference kernels: "), list));
  }
  return true;
};
