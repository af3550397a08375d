// SPDX-License-Identifier: Apache-2.0
// Bytes in use over time, for each memory space.
"use strict";

report.drawMemory = section => {
  const { element } = report;
  const { memory, timeline } = report.data;
  if (!memory || memory.length === 0) return false;
  const end = timeline.actual_s === undefined ? timeline.predicted_s : timeline.actual_s;
  const isPlanned = memory.some(space => space.arena !== undefined);  // `compare` plans no memory
  const inLibraries = memory.some(space => space.libraries);
  const kept = space => space.libraries || { constants: 0, packed: 0 };
  const constants = space => (space.constants || 0) + kept(space).constants + kept(space).packed;
  const orNone = bytes => (bytes ? report.bytes(bytes) : "-");
  section.append(report.table("Memory", ["Space", ">Most in use", ...(isPlanned ? [">Taken for it", ">Constants"] : []),
    ...(inLibraries ? [">of them in libraries", ">of these packed copies"] : [])],
  memory.map(space => [space.space, report.bytes(space.most),
    ...(isPlanned ? [orNone(space.arena), report.bytes(constants(space))] : []),
    ...(inLibraries ? [orNone(kept(space).constants + kept(space).packed), orNone(kept(space).packed)] : [])])),
  element("p", { class: "note" }, timeline.actual_s === undefined ? "Over the predicted times." : "Over the times of the run.",
    inLibraries ? " Libraries pack weights into copies of each kernel's own." : "",
    memory.some(space => kept(space).is_least)
      ? " Some do not tell the size of their copies, which count as large as the weights; what plug-ins allocate is not known." : ""));
  const width = report.widthOf(section), height = 130, left = 74, bottom = height - 26;
  const x = d3.scaleLinear().domain([0, end || 1]).range([left, width - 12]);
  for (const space of memory.filter(one => one.live.length > 1)) {
    section.append(element("h3", {}, space.space));
    const svg = report.figure(section, width, height,
      `Bytes in use on ${space.space} over time, at most ${report.bytes(space.most)}`);
    const most = Math.max(space.arena || 0, space.most) || 1;
    const y = d3.scaleLinear().domain([0, most]).range([bottom, 12]);
    const points = [...space.live, [end, space.live[space.live.length - 1][1]]];
    const area = d3.area().curve(d3.curveStepAfter).x(point => x(point[0])).y0(y(0)).y1(point => y(point[1]));
    svg.append("path").attr("class", "area").attr("fill", "var(--cost)").attr("d", area(points));
    if (space.arena) {
      const top = y(space.arena);
      svg.append("line").attr("x1", left).attr("x2", width - 12).attr("y1", top).attr("y2", top)
        .attr("stroke", "var(--bound)").attr("stroke-dasharray", "6 3");
      svg.append("text").attr("x", width - 14).attr("y", top + 11).attr("text-anchor", "end").text(`taken: ${report.bytes(space.arena)}`);
    }
    report.addAxis(svg, d3.axisBottom(x).ticks(8).tickFormat(report.seconds), 0, bottom);
    const step = 2 ** Math.ceil(Math.log2(most / 4));  // 4 MiB, not 3.815
    report.addAxis(svg, d3.axisLeft(y).tickValues(d3.range(0, most, step)).tickFormat(report.bytes), left, 0);
  }
  return true;
};
