// SPDX-License-Identifier: Apache-2.0
// Draws the page: where the time goes and the graph first, the other sections one by one when the browser has time.
"use strict";

{
  const { element, data } = report;
  const [placement] = report.placements;

  /// `, 13.4 ms of it on npu, a model of a chip`; of an objective that is no sum of times `, 13.4 ms of 17.8 ms in
  /// sequence on npu, …`
  function ofModels() {
    const names = new Set(), parts = placement.partitions.filter(partition => report.isModel(partition.backend));
    for (const partition of parts) names.add(partition.backend);
    if (parts.length === 0) return "";
    const whole = data.about.sums_times ? "it" : `${report.seconds(placement.json.cost.predicted_s)} in sequence`;
    return `, ${report.seconds(d3.sum(parts, partition => partition.cost_s))} of ${whole} on ${[...names].join(", ")}, ${
      names.size > 1 ? "models of chips" : "a model of a chip"}`;
  }

  function drawHead() {
    const { given, json: { objective } } = placement;
    document.getElementById("title").textContent = data.about.file;
    const { isBest, gap } = report.proofOf(placement);
    let proof = "";
    if (given) proof = `, ${given.nodes.size < report.nodes.length ? "in part " : ""}as ${given.by} has it`;
    else if (isBest) proof = `, proven to be the best${data.summary.compare && data.summary.compare.runs > 0 ? " by predicted costs" : ""}`;
    else if (gap !== undefined) proof = `, at most ${report.percent(gap)} above the best`;
    const used = new Set(placement.partitions.map(partition => partition.backend));
    document.getElementById("headline").textContent = `${objective.name} ${report.cost(objective.value)} predicted${ofModels()}${proof}; `
      + `${report.count(placement.partitions.length, "partition")} on ${[...used].join(", ") || "no backend"}, ${
        report.count(placement.json.conversions.length, "conversion")}`;
  }

  function drawLegend() {
    const counts = new Map();
    for (const partition of placement.partitions) {
      counts.set(partition.backend, (counts.get(partition.backend) || 0) + partition.nodes.length);
    }
    document.getElementById("legend").append(...report.backends.filter(backend => counts.has(backend)).map(backend =>
      element("li", {}, report.chip(backend), `${backend}: ${report.count(counts.get(backend), "node")}`)),
    element("li", {}, element("span", { class: "chip", style: "background:var(--convert)" }), "dashed: copied or converted on the way"));
  }

  function choosePlacement() {
    const { placements } = report;
    if (placements.length < 2) return;
    const select = document.getElementById("shown");
    document.getElementById("shown-label").hidden = false;
    select.append(...placements.map((one, index) => element("option", { value: index }, one.name)));
    select.addEventListener("change", () => report.graph.show(placements[Number(select.value)], changed()));
  }

  /// Nodes that two compared placements have elsewhere.
  function changed() {
    if (!data.difference) return new Set();
    const byName = new Map(report.nodes.map((node, index) => [node.name, index]));
    return new Set(data.difference.moved.map(one => byName.get(one.node)));
  }

  function chooseTheme() {
    const button = document.getElementById("theme");
    const set = isDark => {
      document.documentElement.classList.toggle("dark", isDark);
      button.setAttribute("aria-pressed", String(isDark));
      button.textContent = isDark ? "Light" : "Dark";
    };
    const preferred = window.matchMedia("(prefers-color-scheme: dark)");
    set(preferred.matches);
    preferred.addEventListener("change", () => set(preferred.matches));
    button.addEventListener("click", () => set(button.getAttribute("aria-pressed") !== "true"));
    let wasDark = false;
    window.addEventListener("beforeprint", () => {
      wasDark = document.documentElement.classList.contains("dark");
      set(false);
      finish();
      report.graph.print(true);
    });
    window.addEventListener("afterprint", () => {
      set(wasDark);
      report.graph.print(false);
    });
  }

  const waiting = [["summary", report.drawSummary], ["search", report.drawBound], ["timeline", report.drawTimeline],
    ["costs", report.drawCosts], ["memory", report.drawMemory], ["strategies", report.drawStrategies],
    ["difference", report.drawDifference]];

  /// Draws one section; without what it shows it disappears.
  function drawSection(id, draw) {
    const section = document.getElementById(id);
    if (draw(section) === false) section.hidden = true;
    else document.getElementById("sections").append(element("a", { href: `#${id}` }, section.querySelector("h2").textContent), " ");
  }

  function finish() {
    while (waiting.length) drawSection(...waiting.shift());
    document.documentElement.dataset.drawn = "all";
  }

  function drawLater() {
    if (waiting.length === 0) return finish();
    drawSection(...waiting.shift());
    setTimeout(drawLater, 0);
  }

  chooseTheme();
  drawHead();
  drawLegend();
  choosePlacement();
  drawSection("where", report.drawWhere);
  drawSection("graph", () => report.graph.show(placement, changed()));
  document.documentElement.dataset.drawn = "graph";
  performance.mark("graph");
  requestAnimationFrame(() => setTimeout(drawLater, 0));
}
