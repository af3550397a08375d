// SPDX-License-Identifier: Apache-2.0
#include "bench/placement/backends.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

namespace collage::bench {
namespace {

using place::Candidate;
using place::ConversionEdge;
using place::Cost;
using place::FormatId;
using place::OwnerId;
using place::Problem;
using runtime::Duration;

constexpr FormatId kPlain = 0, kLast = 1, kBlocked = 2, kNpu = 3, kDsp = 4;
constexpr OwnerId kHost = 0, kOnednn = 1, kOpenblas = 2, kXnnpack = 3, kNpuOwner = 4, kDspOwner = 5;

struct Speed {
  double flops;   ///< per second
  double bytes;   ///< per second
  double launch;  ///< seconds
};

Speed speed_of(OwnerId owner, Setting setting) {
  switch (owner.index) {
    case kHost.index: return {50e9, 10e9, 0.5e-6};
    case kOnednn.index: return {170e9, 12e9, 2e-6};
    case kOpenblas.index: return {150e9, 11e9, 1e-6};
    case kXnnpack.index: return {140e9, 14e9, 1.5e-6};
    case kNpuOwner.index:
      switch (setting) {
        case Setting::A: return {2000e9, 60e9, 4e-6};
        case Setting::B: return {140e9, 11e9, 5e-6};
        default: return {260e9, 22e9, 5e-6};  // sums have no lucky draws: faster, to be as good as the others
      }
    default: return {60e9, 25e9, 3e-6};
  }
}

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 32);
}

class ProblemMaker {
 public:
  ProblemMaker(const Skeleton& skeleton, Setting setting) : s_(skeleton), setting_(setting) {}

  Problem run() {
    p_.node_count = s_.nodes.size();
    p_.formats = {{"host", "plain"}, {"host", "NHWC"}, {"host", "nChw8c"}, {"npu[0]", "plain"}, {"dsp[0]", "plain"}};
    for (const char* name : {"host", "onednn", "openblas", "xnnpack", "npu", "dsp"}) {
      place::Owner owner;
      owner.backend = name;
      owner.instance = owner.backend == "npu" || owner.backend == "dsp" ? owner.backend + "[0]" : "host";
      p_.owners.push_back(std::move(owner));
    }
    for (const SkeletonValue& value : s_.values) add_value(value);
    for (const SkeletonNode& one : s_.nodes) {
      constant_of_.push_back({});
      if (one.weight_bytes > 0) {
        constant_of_.back() = p_.constant_bytes.add(static_cast<int64_t>(one.weight_bytes));
      }
    }
    find_neighbours();
    for (NodeId n : p_.nodes()) add_candidates(n);
    return std::move(p_);
  }

 private:
  const SkeletonNode& node(NodeId n) const { return s_.nodes[n]; }
  Kind kind(NodeId n) const { return node(n).kind; }

  void add_value(const SkeletonValue& value) {
    place::ProblemValue added;
    added.writer = value.writer;
    added.readers = value.readers;
    added.is_output = value.is_output;
    added.bytes = static_cast<int64_t>(value.bytes);
    const auto edge = [&](FormatId a, FormatId b, double seconds) {
      added.conversions.push_back({a, b, Cost::time(Duration::seconds(seconds))});
      added.conversions.push_back({b, a, Cost::time(Duration::seconds(seconds))});
    };
    const double reorder = 1e-6 + 2 * value.bytes / 10e9;
    edge(kPlain, kLast, reorder);
    edge(kPlain, kBlocked, reorder);
    edge(kLast, kBlocked, reorder);
    edge(kPlain, kNpu, 5e-6 + value.bytes / 8e9);
    edge(kPlain, kDsp, 2e-6 + value.bytes / 10e9);
    edge(kNpu, kDsp, 3e-6 + value.bytes / 6e9);
    p_.values.push_back(std::move(added));
  }

  void find_neighbours() {
    successors_.resize(s_.nodes.size());
    predecessors_.resize(s_.nodes.size());
    for (const SkeletonValue& value : s_.values) {
      if (!value.writer.is_valid()) continue;
      for (NodeId reader : value.readers) {
        successors_[value.writer].push_back(reader);
        predecessors_[reader].push_back(value.writer);
      }
    }
  }

  void add_candidates(NodeId n) {
    add(kHost, {n}, kPlain, kPlain);
    const Kind k = kind(n);
    const bool conv = k == Kind::Contraction || k == Kind::Depthwise;
    if (conv || k == Kind::Pool || k == Kind::Pointwise || k == Kind::Join) {
      for (const std::vector<NodeId>& nodes :
           chains(n, conv ? 4 : 2, [](Kind next) { return next == Kind::Pointwise; })) {
        add(kOnednn, nodes, kBlocked, kBlocked);
        if (nodes.size() == 1 || conv) add(kOnednn, nodes, kPlain, kPlain);
        if (conv) add(kOnednn, nodes, kPlain, kBlocked);
      }
    }
    if (k == Kind::Contraction) add(kOpenblas, {n}, kPlain, kPlain);
    if (conv || k == Kind::Pool || k == Kind::Pointwise) {
      for (const std::vector<NodeId>& nodes : chains(n, 2, [](Kind next) { return next == Kind::Pointwise; })) {
        add(kXnnpack, nodes, kLast, kLast);
      }
    }
    if (k == Kind::Pointwise || k == Kind::Movement) {
      for (const std::vector<NodeId>& nodes :
           chains(n, 6, [](Kind next) { return next == Kind::Pointwise || next == Kind::Movement; })) {
        add(kDspOwner, nodes, kDsp, kDsp);
      }
    }
    grow_npu(n);
  }

  /// Paths of up to `length` nodes from `n` on whose inner values have no other reader.
  std::vector<std::vector<NodeId>> chains(NodeId n, size_t length, const std::function<bool(Kind)>& goes_on) const {
    std::vector<std::vector<NodeId>> result = {{n}};
    std::vector<NodeId> nodes = {n};
    while (nodes.size() < length) {
      const SkeletonNode& last = node(nodes.back());
      if (last.writes.size() != 1) break;
      const SkeletonValue& value = s_.values[last.writes.front()];
      if (value.readers.size() != 1 || value.is_output || !goes_on(kind(value.readers.front()))) break;
      nodes.push_back(value.readers.front());
      result.push_back(nodes);
    }
    return result;
  }

  static bool npu_runs(Kind kind) { return kind != Kind::Other && kind != Kind::Movement; }

  /// Connected convex sets with first node `n`, small ones first.
  void grow_npu(NodeId n) {
    constexpr size_t kMaxNodes = 6, kMaxExits = 2, kMaxSets = 64;
    if (!npu_runs(kind(n))) return;
    std::set<std::vector<NodeId>> seen = {{n}};
    std::vector<std::vector<NodeId>> queue = {{n}};
    size_t added = 0;
    for (size_t at = 0; at < queue.size() && added < kMaxSets; ++at) {
      const std::vector<NodeId> nodes = queue[at];
      if (exits(nodes) <= kMaxExits && is_convex(nodes)) {
        add(kNpuOwner, nodes, kNpu, kNpu);
        ++added;
      }
      if (nodes.size() == kMaxNodes || queue.size() > 8 * kMaxSets) continue;
      for (NodeId inside : nodes) {
        for (const auto* lists : {&successors_, &predecessors_}) {
          for (NodeId next : (*lists)[inside]) {
            if (next < n || !npu_runs(kind(next)) || std::binary_search(nodes.begin(), nodes.end(), next)) continue;
            std::vector<NodeId> more = nodes;
            more.insert(std::upper_bound(more.begin(), more.end(), next), next);
            if (seen.insert(more).second) queue.push_back(std::move(more));
          }
        }
      }
    }
  }

  size_t exits(const std::vector<NodeId>& nodes) const {
    return static_cast<size_t>(std::count_if(nodes.begin(), nodes.end(), [&](NodeId n) {
      return std::any_of(node(n).writes.begin(), node(n).writes.end(), [&](ValueId v) { return leaves(v, nodes); });
    }));
  }

  bool leaves(ValueId v, const std::vector<NodeId>& nodes) const {
    const SkeletonValue& value = s_.values[v];
    return value.is_output || std::any_of(value.readers.begin(), value.readers.end(),
                                          [&](NodeId r) { return !std::binary_search(nodes.begin(), nodes.end(), r); });
  }

  /// Forward from what leaves, among nodes up to the last of the set.
  bool is_convex(const std::vector<NodeId>& nodes) const {
    std::vector<NodeId> todo;
    std::set<NodeId> seen;
    const auto visit = [&](NodeId from) {
      for (NodeId next : successors_[from]) {
        if (next > nodes.back()) continue;
        const bool inside = std::binary_search(nodes.begin(), nodes.end(), next);
        if (std::binary_search(nodes.begin(), nodes.end(), from) && inside) continue;
        if (inside) return false;
        if (seen.insert(next).second) todo.push_back(next);
      }
      return true;
    };
    for (NodeId n : nodes) visit(n);
    while (!todo.empty()) {
      const NodeId from = todo.back();
      todo.pop_back();
      if (!visit(from)) return false;
    }
    return true;
  }

  void add(OwnerId owner, std::vector<NodeId> nodes, FormatId in, FormatId out) {
    std::sort(nodes.begin(), nodes.end());
    Candidate c;
    c.owner = owner;
    c.rule = p_.owners[owner].backend;
    std::set<ValueId> reads;
    for (NodeId n : nodes) {
      for (ValueId v : node(n).reads) {
        const NodeId writer = s_.values[v].writer;
        if (!std::binary_search(nodes.begin(), nodes.end(), writer)) reads.insert(v);
      }
      for (ValueId v : node(n).writes) {
        if (leaves(v, nodes)) c.writes.push_back({v, out});
      }
    }
    std::sort(c.writes.begin(), c.writes.end(), [](const auto& a, const auto& b) { return a.value < b.value; });
    for (ValueId v : reads) c.reads.push_back({v, in});
    c.cost = Cost::time(cost(owner, nodes, reads));
    for (NodeId n : nodes) {
      if (constant_of_[n].is_valid()) c.constants.push_back(constant_of_[n]);
    }
    c.nodes = std::move(nodes);
    p_.candidates.push_back(std::move(c));
  }

  Duration cost(OwnerId owner, const std::vector<NodeId>& nodes, const std::set<ValueId>& reads) const {
    const Speed speed = speed_of(owner, setting_);
    const bool additive = setting_ == Setting::C && (owner == kNpuOwner || owner == kDspOwner);
    if (!additive) return Duration::seconds(speed.launch + roofline(owner, nodes, reads));
    double seconds = speed.launch;
    for (NodeId n : nodes) {
      const std::set<ValueId> own(node(n).reads.begin(), node(n).reads.end());
      seconds += roofline(owner, {n}, own);
    }
    return Duration::seconds(seconds);
  }

  double roofline(OwnerId owner, const std::vector<NodeId>& nodes, const std::set<ValueId>& reads) const {
    double flops = 0, bytes = 0;
    uint64_t hash = mix(0x9e3779b97f4a7c15ULL, static_cast<uint64_t>(owner.index));
    for (NodeId n : nodes) {
      double work = node(n).flops;
      if (owner == kOpenblas && kind(n) == Kind::Depthwise) work *= 10;
      if (kind(n) == Kind::Depthwise) work *= 4;
      flops += work;
      bytes += node(n).weight_bytes;
      for (ValueId v : node(n).writes) {
        if (leaves(v, nodes)) bytes += s_.values[v].bytes;
      }
      hash = mix(hash, static_cast<uint64_t>(kind(n)));
      hash = mix(hash, static_cast<uint64_t>(std::llround(node(n).flops)));
      for (ValueId v : node(n).reads) hash = mix(hash, static_cast<uint64_t>(s_.values[v].bytes));
    }
    for (ValueId v : reads) bytes += s_.values[v].bytes;
    const Speed speed = speed_of(owner, setting_);
    const double spread = 0.7 + 0.6 * static_cast<double>(hash >> 11) / 9007199254740992.0;
    return spread * std::max(flops / speed.flops, bytes / speed.bytes);
  }

  const Skeleton& s_;
  Setting setting_;
  Problem p_;
  place::Table<NodeId, place::ConstantId> constant_of_;  ///< weights; none: the node has none
  place::Table<NodeId, std::vector<NodeId>> successors_;
  place::Table<NodeId, std::vector<NodeId>> predecessors_;
};

}  // namespace

Problem make_problem(const Skeleton& skeleton, Setting setting) {
  return ProblemMaker(skeleton, setting).run();
}

}  // namespace collage::bench
