// SPDX-License-Identifier: Apache-2.0
// Where the time goes, at a glance: by backend, by operator, and the kernels that take longest; and which of several times
// of the whole to believe.
"use strict";

{
  const { element, data } = report;
  const kMostOperators = 9, kMostKernels = 10;

  /// Adds up what `keyOf` groups: [{key, predicted, measured, isAbout, isMeasuredAbout, nodes}].
  function groupsOf(kernels, keyOf) {
    const groups = new Map();
    for (const kernel of kernels) {
      const key = keyOf(kernel);
      if (!groups.has(key)) groups.set(key, { key, predicted: 0, measured: 0, isAbout: false, isMeasuredAbout: false, nodes: 0 });
      const group = groups.get(key);
      group.predicted += kernel.predicted;
      group.measured += kernel.measured || 0;
      group.isAbout = group.isAbout || kernel.isAbout;
      group.isMeasuredAbout = group.isMeasuredAbout || Boolean(kernel.isMeasuredAbout);
      group.nodes += kernel.nodes.length;
    }
    return [...groups.values()];
  }

  const longestFirst = (groups, field) => groups.sort((a, b) => b[field] - a[field]);

  function segment({ key, seconds }, whole) {
    const part = seconds / whole, colour = report.colour(key);
    const model = report.isModel(key) ? ", a model of a chip" : "";
    return element("span", { class: report.isModel(key) ? "hatched" : undefined,
      style: `width:${100 * part}%;background-color:${colour};color:${report.ink(colour)}`,
      title: `${key}${model}: ${report.seconds(seconds)}, ${report.percent(part)}` },
    part > 0.1 ? `${key} ${report.seconds(seconds)}, ${report.percent(part)}` : "");
  }

  /// One bar of the whole, a segment for each backend.
  function bar(label, parts) {
    const whole = d3.sum(parts, part => part.seconds);
    if (!(whole > 0)) return [];
    const shown = parts.filter(part => part.seconds > 0).sort((a, b) => b.seconds - a.seconds);
    const text = shown.map(part => `${part.key} ${report.percent(part.seconds / whole)}`).join(", ");
    return [element("div", { class: "bar-row" }, element("span", {}, `${label} `, element("strong", {}, report.seconds(whole))),
      element("div", { class: "stack", role: "img", "aria-label": `${label}: ${text}` }, shown.map(part => segment(part, whole))))];
  }

  function bars(times) {
    const byBackend = groupsOf(times.kernels, kernel => kernel.partition.backend);
    const parts = field => [...byBackend.map(group => ({ key: group.key, seconds: group[field] })),
      { key: "conversions", seconds: times.moves[field] || 0 }];
    const small = parts("predicted").filter(part => part.seconds > 0).sort((a, b) => b.seconds - a.seconds);
    return [...bar("Predicted", parts("predicted")), ...(times.isRun ? bar("Measured", parts("measured")) : []),
      element("ul", { class: "legend" }, small.map(part => element("li", {}, report.chip(part.key),
        `${part.key}${report.isModel(part.key) ? " (a model of a chip)" : ""} ${report.seconds(part.seconds)}`)),
      times.kernels.some(kernel => kernel.isByClock) ? element("li", {}, "measured: of models of chips the times by their rules") : "")];
  }

  function operatorTable(times) {
    const field = times.isRun ? "measured" : "predicted";
    const all = groupsOf(times.kernels.filter(kernel => kernel.head >= 0), kernel => report.nodes[kernel.head].op);
    const layouts = groupsOf(times.kernels.filter(kernel => kernel.head < 0),
      kernel => kernel.text.endsWith("around its kernels") ? "around kernels" : "changes of layout inside");
    const moves = { key: "conversions", predicted: times.moves.predicted, measured: times.moves.measured || 0, nodes: 0 };
    const rows = longestFirst([...all, ...layouts, moves].filter(group => group[field] > 0), field);
    const whole = d3.sum(rows, group => group[field]) || 1;
    const rest = rows.length > kMostOperators + 1 ? rows.slice(kMostOperators) : [];
    const shown = rows.slice(0, rows.length - rest.length);
    if (rest.length) {
      shown.push({ key: `${rest.length} others`, predicted: d3.sum(rest, one => one.predicted), nodes: d3.sum(rest, one => one.nodes),
        measured: d3.sum(rest, one => one.measured), isAbout: rest.some(one => one.isAbout),
        isMeasuredAbout: rest.some(one => one.isMeasuredAbout) });
    }
    return report.table("By operator", ["Operator", ">Nodes", ">Of all", ">Predicted", ...(times.isRun ? [">Measured"] : [])],
      shown.map(group => [group.key, group.nodes || "", report.percent(group[field] / whole),
        report.aboutSeconds(group.predicted, group.isAbout && !times.isRun),
        ...(times.isRun ? [report.aboutSeconds(group.measured, group.isMeasuredAbout)] : [])]));
  }

  function kernelName(kernel) {
    return kernel.head < 0 ? kernel.partition.id : report.nodeLink(kernel.head);
  }

  function slowestTable(times) {
    const slowest = times.kernels.filter(kernel => report.weightOf(kernel) > 0)
      .sort((a, b) => report.weightOf(b) - report.weightOf(a)).slice(0, kMostKernels);
    const measured = kernel => kernel.measured === undefined || kernel.isByClock ? "-"
      : report.aboutSeconds(kernel.measured, kernel.isMeasuredAbout);
    return report.table("The slowest ten", ["Node", "Operator", "On", ">Predicted", ...(times.isRun ? [">Measured"] : [])],
      slowest.map(kernel => [kernelName(kernel), report.kernelOps(kernel),
        [report.chip(kernel.partition.backend), report.place(kernel.partition)],
        kernel.head < 0 ? "-" : report.aboutSeconds(kernel.predicted, kernel.isAbout), ...(times.isRun ? [measured(kernel)] : [])]));
  }

  report.drawWhere = section => {
    const placement = report.placements[0];
    if (placement.partitions.length === 0) return false;
    const times = report.times(placement);
    if (data.about.verdict) section.append(element("p", { class: "verdict" }, data.about.verdict));
    if (!data.about.sums_times) {
      section.append(element("p", { class: "note" }, `Steps are counted one by one: ${data.about.objective} is not their sum.`));
    }
    section.append(...bars(times), element("div", { class: "side-by-side" },
      element("div", {}, element("h3", {}, "By operator"), operatorTable(times)),
      element("div", {}, element("h3", {}, "The slowest ten"), slowestTable(times))));
    return true;
  };
}
