// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/cluster_program.h"

#include <exception>
#include <utility>

#include "runtime/cluster/collectives.h"

namespace collage::runtime {
namespace {

// A ticket is a message of rank 0 on the channel for tickets: what the others do next on the channel that goes with it.
// The ticket of a run is its number, which counts from 1 over all channels.
constexpr uint64_t kEndTicket = 0;

int ticket_channel(int channel) {
  return kCollectiveChannel + 1 + 2 * channel;
}

int value_channel(int channel) {
  return ticket_channel(channel) + 1;
}

std::vector<TransferRef> send_tickets(Transport& transport, int channel, const uint64_t& ticket) {
  std::vector<TransferRef> transfers;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(&ticket, 1));
  for (int peer = 1; peer < transport.size(); ++peer) {
    transfers.push_back(transport.send(peer, ticket_channel(channel), bytes));
  }
  return transfers;
}
static_assert(kCollectiveChannel + 2 + 2 * kMostChannels <= kChannels);

}  // namespace

/// With each run on rank 0 the other ranks run their parts.
class ClusterProgram::Tickets : public Companion {
 public:
  Tickets(ClusterProgram& program, Lane& lane) : program_(program), lane_(lane) {}

  /// Runs are in the lines of arenas here in the order of their numbers.
  void begin() override {
    std::lock_guard lock(program_.mutex_);
    lane_.executor->announce_run();
    ticket_ = ++program_.begun_;
    sent_ = send_tickets(*program_.transport_, lane_.channel, ticket_);
  }

  /// What every rank says is the reason of the first failure, not that this rank waited for it.
  Status end(Status status) override {
    if (!status) program_.transport_->abort(status.message());
    for (const TransferRef& ticket : sent_) {
      if (Status given = ticket->wait(); !given) status = given;
    }
    const Status failure = program_.transport_->failure();
    return failure ? status : failure;
  }

 private:
  ClusterProgram& program_;
  Lane& lane_;
  uint64_t ticket_ = kEndTicket;  ///< stays until it is sent
  std::vector<TransferRef> sent_;
};

Result<std::unique_ptr<ClusterProgram>> ClusterProgram::open(Plan plan, std::shared_ptr<const Code> code,
                                                             std::shared_ptr<Transport> transport,
                                                             ClusterOptions options) {
  const std::string key = "part of `" + plan.model + "` for " + std::to_string(plan.part.hosts) + " hosts, " +
                          std::to_string(options.channels) + " requests in flight" +
                          (options.package.empty() ? "" : ", package " + options.package);
  std::unique_ptr<ClusterProgram> program(new ClusterProgram(transport, std::move(options)));
  const Status status = program->load(std::move(plan), std::move(code));
  if (Status agreed = agree(*transport, status, key, program->options_.limit); !agreed) return agreed;
  if (Status started = program->start_threads(); !started) {
    transport->abort(started.message());
    return started;
  }
  return program;
}

Status ClusterProgram::load(Plan plan, std::shared_ptr<const Code> code) {
  const PlanPart part = plan.part;
  if (part.hosts != transport_->size()) {
    return Status::error("the plan is for " + std::to_string(part.hosts) + " hosts, and " +
                         std::to_string(transport_->size()) + " ranks run it");
  }
  if (part.host != transport_->rank()) {
    return Status::error("the part of host " + std::to_string(part.host) + " was given to rank " +
                         std::to_string(transport_->rank()));
  }
  if (options_.channels < 1 || options_.channels > kMostChannels) {
    return Status::error("an impossible number of requests in flight");
  }
  options_.load.make_remote = [this](const DeviceSpec& spec) -> Result<std::unique_ptr<Device>> {
    Result<std::unique_ptr<RemoteDevice>> device = make_remote_device(spec, transport_, options_.limit);
    if (!device) return device.status();
    remotes_.push_back(device->get());
    return std::unique_ptr<Device>(std::move(*device));
  };
  if (options_.channels > 1) options_.load.host_turns = std::make_shared<HostTurns>();
  Result<std::shared_ptr<const Program>> program =
      Program::load(std::move(plan), std::move(code), options_.threads, options_.load);
  if (!program) return program.status();
  program_ = std::move(*program);
  for (int channel = 0; channel < options_.channels; ++channel) {
    for (RemoteDevice* remote : remotes_) remote->use_channel(value_channel(channel));
    // A lost device is final: the other hosts do not know what would take over.
    auto recovery = std::make_shared<Recovery>(program_, nullptr);
    Result<std::unique_ptr<RecoveringExecution>> execution =
        RecoveringExecution::create(std::move(recovery), options_.channels > 1 ? ArenaUse::InTurn : ArenaUse::Own);
    if (!execution) return execution.status();
    auto lane = std::make_unique<Lane>();
    lane->channel = channel;
    lane->executor = std::make_unique<Executor>(std::move(*execution));
    if (transport_->rank() == 0) lane->executor->accompany(std::make_shared<Tickets>(*this, *lane));
    lanes_.push_back(std::move(lane));
  }
  return Status::ok();
}

/// On rank 0; the others have theirs in `serve`.
Status ClusterProgram::start_threads() {
  if (transport_->rank() != 0) return Status::ok();
  try {
    for (const auto& lane : lanes_) lane->thread = std::thread([this, one = lane.get()] { answer_requests(*one); });
  } catch (const std::exception& exception) {  // the system gives no more threads
    return Status::error(exception.what());
  }
  return Status::ok();
}

ClusterProgram::~ClusterProgram() {
  end();
}

void ClusterProgram::end() {
  {
    std::lock_guard lock(mutex_);
    is_ended_ = true;
  }
  changed_.notify_all();
  for (const auto& lane : lanes_) {
    if (lane->thread.joinable()) lane->thread.join();
  }
}

std::future<ClusterProgram::Answer> ClusterProgram::submit(std::vector<Tensor> inputs) {
  std::future<Answer> answer;
  {
    std::lock_guard lock(mutex_);
    Lane& lane = *lanes_[submitted_ % lanes_.size()];
    lane.waiting.push_back({std::move(inputs)});
    answer = lane.waiting.back().answer.get_future();
    ++submitted_;
  }
  changed_.notify_all();
  return answer;
}

size_t ClusterProgram::answered() const {
  std::lock_guard lock(mutex_);
  return answered_;
}

/// The thread of a channel on rank 0.
void ClusterProgram::answer_requests(Lane& lane) {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_ended_ || !lane.waiting.empty(); });
    if (lane.waiting.empty()) break;
    Request request = std::move(lane.waiting.front());
    lane.waiting.pop_front();
    lock.unlock();
    Answer outputs = lane.executor->run(request.inputs);
    lock.lock();
    if (outputs) ++answered_;  // counted before the caller sees the answer
    lock.unlock();
    request.answer.set_value(std::move(outputs));
  }
  for (const TransferRef& ticket : send_tickets(*transport_, lane.channel, kEndTicket)) {
    (void)transport_->finish(*ticket, options_.limit, "another rank");
  }
}

Status ClusterProgram::serve() {
  try {
    for (const auto& lane : lanes_) lane->thread = std::thread([this, &lane] { follow(*lane); });
  } catch (const std::exception& exception) {  // the system gives no more threads
    transport_->abort(exception.what());
  }
  for (const auto& lane : lanes_) {
    if (lane->thread.joinable()) lane->thread.join();
  }
  return transport_->failure();
}

/// One channel on another rank than 0.
void ClusterProgram::follow(Lane& lane) {
  while (true) {
    std::array<uint64_t, 1> ticket{};
    const TransferRef transfer =
        transport_->receive(0, ticket_channel(lane.channel), std::as_writable_bytes(std::span(ticket)));
    const bool is_given = static_cast<bool>(transfer->wait());
    if (is_given && ticket[0] == kEndTicket) return;
    if (!is_given || !announce(lane, ticket[0])) return break_off();
    Answer outputs = lane.executor->run({});
    if (!outputs) {
      transport_->abort(outputs.message());
      return break_off();
    }
    std::lock_guard lock(mutex_);
    ++answered_;
  }
}

/// The run is in the lines of arenas where its number says, as on rank 0: after all that have smaller ones. False:
/// these do not come.
bool ClusterProgram::announce(Lane& lane, uint64_t number) {
  const bool is_in_order = program_->arenas().are_shared();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_broken_ || !is_in_order || begun_ + 1 == number; });
  if (is_broken_) return false;
  lane.executor->announce_run();
  ++begun_;
  lock.unlock();
  changed_.notify_all();
  return true;
}

void ClusterProgram::break_off() {
  {
    std::lock_guard lock(mutex_);
    is_broken_ = true;
  }
  changed_.notify_all();
}

}  // namespace collage::runtime
