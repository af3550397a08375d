// SPDX-License-Identifier: Apache-2.0
// The box that finds nodes: by name, operator, origin, rule or value; `op:Conv`, `rule:conv*`, `backend:npu` narrow it
// down, and `*` stands for any letters.
"use strict";

{
  const kMost = 30;
  const input = document.getElementById("find");
  const list = document.getElementById("found");
  let found = [];
  let at = -1;

  /// One text for each node, in lower case.
  const texts = new Map();  // by placement
  function allTexts() {
    const { placement } = report.graph;
    if (!texts.has(placement)) texts.set(placement, report.nodes.map(textOf));
    return texts.get(placement);
  }

  function textOf(node, index) {
    const partition = partitionOf(index);
    const values = node.out.filter(value => value >= 0).map(value => report.values[value].name);
    return [`%${node.name}`, node.op, node.origin || "", partition.id, report.place(partition), partition.rules.map(rule => rule.name),
      values].flat().join(" ").toLowerCase();
  }

  /// What a node has of each kind that a prefix names. Rules also by the names of their families, without kernels.
  const kinds = {
    op: index => [report.nodes[index].op],
    backend: index => [partitionOf(index).backend],
    rule: index => partitionOf(index).rules.flatMap(rule => [rule.name, ...rule.name.split(/[:.{]/, 1)]),
  };

  const partitionOf = index => report.graph.placement.partitions[report.graph.placement.ofNode[index]];

  /// A text with `*` as a pattern of whole texts, or of parts of them.
  function pattern(text, isWhole) {
    const escaped = text.split("*").map(part => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".*");
    return new RegExp(isWhole ? `^${escaped}$` : escaped, "i");
  }

  /// Whether a node has what a word asks for.
  function test(word) {
    const [, kind, text] = word.match(/^(op|rule|backend):(.*)$/i) || [];
    if (!kind) {
      const wanted = pattern(word, false);
      return index => wanted.test(allTexts()[index]);
    }
    const wanted = pattern(text + (text ? "" : "*"), true);
    return index => kinds[kind.toLowerCase()](index).some(one => wanted.test(one));
  }

  /// Names that begin so come first; of a kind those that take longest.
  function find(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return [];
    const tests = words.map(test), hits = [];
    const first = words[0].replace(/^%/, "");
    const { seconds } = report.times(report.graph.placement).predicted;
    report.nodes.forEach((node, index) => {
      if (!tests.every(one => one(index))) return;
      const name = node.name.toLowerCase();
      hits.push([name === first ? 0 : name.startsWith(first) ? 1 : 2, index]);
    });
    if (/^(op|rule|backend):/i.test(words[0])) hits.sort((a, b) => seconds[b[1]] - seconds[a[1]]);
    else hits.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    return hits.map(hit => hit[1]);
  }

  function mark(next) {
    at = next;
    [...list.children].forEach((row, index) => row.setAttribute("aria-selected", String(index === at)));
    if (at >= 0 && list.children[at]) {
      input.setAttribute("aria-activedescendant", list.children[at].id);
      list.children[at].scrollIntoView({ block: "nearest" });
    } else {
      input.removeAttribute("aria-activedescendant");
    }
  }

  function close() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    mark(-1);
  }

  function take(index) {
    close();
    report.graph.reveal(index);
  }

  function timeOf(index) {
    const { seconds, isAbout } = report.times(report.graph.placement).predicted;
    return report.aboutSeconds(seconds[index], isAbout[index]);
  }

  function show() {
    found = find(input.value);
    const rows = found.slice(0, kMost).map((index, row) => report.element("li",
      { id: `found${row}`, role: "option", "aria-selected": "false", onpointerdown: event => {
        event.preventDefault();
        take(index);
      } }, `%${report.nodes[index].name}  ${report.nodes[index].op}`, report.element("span", { class: "found-place" },
        report.chip(partitionOf(index).backend), `${partitionOf(index).backend}  ${timeOf(index)}`)));
    if (found.length > kMost) rows.push(report.element("li", { role: "presentation" }, `and ${found.length - kMost} more`));
    if (found.length === 0 && input.value.trim()) rows.push(report.element("li", { role: "presentation" }, "nothing has that"));
    list.replaceChildren(...rows);
    list.hidden = rows.length === 0;
    input.setAttribute("aria-expanded", String(rows.length > 0));
    if (rows.length) list.scrollIntoView({ block: "nearest" });
    mark(found.length ? 0 : -1);
  }

  input.addEventListener("input", show);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", event => {
    const shown = Math.min(found.length, kMost);
    if (event.key === "ArrowDown" && shown) mark((at + 1) % shown);
    else if (event.key === "ArrowUp" && shown) mark((at + shown - 1) % shown);
    else if (event.key === "Enter" && at >= 0) take(found[at]);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
}
