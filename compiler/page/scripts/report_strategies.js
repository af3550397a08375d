// SPDX-License-Identifier: Apache-2.0
// Strategies side by side (`compare`), and two placements compared (`diff`).
"use strict";

{
  const { element } = report;

  /// `part` of the longest bar.
  function bar(part, kind) {
    return element("span", { class: `bar ${kind}`, style: `width:${Math.max(part * 7, 0.05)}rem`, "aria-hidden": "true" });
  }

  function shareOf([backend, part]) {
    const colour = report.colour(backend);
    return element("span", { class: report.isModel(backend) ? "hatched" : undefined,
      style: `width:${100 * part}%;background-color:${colour};color:${report.ink(colour)}`,
      title: `${backend} ${report.percent(part)}` }, part > 0.2 ? backend : "");
  }

  /// The work of each backend, as a bar of its parts.
  function shares(row) {
    const parts = Object.entries(row.mac_share).filter(entry => entry[1] > 0);
    const label = parts.map(([backend, part]) => `${backend} ${report.percent(part)}`).join(", ");
    return element("div", { class: "stack", style: "width:9rem", role: "img", "aria-label": label }, parts.map(shareOf));
  }

  /// The name of a strategy, which shows its placement in the graph.
  function shownButton(name) {
    const placement = report.placements.find(one => one.name === name);
    const show = () => {
      document.getElementById("shown").value = String(report.placements.indexOf(placement));
      report.graph.show(placement);
      document.getElementById("graph").scrollIntoView();
    };
    return placement ? element("button", { type: "button", class: "link whole", onclick: show }, name)
      : element("span", { class: "whole" }, name);
  }

  report.drawStrategies = section => {
    const { compare } = report.data.summary;
    if (!compare) return false;
    const value = row => (row.predicted_s !== undefined ? row.predicted_s : row.predicted_j);
    const unit = compare.strategies.some(row => row.predicted_j !== undefined) ? "J" : "s";
    const most = d3.max(compare.strategies, row => value(row) || 0) || 1;
    const slowest = d3.max(compare.strategies, row => (row.measured ? row.measured.median_s : 0)) || 1;
    const isMeasured = compare.runs > 0;
    // One bar: of what was measured, where something was.
    const columns = ["Strategy", ">Predicted", ...(isMeasured ? [] : [""]), ">Ratio", ...(isMeasured ? [">Measured", "", ">Ratio"] : []),
      ">Partitions", ">Conversions", "Work", ">Searched"];
    const measured = row => row.measured
      ? [report.seconds(row.measured.median_s), bar(row.measured.median_s / slowest, "measured"), row.measured.ratio.toFixed(2)]
      : ["", "", ""];
    const cells = row => [shownButton(row.strategy), report.amount(value(row), unit),
      ...(isMeasured ? [] : [bar(value(row) / most, "predicted")]), row.ratio.toFixed(2), ...(isMeasured ? measured(row) : []),
      row.partitions, row.conversions, shares(row), report.seconds(row.search_s)];
    const failed = row => [row.strategy, "-", ...columns.slice(2, -2).map(() => ""), row.failure, ""];
    section.append(report.table("Strategies", columns, compare.strategies.map(row => (row.failure ? failed(row) : cells(row)))),
      compare.disturbance ? element("p", { class: "note" }, `Disturbed: ${compare.disturbance}.`) : "",
      element("p", { class: "note" }, "A click on a strategy shows its placement in the graph. ",
        `The model: ${report.modelText()}.`));
    return true;
  };

  function changes(title, list) {
    if (list.length === 0) return [];
    const byName = new Map(report.nodes.map((node, index) => [node.name, index]));
    const shown = list.slice(0, 300);
    return [element("h3", {}, `${title}: ${list.length}`),
      report.table(title, ["Node", "Operator", "From", "To"],
        shown.map(one => [report.nodeLink(byName.get(one.node)), one.op, one.from, one.to])),
      shown.length < list.length ? element("p", { class: "note" }, `and ${list.length - shown.length} more`) : ""];
  }

  report.drawDifference = section => {
    const { difference } = report.data;
    if (!difference) return false;
    const { a, b, places, predicted_s: predicted } = difference;
    const change = (from, to) => from > 0 ? `${to >= from ? "+" : ""}${(100 * (to / from - 1)).toFixed(1)} %` : "";
    section.append(report.table("Two placements", ["", `>${a}`, `>${b}`, ">Change"], [
      ["Predicted", report.cost(predicted[0]), report.cost(predicted[1]), change(...predicted)],
      ["Partitions", ...difference.partitions, ""], ["Conversions", ...difference.conversions, ""],
      ...places.map(one => [one.place, report.seconds(one.cost_s[0]), report.seconds(one.cost_s[1]), change(...one.cost_s)])]),
    ...changes("Moved", difference.moved), ...changes("With other nodes", difference.regrouped).filter(Boolean));
    if (difference.moved.length + difference.regrouped.length === 0) {
      section.append(element("p", {}, "Every node runs in the same place, with the same nodes, in both."));
    }
    return true;
  };
}
