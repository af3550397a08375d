// SPDX-License-Identifier: Apache-2.0
// Requests in flight, timed while they follow each other without end.
//
//     in flight   3 3 3 3 … 3 3 3 2 1 0
//     answered    1 2 3 4 … n+3              the clock runs from the 3rd answer to the (n+3)rd: n / its time
//
// A pipeline is full when its first requests have been answered, and stays so until the clock stops: filling and
// emptying it do not count.
#pragma once

#include <functional>
#include <future>
#include <string>
#include <vector>

#include "runtime/core/status.h"
#include "runtime/core/tensor.h"

namespace collage::runner {

/// Requests of one input. An answer that differs from the first one is an error.
class RequestStream {
 public:
  using Answer = runtime::Result<std::vector<runtime::Tensor>>;
  using Submit = std::function<std::future<Answer>(std::vector<runtime::Tensor> inputs)>;

  /// Answers one request, with which all others are compared.
  static runtime::Result<RequestStream> open(Submit submit, std::vector<runtime::Tensor> inputs);

  /// Requests a second, of `runs`, with so many in flight. `seconds`: from submission to answer of each of them, added;
  /// may be null.
  runtime::Result<double> run(int runs, size_t in_flight, std::vector<double>* seconds);

 private:
  RequestStream(Submit submit, std::vector<runtime::Tensor> inputs, std::vector<runtime::Tensor> expected)
      : submit_(std::move(submit)), inputs_(std::move(inputs)), expected_(std::move(expected)) {}

  Submit submit_;
  std::vector<runtime::Tensor> inputs_, expected_;
};

struct RequestTimes {
  size_t in_flight = 0;
  double per_second = 0;          ///< requests answered
  std::vector<double> seconds{};  ///< from submission to answer, of each request
  double alone_per_second = 0;    ///< one at a time

  double median() const;
};

/// Two lines; `by` follows the rate: `, 2 workers with 1 thread each`.
std::string print(const RequestTimes& times, const std::string& by = "");

/// Times `runs` requests with `in_flight` at once in `several`, then as many one at a time in `alone`, which may be the
/// same; after a warm-up, twice in turn, of which the faster counts.
runtime::Result<RequestTimes> time_requests(RequestStream& several, RequestStream& alone, int runs, size_t in_flight);

}  // namespace collage::runner
