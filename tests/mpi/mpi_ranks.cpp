// SPDX-License-Identifier: Apache-2.0
// A rank of the test `mpi_ranks`: mpi_ranks MODULES WHAT. Rank 1 fails in the way that WHAT names; `requests` and
// `messages` go well. What it has to say it prints as lines.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include "runtime/cluster/cluster_program.h"
#include "runtime/cluster/collectives.h"
#include "runtime/cluster/mpi_transport.h"
#include "tests/unit/runtime/cluster/part_plan.h"

namespace {

using namespace collage::runtime;        // NOLINT: a test
using namespace collage::runtime::test;  // NOLINT: a test

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

/// Each rank adds 1 to what it has from the one before; the last sends it back to the first.
PartPlan chain(int rank, int size) {
  const Shape shape{1000};
  PartPlan part(rank, size);
  const BufferId one = part.constant(0, f32({1}, {1}));
  const BufferId from = rank == 0 ? part.input(shape) : part.here(shape), to = part.here(shape);
  if (rank > 0) part.receive(rank - 1, from);
  part.host({op("Add", {from, one}, {to})});
  part.send(to, (rank + 1) % size);
  if (rank > 0) return part;
  const BufferId back = part.here(shape);
  part.receive(size - 1, back);
  part.output(back);
  return part;
}

Status answer_requests(const std::shared_ptr<Transport>& transport) {
  ClusterOptions options;
  options.channels = 3;
  auto program = ClusterProgram::open(chain(transport->rank(), transport->size()).plan, std::make_shared<TableCode>(),
                                      transport, options);
  if (!program) return program.status();
  if (transport->rank() != 0) return (*program)->serve();
  std::vector<std::future<ClusterProgram::Answer>> answers;
  for (int r = 0; r < 50; ++r) answers.push_back((*program)->submit({counting({1000}, static_cast<float>(r))}));
  size_t right = 0;
  for (size_t r = 0; r < answers.size(); ++r) {
    const auto outputs = answers[r].get();
    if (!outputs) return outputs.status();
    const auto expected = counting({1000}, static_cast<float>(r) + static_cast<float>(transport->size()));
    if (values((*outputs)[0]) == values(expected)) ++right;
  }
  (*program)->end();
  say("right answers: " + std::to_string(right));
  return transport->failure();
}

/// A ring of messages of several pieces.
Status exchange(Transport& transport) {
  const size_t count = 3'000'001;
  const auto byte_of = [](int rank, size_t i) { return static_cast<std::byte>(i * 7 + static_cast<size_t>(rank)); };
  const int next = (transport.rank() + 1) % transport.size();
  const int before = (transport.rank() + transport.size() - 1) % transport.size();
  std::vector<std::byte> sent(count), got(count);
  for (size_t i = 0; i < count; ++i) sent[i] = byte_of(transport.rank(), i);
  for (int round = 0; round < 5; ++round) {
    const TransferRef send = transport.send(next, 5, sent), receive = transport.receive(before, 5, got);
    if (Status status = receive->wait(); !status) return status;
    if (Status status = send->wait(); !status) return status;
    for (size_t i = 0; i < count; ++i) {
      if (got[i] != byte_of(before, i)) return Status::error("wrong bytes");
    }
  }
  const auto clocks = measure_clocks(transport);
  if (!clocks) return clocks.status();
  for (const ClockReading& reading : *clocks) {
    if (std::abs(reading.offset_ns) > reading.round_trip_ns / 2 + 1000) return Status::error("the clocks differ");
  }
  if (transport.rank() == 0) say("messages are right");
  return Status::ok();
}

Status wait_for_rank(Transport& transport, TimeLimit limit) {
  std::byte none{};
  const TransferRef transfer = transport.receive((transport.rank() + 1) % transport.size(), 9, {&none, 1});
  return transport.finish(*transfer, limit, "a value that nobody sends");
}

Status run(const std::shared_ptr<MpiTransport>& transport, const std::string& what) {
  Transport& ranks = *transport;
  if (what == "requests") return answer_requests(transport);
  if (what == "messages") return exchange(ranks);
  const auto pids = gather(ranks, std::to_string(::getpid()));
  if (!pids) return pids.status();
  if (ranks.rank() == 0) {  // one line of one rank: mpirun mixes those of several
    std::string line = "pids";
    for (const std::string& pid : *pids) line += " " + pid;
    say(line);
  }
  if (Status status = barrier(ranks); !status) return status;
  const bool is_it = ranks.rank() == (what == "stop_first" ? 0 : 1);
  if (is_it && (what == "stop" || what == "stop_first")) (void)std::raise(SIGSTOP);
  if (is_it && what == "fail") ranks.abort("no memory");
  if (is_it && what == "stuck") {  // says why it fails, and never ends by itself
    ranks.abort("a kernel does not return");
    std::this_thread::sleep_for(std::chrono::seconds(100));
  }
  return wait_for_rank(ranks, what == "late" ? TimeLimit(1) : TimeLimit(0));
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<MpiLaunch> launch = find_mpi_launch();
  if (argc != 3 || !launch) return std::fprintf(stderr, "usage: mpirun -n N mpi_ranks MODULES WHAT\n"), 2;
  const Result<const collage_mpi_functions*> module = load_mpi_module(launch->module, argv[1]);
  if (!module) return std::fprintf(stderr, "error: %s\n", module.message().c_str()), 1;
  MpiOptions options;
  options.piece_bytes = 1'000'000;
  Result<std::shared_ptr<MpiTransport>> transport = MpiTransport::start(*module, options);
  if (!transport) return std::fprintf(stderr, "error: %s\n", transport.message().c_str()), 1;
  const Status status = run(*transport, argv[2]);
  if (!status) std::fprintf(stderr, "error: rank %d: %s\n", (*transport)->rank(), status.message().c_str());
  (void)(*transport)->leave(3);
  return status ? 0 : 3;
}
