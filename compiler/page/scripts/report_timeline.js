// SPDX-License-Identifier: Apache-2.0
// Steps over time: predicted, and measured where the model was run. Drawn anew at each zoom, and no step that is too
// thin to be seen: any number of steps costs about as many bars as there are columns.
"use strict";

{
  const { element } = report;
  const kRow = 22, kLeft = 150, kTop = 6;

  function rowsOf(timeline) {
    const kinds = [["predicted", "predicted_s"], ["measured", "actual_s"]].slice(0, timeline.actual_s === undefined ? 1 : 2);
    const used = new Set(timeline.steps.flatMap(step => step.tracks));
    const rows = [];
    for (const [track, name] of timeline.tracks.entries()) {
      if (!used.has(track)) continue;
      for (const [kind, field] of kinds) rows.push({ track, field, label: `${name}${kinds.length > 1 ? `, ${kind}` : ""}` });
    }
    for (const row of rows) {
      row.steps = timeline.steps.filter(step => step.tracks.includes(row.track) && step[row.field][1] > step[row.field][0])
        .sort((a, b) => a[row.field][0] - b[row.field][0]);
    }
    return rows;
  }

  const partitionOf = step => step.partition && report.placements[0].byName.get(step.partition);

  function colourOf(step) {
    const partition = partitionOf(step);
    return partition ? report.colour(partition.backend) : "var(--convert)";
  }

  function nameOf(step) {
    const partition = partitionOf(step);
    if (!partition) return `%${step.name}${step.from ? `: ${step.from} to ${step.to}, ${report.bytes(step.bytes)}` : ""}`;
    const names = partition.names.slice(0, 5).map(name => `%${name}`);
    return `${step.name}: ${names.join(", ")}${partition.names.length > names.length ? ", …" : ""}`;
  }

  const lengthOf = (step, field) => step[field][1] - step[field][0];

  function textOf(step) {
    const partition = partitionOf(step);
    const measured = step.actual_s ? `, measured ${report.seconds(lengthOf(step, "actual_s"))}` : "";
    return [nameOf(step), partition ? report.place(partition) : step.kind,
      `predicted ${report.seconds(lengthOf(step, "predicted_s"))}${measured}`].join("\n");
  }

  /// Steps of a row that are seen: those that are less than a column wide join the one before.
  function bars(row, x, width) {
    const shown = [];
    for (const step of row.steps) {
      const [start, finish] = step[row.field];
      const left = Math.max(x(start), kLeft), right = Math.min(x(finish), width);
      if (right < kLeft || left > width) continue;
      const last = shown[shown.length - 1];
      if (last && right - last.left < 1.5 && last.colour === colourOf(step)) last.right = right;
      else if (!last || right - last.right > 0.3) shown.push({ step, left, right, colour: colourOf(step) });
    }
    return shown;
  }

  function headline({ timeline, bench, lost }) {
    const parts = [`Predicted ${report.seconds(timeline.predicted_s)}`];
    if (timeline.actual_s !== undefined) parts.push(`measured in one run ${report.seconds(timeline.actual_s)}`);
    else if (!lost && !report.data.summary.compare) {
      parts.push("after `collagec bench` or `collagec trace` the times of a run stand beside it");
    }
    if (bench) {
      parts.push(`bench: median ${report.seconds(bench.median_s)}, least ${report.seconds(bench.least_s)} of `
        + report.count(bench.runs_s.length, "run"));
    }
    if (timeline.overlaps) parts.push("steps overlap");
    return element("p", {}, parts.join("; "));
  }

  /// Zooms by the wheel with Ctrl or Shift, by dragging and by keys; `draw` gets the scale of what is seen.
  function addZoom(svg, base, width, height, draw) {
    const area = [[kLeft, 0], [width - 12, height]];
    let waits = false;
    const zoom = d3.zoom().scaleExtent([1, 2000]).translateExtent(area).extent(area)
      .filter(() => !d3.event.button && (d3.event.type !== "wheel" || d3.event.ctrlKey || d3.event.shiftKey))
      .on("zoom", () => {
        if (waits) return;
        waits = true;
        requestAnimationFrame(() => {
          waits = false;
          draw(d3.zoomTransform(svg.node()).rescaleX(base));
        });
      });
    const move = by => svg.call(zoom.translateBy, by / d3.zoomTransform(svg.node()).k, 0);
    const acts = { "+": () => svg.call(zoom.scaleBy, 1.5), "-": () => svg.call(zoom.scaleBy, 1 / 1.5), ArrowLeft: () => move(60),
      ArrowRight: () => move(-60) };
    svg.call(zoom).on("keydown", () => {
      if (!acts[d3.event.key]) return;
      acts[d3.event.key]();
      d3.event.preventDefault();
    });
  }

  function drawRows(section, rows, end, count) {
    const width = report.widthOf(section), bottom = kTop + rows.length * kRow + 4, height = bottom + 22;
    const svg = report.figure(section, width, height,
      `${count} steps over ${report.seconds(end)} on ${rows.length} rows; left and right move, plus and minus zoom`).attr("tabindex", 0);
    const base = d3.scaleLinear().domain([0, end]).range([kLeft, width - 12]);
    for (const [at, row] of rows.entries()) {
      svg.append("text").attr("x", kLeft - 8).attr("y", kTop + at * kRow + 15).attr("text-anchor", "end")
        .text(report.fitted(row.label, kLeft - 12, 11));
    }
    const stage = svg.append("g");
    const axis = report.addAxis(svg, d3.axisBottom(base).ticks(8).tickFormat(report.seconds), 0, bottom);
    const show = bar => {
      const partition = partitionOf(bar.step);
      if (partition) report.graph.reveal(partition.nodes[0]);
    };
    const draw = x => {
      axis.call(d3.axisBottom(x).ticks(8).tickFormat(report.seconds));
      stage.selectAll("*").remove();
      for (const [at, row] of rows.entries()) {
        const made = stage.append("g").selectAll("rect").data(bars(row, x, width - 2)).enter().append("rect")
          .attr("x", bar => bar.left).attr("width", bar => Math.max(bar.right - bar.left, 0.6))
          .attr("y", kTop + at * kRow).attr("height", kRow - 5)
          .style("fill", bar => bar.colour).attr("stroke", "var(--ground)").attr("stroke-width", 0.4).on("click", show);
        report.withTip(made, bar => textOf(bar.step));
      }
    };
    addZoom(svg, base, width, height, draw);
    draw(base);
  }

  function longestSteps(timeline) {
    const fields = timeline.actual_s === undefined ? ["predicted_s"] : ["predicted_s", "actual_s"];
    const last = fields[fields.length - 1];
    const longest = [...timeline.steps].sort((a, b) => lengthOf(b, last) - lengthOf(a, last)).slice(0, 20);
    return report.table("The longest steps", ["Step", "On", ">Predicted", ">Measured"].slice(0, 2 + fields.length), longest.map(step =>
      [nameOf(step), step.tracks.map(track => timeline.tracks[track]).join(", "),
        ...fields.map(field => report.seconds(lengthOf(step, field)))]));
  }

  report.drawTimeline = section => {
    const { timeline } = report.data;
    if (!timeline) return false;
    section.append(headline(report.data));
    for (const text of report.data.lost || []) {
      section.append(element("p", {}, element("strong", {}, "Lost in a run: "), `${text}. Times measured from then on are those of `
        + "another placement and are not shown."));
    }
    drawRows(section, rowsOf(timeline), Math.max(timeline.predicted_s, timeline.actual_s || 0) || 1, timeline.steps.length);
    section.append(element("p", { class: "hint" }, "Ctrl or Shift and the wheel zoom, dragging moves; a click leads to the graph."),
      element("details", {}, element("summary", {}, "The longest steps"), longestSteps(timeline)));
    return true;
  };
}
