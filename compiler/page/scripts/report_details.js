// SPDX-License-Identifier: Apache-2.0
// What is known of the selected box: why it is where it is, what other backends have for it, what it takes, by which
// rule it runs there, and what it is.
"use strict";

{
  const { element } = report;
  const pane = document.getElementById("details");
  const { choices } = report.data;

  const isFilled = row => row && row[1] !== undefined && row[1] !== "" && !(Array.isArray(row[1]) && row[1].length === 0);

  function facts(rows) {
    return element("table", {}, element("tbody", {}, rows.filter(isFilled).map(row =>
      element("tr", {}, element("th", { scope: "row" }, row[0]), element("td", {}, ...row.slice(1).flat())))));
  }

  const total = placement => placement.json.cost.predicted_s;

  function ruleElement(rule) {
    return element("div", {}, element("strong", {}, rule.name), rule.where ? [" (", report.shortPath(rule.where), ")"] : "",
      rule.line ? element("div", { class: "code" }, rule.line) : "");
  }

  /// `from host for 8.2 us`: conversions back to the format that the value was made in.
  function wayThere(placement, boundary) {
    const all = placement.conversions.get(boundary.value) || [];
    let format = boundary.format, cost = 0;
    for (let next = all.find(one => one.to === format); next; next = all.find(one => one.to === format)) {
      format = next.from;
      cost += next.cost_s;
    }
    return format === boundary.format ? "" : `, from ${format} for ${report.seconds(cost)}`;
  }

  function waysAway(placement, boundary) {
    const all = placement.conversions.get(boundary.value) || [];
    if (all.length === 0) return "";
    const ends = all.filter(one => !all.some(next => next.from === one.to)).map(one => one.to);
    return `, to ${ends.join(" and ")} for ${report.seconds(d3.sum(all, one => one.cost_s))}`;
  }

  function boundaryList(placement, list, way) {
    const shown = list.slice(0, 8).map(boundary =>
      element("div", {}, element("code", {}, `%${boundary.value}`), ` in ${boundary.format}${way(placement, boundary)}`));
    if (list.length > 8) shown.push(element("div", {}, `and ${list.length - 8} more`));
    return shown;
  }

  /// Why these nodes are here, in one sentence: who gave the place, or what was proven.
  function whyHere(placement, nodes) {
    const { given, json } = placement;
    if (given && nodes.some(node => given.nodes.has(node))) return `It runs here as ${given.by} has it.`;
    if (given) return `The search has it here, with the other places as ${given.by} has them.`;
    const { isBest, gap } = report.proofOf(placement);
    if (isBest) {
      const better = report.data.about.sums_times ? "costs less" : `is better for ${json.objective.name}`;
      return `Proven: no placement within the rules and limits ${better}, wherever this runs.`;
    }
    if (gap !== undefined) {
      return `The search has it here in the best placement that it found, which is at most ${report.percent(gap)} `
        + "above what is possible.";
    }
    return `The strategy “${json.strategy}” has it here; it proves nothing about other places.`;
  }

  /// What keeps the node from other backends that its rules let run it: `acc: it is pinned to …`.
  function kept(node) {
    const kNotAllowed = "not allowed: ";
    return choices.backends.map((backend, index) => [backend, choices.reasons[choices.nodes[node][index]]])
      .filter(([, reason]) => reason && reason.startsWith(kNotAllowed))
      .map(([backend, reason]) => `${backend}: ${reason.slice(kNotAllowed.length)}`);
  }

  /// How the node alone compares on the backends that can run it. A cost that is only a bound is not compared.
  function besides(placement, node) {
    const home = placement.partitions[placement.ofNode[node]].backend;
    const offers = choices.backends.map((backend, index) => ({ backend, choice: choices.nodes[node][index] }))
      .filter(offer => typeof offer.choice !== "number");
    const here = offers.find(offer => offer.backend === home);
    if (here && offers.length === 1) {
      const reasons = kept(node);
      return reasons.length ? `Nothing else is allowed to run it here: ${reasons.join("; ")}.` : "No other backend can run it.";
    }
    const isBound = offer => offer.choice[3] === 1;
    const alone = offers.filter(offer => offer.choice[1] === 1).sort((a, b) => a.choice[0] - b.choice[0]);
    if (!report.data.about.sums_times || !alone.includes(here) || isBound(here)) return "";
    const cheaper = alone.filter(offer => offer.choice[0] < here.choice[0]);
    const least = cheaper.find(offer => !isBound(offer));
    const costs = offer => report.seconds(offer.choice[0]);
    if (cheaper.length === 0) return `Alone it costs nowhere less: ${costs(here)}.`;
    if (!least || !report.proofOf(placement).isBest) return "";
    return `Alone it costs less on ${least.backend}, ${costs(least)} against ${costs(here)}: copies to and from there, and the nodes `
      + "that run with it here, decide.";
  }

  const shareText = (placement, seconds) => total(placement) > 0 ? ` (${report.percent(seconds / total(placement))} of all)` : "";

  /// `measured 53 us with %relu1: p0 %relu1 convolution + relu …`
  function kernelText(kernel, node) {
    const others = kernel.nodes.filter(one => one !== node).slice(0, 4).map(one => [" ", report.nodeLink(one)]);
    const rest = kernel.nodes.length - 1 - others.length;
    return element("div", {}, `${report.aboutSeconds(kernel.measured, kernel.isMeasuredAbout)}${
      kernel.isByClock ? " by its rules" : ""}`, others.length ? [" together with", ...others.flat()] : "",
    rest > 0 ? ` and ${rest} more` : "", element("div", { class: "code" }, kernel.text));
  }

  /// What a node takes, alone and with its partition.
  function timesOf(placement, index) {
    const partition = placement.partitions[placement.ofNode[index]];
    const { byNode, predicted, isRun } = report.times(placement);
    const seconds = predicted.seconds[index];
    return facts([
      ["Predicted", report.aboutSeconds(seconds, predicted.isAbout[index]) + shareText(placement, seconds)],
      isRun && ["Measured", byNode[index].map(kernel => kernelText(kernel, index))],
      partition.nodes.length > 1 && ["Partition", `${report.seconds(partition.cost_s)}${shareText(placement, partition.cost_s)}, ${
        partition.id} of ${report.count(partition.nodes.length, "node")}`]]);
  }

  function ofPartition(placement, partition) {
    const part = shareText(placement, partition.cost_s);
    const parts = partition.parts.slice(0, 6).map(one => element("div", {},
      partition.parts.length > 1 ? `${report.seconds(one.cost_s)} from %${report.nodes[one.node].name}${
        one.nodes > 1 ? ` and ${one.nodes - 1} more` : ""}: ` : "", one.text));
    if (partition.parts.length > 6) parts.push(element("div", {}, `and ${partition.parts.length - 6} more`));
    const model = report.isModel(partition.backend) ? ", a model of a chip" : "";
    return facts([
      ["Runs on", report.chip(partition.backend), `${report.place(partition)}${model}, in ${partition.id}`],
      ["Rules", partition.rules.length ? partition.rules.slice(0, 8).map(ruleElement) : "none: the host runs every operator"],
      partition.nodes.length > 1 && ["Cost", `${report.seconds(partition.cost_s)}${part}`],
      ["Made of", parts],
      ["Reads", boundaryList(placement, partition.inputs, wayThere)],
      ["Writes", boundaryList(placement, partition.outputs, waysAway)],
      partition.split && ["Split", `%${partition.split.node} along ${partition.split.along}`],
    ]);
  }

  function ruleText(backend, rule) {
    if (rule < 0) return backend === "host" ? "without a rule" : "as it is written";
    return [`${choices.rules[rule].name} (`, report.shortPath(choices.rules[rule].where), ")"];
  }

  /// For each backend its smallest candidate with the node, or what refused it; and what the whole would cost, where
  /// that is known.
  function alternatives(placement, node) {
    const home = placement.partitions[placement.ofNode[node]].backend;
    const isFirst = placement === report.placements[0];
    const rows = choices.backends.map((backend, index) => {
      const choice = choices.nodes[node][index];
      const name = [report.chip(backend), backend === home ? `${backend} (here)` : backend];
      if (typeof choice === "number") return [name, "", choices.reasons[choice]];
      const [cost, nodes, rule, isBound] = choice;
      const company = nodes > 1 ? `with ${report.count(nodes - 1, "other")}: ` : "";
      const instead = choices.instead && isFirst ? choices.instead[node][index] : "";
      return [name, `${isBound ? "at least " : ""}${report.seconds(cost)}`,
        [company, ...[ruleText(backend, rule)].flat(), instead && element("div", {}, `The whole: ${instead}`)]];
    });
    return report.table("What each backend has for this node", ["Backend", ">Cost", "Rule, or refusal"], rows,
      (row, at) => (choices.backends[at] === home ? "is-home" : undefined));
  }

  function valueRows(indices) {
    return indices.filter(index => index >= 0).map(index => {
      const value = report.values[index];
      const maker = report.producer[index];
      return element("div", {}, maker >= 0 ? report.nodeLink(maker) : element("code", {}, `%${value.name}`), ` ${value.type}`,
        value.kind ? ` (${value.kind})` : "");
    });
  }

  function ofNode(placement, index) {
    const node = report.nodes[index];
    const partition = placement.partitions[placement.ofNode[index]];
    return [
      element("h3", {}, element("code", {}, `%${node.name}`), ` ${node.op}`),
      element("h3", {}, "Why here"),
      element("p", {}, whyHere(placement, [index])),
      element("p", {}, besides(placement, index)),
      element("h3", {}, "On each backend"),
      alternatives(placement, index),
      element("p", { class: "note" }, "Costs of the smallest candidate there, without the copies to it. ",
        report.data.about.sums_times && !placement.given ? [element("code", {}, `why-not MODEL ${quoted(node.name)} BACKEND`),
          " says what the whole placement would cost."] : ""),
      element("h3", {}, "Time"),
      timesOf(placement, index),
      element("h3", {}, "Here"),
      ofPartition(placement, partition),
      element("h3", {}, "The node"),
      facts([["Named", node.origin], ["Written", node.place], ["Attributes", node.attrs && element("code", {}, node.attrs)],
        ["Operands", valueRows(node.in)], ["Results", node.out.filter(value => value >= 0).map(value =>
          element("div", {}, element("code", {}, `%${report.values[value].name}`), ` ${report.values[value].type}`))]]),
    ];
  }

  /// One word of a shell.
  function quoted(text) {
    return `'${text.replace(/'/g, "'\\''")}'`;
  }

  /// The kernels of a partition, those that take longest first.
  function kernelTable(placement, partition) {
    const times = report.times(placement);
    const all = times.kernels.filter(kernel => kernel.partition === partition)
      .sort((a, b) => report.weightOf(b) - report.weightOf(a));
    const kShown = 12, kMost = 200;
    const time = kernel => kernel.measured === undefined ? report.aboutSeconds(kernel.predicted, kernel.isAbout)
      : report.aboutSeconds(kernel.measured, kernel.isMeasuredAbout);
    const table = list => report.table("What it takes inside", [times.isRun ? "Kernel" : "Node", "Operator", ">Time"],
      list.map(kernel => [kernel.head < 0 ? "" : report.nodeLink(kernel.head), report.kernelOps(kernel), time(kernel)]));
    const rest = all.length - kShown;
    return [table(all.slice(0, kShown)), rest > 0 ? element("details", {}, element("summary", {}, `${rest} more`),
      table(all.slice(kShown, kMost)), all.length > kMost ? element("p", {}, `and ${all.length - kMost} that take less`) : "") : ""];
  }

  function ofGroup(item, placement) {
    const [title, second] = report.boxTexts(item);
    const equal = item.times > 1 ? `${item.times} times the same operators, shapes and places, one after another.` : "";
    const backends = [...item.byBackend].sort((a, b) => b[1] - a[1]).map(([backend, count]) =>
      element("div", {}, report.chip(backend), `${backend}: ${report.count(count, "node")}`));
    return [element("h3", {}, title), element("p", {}, second), element("p", {}, equal),
      facts([["Nodes", String(item.nodeCount)], ["Backends", backends],
        item.cost > 0 && ["Time", report.aboutSeconds(item.cost, item.isAbout) + shareText(placement, item.cost)]])];
  }

  report.details = {
    show(item, placement) {
      let made;
      if (item.kind === "node") made = ofNode(placement, item.node);
      else if (item.kind === "group") made = ofGroup(item, placement);
      else if (item.kind === "port") made = [element("h3", {}, `The model's ${item.label}`), ...valueRows(item.values)];
      else if (item.partition.nodes.length === 1) made = ofNode(placement, item.partition.nodes[0]);
      else {
        made = [element("h3", {}, `Partition ${item.partition.id}`), element("h3", {}, "Why here"),
          element("p", {}, whyHere(placement, item.partition.nodes)), element("h3", {}, "Inside"),
          ...kernelTable(placement, item.partition), element("h3", {}, "Here"), ofPartition(placement, item.partition)];
      }
      pane.replaceChildren(...made);
      pane.scrollTop = 0;
    },

    showPlacement(placement) {
      const { json } = placement;
      pane.replaceChildren(element("h3", {}, "Nothing is selected"), element("p", {}, "Click a box, or find one."),
        facts([["Placement", placement.name], ["Predicted", report.seconds(json.cost.predicted_s)],
          ["Partitions", String(json.partitions.length)], ["Conversions", String(json.conversions.length)]]));
    },
  };
}
