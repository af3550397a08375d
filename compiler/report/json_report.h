// SPDX-License-Identifier: Apache-2.0
// `--json`: one document on standard output instead of the lines for people, or beside them in a file. Times are
// seconds, sizes bytes; a field whose fact does not exist is left out. Further fields may come; those below stay.
//
// Always:
//     collage          version of the compiler
//     model            {name, ops, parameters, flops}
// Of a compilation, `why` and `why-not`:
//     placement        strategy, cost, objective, partitions, conversions, refusals, …
// Of a compilation, which prints a summary otherwise:
//     search           {outcome: optimal | best found | interrupted | none, seconds, states}
//     backends         [{backend, rules, absent, ops, partitions, macs, predicted_s, refused: [text]}]; one row of the
//                      summary each, `refused` with every reason, the top one first
//     conversions      {reorders, copies, casts, bytes, predicted_s}
//     baselines        [{strategy, predicted_s or predicted_j}]
//     limits           [{limit, gain_s or gain_j}]: without it the placement would cost at least so much less
//     rewrites, costs, considered, evolved, rivals, wrote   texts of these lines of the summary
//     growth_capped    places where a limit ended the growth of candidates
//     simulated        {backends, predicted_s}: what of the prediction is on models of chips
//     time             {total_s, measuring_s, search_s, …, other_s, rounds}: where the time of the compilation went
//     uncompiled       {operator: nodes on reference kernels}
//     uncompiled_why   {operator: [text]}; the reasons, each once
// Of `run` and `bench`, beside what a compilation has:
//     run              outputs, classes and comparisons with files, as `collage-run --json` has them
//     threads, bench   {median_s, least_s, simulated_s, runs_s, makespan_s, stream_s, disturbance}
// Of `why` and `why-not`:
//     why, why_not     [{answer, rows: [{label, text}]}]; `answer` is the first line, `rows` the indented ones. A label
//                      holds until the next one
// Of `compare`:
//     compare          {model, objective, runs, strategies: [{strategy, predicted_s or predicted_j, ratio, optimal,
//                      bound_s or bound_j, partitions, partitions_off_host, is_policy, to_host, conversions,
//                      mac_share, search_s, states, measured: {median_s, least_s, ratio, difference}}], disagreement,
//                      disturbance}; `to_host`: how many times the prediction for the host alone; `failure` in place of
//                      the figures where a strategy finds no placement
// Of `compare` of a model that runs in stages, in place of that, and `model` has a name only:
//     compare          {stages: [{stage, where, inputs, runs, compare: as above}], total: [{strategy, predicted_s or
//                      predicted_j, ratio, measured_s}]}; `failure` in place of the figures as above
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "compiler/report/explain/answer.h"
#include "compiler/report/report.h"

namespace collage::report {

std::string summary_json(const ir::Graph& graph, const ir::Placement& placement, const Report& report);

/// `why` and `why_not`: empty where the question was not asked.
std::string answers_json(const ir::Graph& graph, const ir::Placement& placement, const Report& report,
                         const std::vector<Answer>& why, const std::vector<Answer>& why_not);

/// `comparison`: what stands at `compare`.
std::string comparison_json(const ir::Graph& graph, const nlohmann::ordered_json& comparison);

}  // namespace collage::report
