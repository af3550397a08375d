// SPDX-License-Identifier: Apache-2.0
// The times inside a placement, kernel by kernel: what is predicted of each, and beside it what a run took. Without a run
// each node counts as a kernel.
"use strict";

{
  const { data, nodes } = report;
  const known = new Map();  // by placement

  const sum = list => list.reduce((all, one) => all + one, 0);

  /// Predicted seconds of a node, and whether they are its part of a larger sum.
  function predictions(placement) {
    const seconds = new Float64Array(nodes.length), isAbout = new Array(nodes.length).fill(true);
    for (const partition of placement.partitions) {
      partition.nodes.forEach((node, at) => { seconds[node] = partition.node_s[at]; });
      for (const at of partition.exact) isAbout[partition.nodes[at]] = false;
    }
    return { seconds, isAbout };
  }

  /// `head`: the node that takes most of it, by which the kernel goes; -1: it computes none, it changes a layout.
  function makeKernel(predicted, partition, own, fields) {
    const head = own.length ? own.reduce((most, node) => (predicted.seconds[node] > predicted.seconds[most] ? node : most)) : -1;
    return { nodes: own, head, partition, predicted: sum(own.map(node => predicted.seconds[node])),
      isAbout: own.some(node => predicted.isAbout[node]), isModel: report.isModel(partition.backend), ...fields };
  }

  /// Kernels of a partition of which no run says anything.
  const unmeasured = (predicted, partition) => partition.nodes.map(node => makeKernel(predicted, partition, [node], {}));

  function measured(predicted, placement) {
    const byPartition = new Map();
    for (const one of data.profile.kernels) {
      if (!byPartition.has(one.partition)) byPartition.set(one.partition, []);
      byPartition.get(one.partition).push(one);
    }
    return placement.partitions.flatMap(partition => (byPartition.get(partition.index) || []).length === 0
      ? unmeasured(predicted, partition)
      : byPartition.get(partition.index).map(one => makeKernel(predicted, partition, one.nodes,
        { text: one.text, measured: one.seconds, isMeasuredAbout: Boolean(one.about), isByClock: Boolean(one.simulated) })));
  }

  /// {kernels, byNode: kernels of each node, predicted: {seconds, isAbout} by node, isRun, moves: seconds of conversions}
  report.times = placement => {
    if (known.has(placement)) return known.get(placement);
    const predicted = predictions(placement);
    const isRun = Boolean(data.profile) && placement === report.placements[0];
    const kernels = isRun ? measured(predicted, placement)
      : placement.partitions.flatMap(partition => unmeasured(predicted, partition));
    const byNode = nodes.map(() => []);
    for (const kernel of kernels) for (const node of kernel.nodes) byNode[node].push(kernel);
    const times = { kernels, byNode, predicted, isRun,
      moves: { predicted: sum(placement.json.conversions.map(one => one.cost_s)),
        measured: isRun ? sum(data.profile.moves.map(one => one.seconds)) : undefined } };
    known.set(placement, times);
    return times;
  };

  /// What counts of a kernel: measured, where that is a time of this machine.
  report.weightOf = kernel => (kernel.measured === undefined || kernel.isByClock ? kernel.predicted : kernel.measured);

  /// `about 1.2 ms`
  report.aboutSeconds = (seconds, isAbout) => (isAbout && seconds > 0 ? "about " : "") + report.seconds(seconds);

  /// `Conv + Relu`, or the text of what computes no operator.
  report.kernelOps = kernel => {
    if (kernel.head < 0) return kernel.text.replace(/^\S+ /, "");
    const others = kernel.nodes.filter(node => node !== kernel.head).map(node => nodes[node].op);
    const shown = [nodes[kernel.head].op, ...others.slice(0, 2)].join(" + ");
    return others.length > 2 ? `${shown} + ${others.length - 2} more` : shown;
  };
}
