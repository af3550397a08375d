// SPDX-License-Identifier: Apache-2.0
// The cost, the bound and the gap, and how the search reached them.
"use strict";

{
  const { element } = report;

  function drawSteps(section, steps) {
    const width = 760, height = 240, margin = { left: 74, right: 16, top: 12, bottom: 34 };
    const svg = report.figure(section, width, height, "Cost of the best placement and proven bound over the time of the search");
    const x = d3.scaleLinear().domain([0, d3.max(steps, step => step.seconds) || 1]).range([margin.left, width - margin.right]);
    const all = steps.flatMap(step => [step.bound, step.cost]).filter(value => value > 0);
    const low = d3.min(all), high = d3.max(all);
    const room = (high - low) * 0.05 || high * 0.05;
    const y = d3.scaleLinear().domain([low - room, high + room]).range([height - margin.bottom, margin.top]);
    report.addAxis(svg, d3.axisBottom(x).ticks(6).tickFormat(report.seconds), 0, height - margin.bottom);
    report.addAxis(svg, d3.axisLeft(y).ticks(5).tickFormat(report.cost), margin.left, 0);
    for (const field of ["cost", "bound"]) {
      const line = d3.line().curve(d3.curveStepAfter).defined(step => step[field] > 0).x(step => x(step.seconds)).y(step => y(step[field]));
      svg.append("path").attr("class", `line ${field}`).attr("d", line(steps));
      const last = steps.filter(step => step[field] > 0).pop();
      if (!last) continue;
      svg.append("circle").attr("cx", x(last.seconds)).attr("cy", y(last[field])).attr("r", 3.5).attr("fill", `var(--${field})`);
    }
    section.append(element("ul", { class: "legend" },
      element("li", {}, element("span", { class: "chip", style: "background:var(--cost)" }), "cost of the best placement so far"),
      element("li", {}, element("span", { class: "chip", style: "background:var(--bound)" }), "bound: no placement costs less")));
  }

  report.drawBound = section => {
    const { data } = report;
    const { given, json: { objective, search } } = report.placements[0];
    const outcome = data.summary.search && !given ? data.summary.search.outcome : "";
    const rows = [["Objective", objective.name], ["Value", report.cost(objective.value)]];
    const { isBest, gap } = report.proofOf(report.placements[0]);
    if (given) rows.push(["Given", `${report.count(given.nodes.size, "node")} by ${given.by}: nothing is proven of other places`]);
    else if (objective.bound > 0) rows.push(["Bound", report.cost(objective.bound)]);
    if (isBest) rows.push(["Gap", "none: proven to be the best"]);
    else if (gap !== undefined) rows.push(["Gap", report.percent(gap)]);
    if (outcome) rows.push(["Outcome", outcome + (data.summary.search.known ? ", of an earlier compilation" : "")]);
    rows.push(["States", search.states.toLocaleString("en")], ["Time", report.seconds(search.seconds)]);
    const { candidates } = report.placements[0].json;
    rows.push(["Candidates", `${candidates.total.toLocaleString("en")}, ${candidates.distinct.toLocaleString("en")} of them distinct`]);
    section.append(report.table("Search", ["", ""], rows));
    if (data.search.length > 1 && !given) drawSteps(section, data.search);
    for (const [title, list, text] of [
      ["Simpler strategies", data.summary.baselines, one => [one.strategy, report.cost(one.predicted_s ?? one.predicted_j)]],
      ["Limits that cost", data.summary.limits, one => [one.limit, `${report.cost(one.gain_s ?? one.gain_j)} less without it`]]]) {
      if (list) section.append(element("h3", {}, title), report.table(title, ["", ">"], list.map(text)));
    }
  };
}
