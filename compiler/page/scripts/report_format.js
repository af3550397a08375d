// SPDX-License-Identifier: Apache-2.0
// Texts of numbers, as the programs write them, and elements of the page.
"use strict";

{
  const kUnits = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "u"], [1e-9, "n"], [1e-12, "p"]];

  /// `12.84 ms`, `4.1 GFLOP`: four digits.
  report.amount = (value, unit = "s") => {
    if (!value) return `0 ${unit}`;
    const size = Math.abs(value);
    const known = kUnits.filter(([least]) => unit !== "s" || least <= 1);  // 1200 s, not 1.2 ks
    const [scale, prefix] = known.find(([least]) => size >= least * 0.99995) || known[known.length - 1];
    return `${Number((value / scale).toPrecision(4))} ${prefix}${unit}`;
  };
  report.seconds = value => report.amount(value, "s");
  report.cost = value => report.amount(value, report.data.about.unit);

  /// `70.5 MiB`
  report.bytes = value => {
    const names = ["B", "KiB", "MiB", "GiB", "TiB"];
    let at = 0;
    for (; value >= 1024 && at + 1 < names.length; ++at) value /= 1024;
    return `${Number(value.toPrecision(4))} ${names[at]}`;
  };
  report.percent = part => `${(100 * part).toFixed(part > 0 && part < 0.1 ? 2 : 1)} %`;
  report.count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

  /// `element("p", {class: "note"}, "text", child…)`. Attributes that begin with `on` are listeners.
  report.element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value === true) made.setAttribute(name, "");
      else if (value !== false && value !== undefined) made.setAttribute(name, value);
    }
    made.append(...children.flat().filter(child => child !== undefined && child !== null && child !== ""));
    return made;
  };

  /// A square in the colour of a backend, hatched where that is a model of a chip.
  report.chip = backend => report.element("span", { class: report.isModel(backend) ? "chip hatched" : "chip",
    style: `background-color:${report.colour(backend)}`, "aria-hidden": "true" });

  /// Lines over a box (d3) of a backend that is a model of a chip.
  report.hatch = (group, backend, { x = 0, y = 0, width, height, rounded = 0 }) => {
    if (!report.isModel(backend)) return;
    group.append("rect").attr("class", "hatch").attr("x", x).attr("y", y).attr("width", width).attr("height", height)
      .attr("rx", rounded).attr("fill", "url(#hatch)");
  };

  /// The last part of a path, the whole as its tip: `rules/npu.rules:19` as `npu.rules:19`.
  report.shortPath = path => report.element("span", { title: path }, path.replace(/^.*\//, ""));

  /// A table. `columns`: names, with `>` before those of numbers, which are aligned. Rows of texts or elements.
  report.table = (caption, columns, rows, rowClass = () => undefined) => {
    const { element } = report;
    const kind = at => (columns[at].startsWith(">") ? "number" : undefined);
    const heads = columns.map((name, at) => element("th", { class: kind(at), scope: "col" }, name.replace(/^>/, "")));
    const cells = row => row.map((cell, at) => element("td", { class: kind(at) }, ...[cell].flat()));
    const scrolls = rows.length > 12 ? { tabindex: 0, role: "region", "aria-label": caption } : {};
    return element("div", { class: "scroll", ...scrolls },
      element("table", { "aria-label": caption },
        element("thead", {}, element("tr", {}, heads)),
        element("tbody", {}, rows.map((row, at) => element("tr", { class: rowClass(row, at) }, cells(row))))),
      rows.length > 60 ? element("p", { class: "on-paper" }, `The first 60 of ${rows.length} rows.`) : "");
  };

  /// A drawing (d3) of this size at the end of the section. `label`: what it shows.
  report.figure = (section, width, height, label) => d3.select(section).append("div").attr("class", "figure").append("svg")
    .attr("viewBox", `0 0 ${width} ${height}`).attr("width", width).attr("role", "img").attr("aria-label", label);

  /// An axis, moved there.
  report.addAxis = (svg, axis, x, y) => svg.append("g").attr("class", "axis").attr("transform", `translate(${x},${y})`).call(axis);

  /// As wide as a drawing can be.
  report.widthOf = section => Math.max(section.clientWidth - 10, 600);

  /// A word that leads to a node of the graph.
  report.nodeLink = node => report.element("button", { type: "button", class: "link code", onclick: () => report.graph.reveal(node) },
    `%${report.nodes[node].name}`);

  /// Shows a text beside the pointer while it is over `selection` (d3).
  report.withTip = (selection, text) => {
    let tip = null;
    const move = event => {
      if (!tip) return;
      const left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
      const top = Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 8);
      tip.style.left = `${left}px`;
      tip.style.top = `${top}px`;
    };
    const leave = () => {
      if (tip) tip.remove();
      tip = null;
    };
    selection
      .on("pointerenter", function (datum) {
        leave();
        tip = report.element("div", { class: "tip" });
        tip.style.whiteSpace = "pre-line";
        tip.textContent = text(datum);
        document.body.append(tip);
        move(d3.event);
      })
      .on("pointermove", () => move(d3.event))
      .on("pointerleave", leave);
    return selection;
  };
}
