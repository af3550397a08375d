// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN. A sequence is independent of the others in its batch: each runs alone, step by step, through
//
//     LSTM  i, o, f = f(x Wt + h Rt + b + P * c), g = g(x Wt + h Rt + b);  c' = f * c + i * g;  h' = o * h(c')
//     GRU   z, r = f(x Wt + h Rt + b), n = g(x Wt + (r * h) Rt + b);  h' = (1 - z) * n + z * h
//     RNN   h' = f(x Wt + h Rt + b)
//
// (ONNX's order of gates: i o f c; z r h. The output gate sees c', the others c.) Products are summed in double; the
// states are rounded to the element type after every step, as when the steps are run one at a time.
#include "runtime/kernels/recurrent.h"

#include <omp.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/kernels/contraction.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"
#include "runtime/pool/pool.h"

namespace collage::runtime {
namespace {

struct Sizes {
  int64_t steps, batch, input, hidden, gates;
};

/// Weights of one direction, [gates * hidden, …] each, and its functions. `bias` holds W's, then R's; peepholes i o f.
template <typename T>
struct Cell {
  CellKind kind;
  Sizes sizes;
  const T* w;
  const T* r;
  const T* bias;       ///< null: none
  const T* peepholes;  ///< null: none
  const std::vector<CellFunction>& functions;
  double clip;
  bool coupled;             ///< LSTM: f = 1 - i
  bool reset_after_matmul;  ///< GRU: n = g(x Wt + r * (h Rt + b_r) + b_w)

  double activate(size_t function, double x) const {
    return functions[function](clip > 0 ? std::clamp(x, -clip, clip) : x);
  }
  double bias_of(int64_t part, int64_t row) const {
    return bias == nullptr ? 0.0 : static_cast<double>(bias[part * sizes.gates * sizes.hidden + row]);
  }
  double peephole(int64_t gate, int64_t j) const {
    return peepholes == nullptr ? 0.0 : static_cast<double>(peepholes[gate * sizes.hidden + j]);
  }
};

/// The states of one sequence and room for one step.
template <typename T>
struct SequenceState {
  explicit SequenceState(const Cell<T>& cell)
      : h(static_cast<size_t>(cell.sizes.hidden)),
        c(h.size()),
        reset(h.size()),
        from_x(static_cast<size_t>(cell.sizes.gates) * h.size()),
        from_h(from_x.size()) {}

  std::vector<T> h, c, reset;
  std::vector<double> from_x, from_h;
};

/// sums[row] = sum over k of weights[row, k] * vector[k], rows [first, first + count)
template <typename T>
void project(const T* vector, const T* weights, int64_t inner, int64_t first, int64_t count, double* sums) {
  multiply_row(vector, Matrix<T>{weights + first * inner, 1, inner}, inner, count, sums + first);
}

template <typename T>
void lstm_step(const Cell<T>& cell, SequenceState<T>& s) {
  int64_t hidden = cell.sizes.hidden;
  project(s.h.data(), cell.r, hidden, 0, 4 * hidden, s.from_h.data());
  for (int64_t j = 0; j < hidden; ++j) {
    auto at = static_cast<size_t>(j);
    auto sum = [&](int64_t gate) {
      int64_t row = gate * hidden + j;
      auto k = static_cast<size_t>(row);
      return s.from_x[k] + s.from_h[k] + cell.bias_of(0, row) + cell.bias_of(1, row);
    };
    auto c = static_cast<double>(s.c[at]);
    double in = cell.activate(0, sum(0) + cell.peephole(0, j) * c);
    double forget = cell.coupled ? 1 - in : cell.activate(0, sum(2) + cell.peephole(2, j) * c);
    double next = forget * c + in * cell.activate(1, sum(3));
    double out = cell.activate(0, sum(1) + cell.peephole(1, j) * next);
    s.c[at] = static_cast<T>(next);
    s.h[at] = static_cast<T>(out * cell.functions[2](next));
  }
}

template <typename T>
void gru_step(const Cell<T>& cell, SequenceState<T>& s) {
  int64_t hidden = cell.sizes.hidden;
  auto gate = [&](int64_t which, int64_t j) {
    int64_t row = which * hidden + j;
    auto k = static_cast<size_t>(row);
    return cell.activate(0, s.from_x[k] + s.from_h[k] + cell.bias_of(0, row) + cell.bias_of(1, row));
  };
  project(s.h.data(), cell.r, hidden, 0, (cell.reset_after_matmul ? 3 : 2) * hidden, s.from_h.data());
  if (!cell.reset_after_matmul) {
    for (int64_t j = 0; j < hidden; ++j) {
      auto at = static_cast<size_t>(j);
      s.reset[at] = static_cast<T>(gate(1, j) * static_cast<double>(s.h[at]));
    }
    project(s.reset.data(), cell.r, hidden, 2 * hidden, hidden, s.from_h.data());
  }
  for (int64_t j = 0; j < hidden; ++j) {
    auto at = static_cast<size_t>(j);
    int64_t row = 2 * hidden + j;
    double inner = s.from_h[static_cast<size_t>(row)] + cell.bias_of(1, row);
    if (cell.reset_after_matmul) inner *= gate(1, j);
    double fresh = cell.activate(1, s.from_x[static_cast<size_t>(row)] + inner + cell.bias_of(0, row));
    double keep = gate(0, j);
    s.h[at] = static_cast<T>((1 - keep) * fresh + keep * static_cast<double>(s.h[at]));
  }
}

template <typename T>
void rnn_step(const Cell<T>& cell, SequenceState<T>& s) {
  int64_t hidden = cell.sizes.hidden;
  project(s.h.data(), cell.r, hidden, 0, hidden, s.from_h.data());
  for (int64_t j = 0; j < hidden; ++j) {
    auto at = static_cast<size_t>(j);
    s.h[at] = static_cast<T>(cell.activate(0, s.from_x[at] + s.from_h[at] + cell.bias_of(0, j) + cell.bias_of(1, j)));
  }
}

/// A tensor of states, [directions, batch, hidden] or batch first. Null where the operand or result is absent.
template <typename T>
T* state_of(const TensorView& view, const RecurrentSpec& spec, const Sizes& sizes, int64_t direction, int64_t b) {
  if (view.is_absent()) return nullptr;
  int64_t row = spec.batch_first ? b * spec.directions + direction : direction * sizes.batch + b;
  return view.as<T>().data() + row * sizes.hidden;
}

template <typename T>
void run_sequence(const KernelArgs& args, const RecurrentSpec& spec, const Cell<T>& cell, int64_t direction, int64_t b,
                  int64_t length, SequenceState<T>& s) {
  const Sizes& sizes = cell.sizes;
  auto hidden = static_cast<size_t>(sizes.hidden);
  auto rows = static_cast<size_t>(sizes.gates) * hidden;
  std::fill(s.h.begin(), s.h.end(), T(0));
  std::fill(s.c.begin(), s.c.end(), T(0));
  if (const T* h = state_of<T>(args.input(5), spec, sizes, direction, b)) std::copy(h, h + hidden, s.h.begin());
  bool has_c = cell.kind == CellKind::Lstm;
  if (const T* c = has_c ? state_of<T>(args.input(6), spec, sizes, direction, b) : nullptr) {
    std::copy(c, c + hidden, s.c.begin());
  }
  bool backward = spec.starts_backward || direction == 1;
  const T* x = args.inputs[0].as<T>().data();
  T* y = args.output(0).is_absent() ? nullptr : args.output(0).as<T>().data();
  auto y_at = [&](int64_t t) {
    int64_t row = spec.batch_first ? (b * sizes.steps + t) * spec.directions + direction
                                   : (t * spec.directions + direction) * sizes.batch + b;
    return y + row * sizes.hidden;
  };
  for (int64_t step = 0; step < length; ++step) {
    int64_t t = backward ? length - 1 - step : step;
    int64_t row = spec.batch_first ? b * sizes.steps + t : t * sizes.batch + b;
    project(x + row * sizes.input, cell.w, sizes.input, 0, static_cast<int64_t>(rows), s.from_x.data());
    switch (cell.kind) {
      case CellKind::Lstm: lstm_step(cell, s); break;
      case CellKind::Gru: gru_step(cell, s); break;
      case CellKind::Rnn: rnn_step(cell, s); break;
    }
    if (y != nullptr) std::copy(s.h.begin(), s.h.end(), y_at(t));
  }
  // Behind the end of a shorter sequence there is nothing.
  for (int64_t t = length; t < sizes.steps && y != nullptr; ++t) std::fill_n(y_at(t), hidden, T(0));
  if (T* h = state_of<T>(args.output(1), spec, sizes, direction, b)) std::copy(s.h.begin(), s.h.end(), h);
  if (T* c = has_c ? state_of<T>(args.output(2), spec, sizes, direction, b) : nullptr)
    std::copy(s.c.begin(), s.c.end(), c);
}

template <typename T>
Status run_cells(CellKind kind, const KernelArgs& args) {
  RecurrentSpec spec;
  if (auto problem = resolve_recurrent(kind, args.attrs, &spec)) return Status::error(problem->message);
  const Shape& x = args.inputs[0].shape;
  Sizes sizes{x[spec.batch_first ? 1 : 0], x[spec.batch_first ? 0 : 1], x[2], args.inputs[2].shape[2], gates_of(kind)};
  std::vector<int64_t> lengths(static_cast<size_t>(sizes.batch), sizes.steps);
  for (size_t b = 0; !args.input(4).is_absent() && b < lengths.size(); ++b) {
    lengths[b] = element_as_int(args.input(4), static_cast<int64_t>(b));
    if (lengths[b] < 0 || lengths[b] > sizes.steps) {
      return Status::error("sequence length " + std::to_string(lengths[b]) + " is not within 0 to " +
                           std::to_string(sizes.steps));
    }
  }
  int64_t rows = sizes.gates * sizes.hidden;
  auto part = [](const TensorView& view, int64_t offset) {
    return view.is_absent() ? nullptr : view.as<T>().data() + offset;
  };
  for (int64_t d = 0; d < spec.directions; ++d) {
    Cell<T> cell{.kind = kind,
                 .sizes = sizes,
                 .w = part(args.inputs[1], d * rows * sizes.input),
                 .r = part(args.inputs[2], d * rows * sizes.hidden),
                 .bias = part(args.input(3), d * 2 * rows),
                 .peepholes = kind == CellKind::Lstm ? part(args.input(7), d * 3 * sizes.hidden) : nullptr,
                 .functions = spec.functions[static_cast<size_t>(d)],
                 .clip = spec.clip,
                 .coupled = args.attrs.get_int("input_forget", 0) != 0,
                 .reset_after_matmul = args.attrs.get_int("linear_before_reset", 0) != 0};
    int threads = sizes.steps * rows > 10000 ? omp_get_max_threads() : 1;
    Status status = parallel_for(sizes.batch, 1, threads, [&](int64_t begin, int64_t end, int) {
      SequenceState<T> state(cell);
      for (int64_t b = begin; b < end; ++b) {
        run_sequence(args, spec, cell, d, b, lengths[static_cast<size_t>(b)], state);
      }
    });
    if (!status) return status;
  }
  return Status::ok();
}

Status run_recurrent(CellKind kind, const KernelArgs& args) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) { return run_cells<T>(kind, args); });
}

}  // namespace

Status kernel_LSTM(const KernelArgs& args) {
  return run_recurrent(CellKind::Lstm, args);
}
Status kernel_GRU(const KernelArgs& args) {
  return run_recurrent(CellKind::Gru, args);
}
Status kernel_RNN(const KernelArgs& args) {
  return run_recurrent(CellKind::Rnn, args);
}

}  // namespace collage::runtime
