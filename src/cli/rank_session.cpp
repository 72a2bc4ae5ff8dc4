// SPDX-License-Identifier: Apache-2.0
#include "cli/rank_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <new>
#include <thread>

#include "cli/command.h"
#include "core/fingerprint.h"
#include "core/machine.h"
#include "core/model_access.h"
#include "orrery/error.h"
#include "output/input_digest.h"
#include "run/options/model_checks.h"
#include "run/threads/supervised_run.h"
#include "transport/ranks/bytes.h"
#include "transport/ranks/local_launch.h"
#include "transport/ranks/mpi_wire.h"

namespace orrery::cli {
namespace {

using transport::ByteReader;
using transport::ByteWriter;
using transport::MpiEnvironment;
using transport::Parcel;

enum class Step : std::uint8_t { done, usage, fault, system };

/// The end of a common step on one rank.
struct StepEnd {
  Step step = Step::done;
  std::string sentence;
};

StepEnd take(const std::function<void()>& step) {
  try {
    step();
    return {};
  } catch (const UsageError& error) {
    return {Step::usage, error.what()};
  } catch (const ModelFault& fault) {
    return {Step::fault, fault.what()};
  } catch (const std::bad_alloc&) {
    return {Step::system, "there is not enough memory"};
  }
}

[[noreturn]] void raise(Step step, const std::string& sentence) {
  if (step == Step::usage) throw UsageError(sentence);
  if (step == Step::fault) throw ModelFault(sentence);
  throw SystemFailure(sentence);
}

/// "openmpi" or "mpich"; empty: no launcher has started several processes.
std::string mpi_library(const RankRequest& request) {
  const MpiEnvironment found = MpiEnvironment::now();
  if (!request.mpi.empty()) {
    if (request.mpi == "openmpi" || request.mpi == "mpich") return request.mpi;
    throw UsageError(fmt::format("--mpi can be openmpi or mpich, not '{}'", request.mpi));
  }
  if (!found.any() || found.ranks == 1) return {};
  if (found.openmpi && found.mpich)
    throw UsageError(
        "the environment has variables of Open MPI (OMPI_COMM_WORLD_SIZE or PMIX_RANK) and of "
        "MPICH "
        "(PMI_RANK or PMI_SIZE): choose with --mpi openmpi or --mpi mpich");
  return found.openmpi ? "openmpi" : "mpich";
}

std::string options_text(const EngineInfo& engine, const RunOptions& options, double tick_seconds) {
  std::string text = engine.name;
  for (const OptionBase* option : all_options())
    for (const auto& [field, value] : option->report(options, tick_seconds))
      std::visit(
          [&, name = &field](const auto& plain) { text += fmt::format(", {} {}", *name, plain); },
          value);
  return text;
}

std::string parameters_text(const Model& model) {
  std::string text;
  for (const ParameterBase* p : model.parameters())
    text += fmt::format("{}={}, ", p->name(), p->value_text());
  return text;
}

/// The properties of the prepared model that are visible from outside, as a text.
std::string prepared_text(const Model& model) {
  std::string text = fmt::format("{} LPs, tick {}, lookahead {}, metrics", model.lp_count(),
                                 model.tick_seconds(), lookahead_of(model).ticks());
  for (const Metric* metric : model.metrics()) text += " " + metric->name();
  for (const Table* table : model.tables()) text += " " + table->name();
  for (const Capture* one : model.captures())
    text += fmt::format(" {} {}", one->name(), static_cast<unsigned>(one->link()));
  const CommunicationGraph graph = communication_of(model);
  std::uint64_t hash = fingerprint::kFirst;
  for (const CommunicationGraph::Edge& edge : graph.edges()) {
    const std::uint64_t words[] = {edge.from, edge.to, edge.weight, edge.promised,
                                   static_cast<std::uint64_t>(edge.minimum_delay.ticks())};
    hash = fingerprint::add_bytes(hash, words, sizeof words);
  }
  return text +
         fmt::format(", graph {} {} {:016x}", graph.is_complete(), graph.edges().size(), hash);
}

}  // namespace

void RankRequest::declare(OptionTable& options) {
  options.value(
      "--ranks", ranks, "N",
      "Number of processes on this machine that run the model together (1); 2..8: as many "
      "as it has cores");
  options.flag("--survive", survive,
               "If a rank dies, go on from the last snapshot (with --ranks and --out)");
  options.value("--mpi", mpi, "openmpi|mpich",
                "MPI library of the launcher that has started this (the one that the environment "
                "names)");
}

void refuse_mpi_launcher(const std::string& command) {
  const MpiEnvironment found = MpiEnvironment::now();
  if (!found.any() || found.ranks <= 1) return;
  throw UsageError(
      fmt::format("'{}' runs in one process, and an MPI launcher has started {}: start it without",
                  command, found.ranks));
}

RankSession::RankSession(const RankRequest& request) {
  std::unique_ptr<transport::Wire> wire = join(request);
  if (wire == nullptr) return;
  try {
    transport_ = std::make_unique<transport::RankTransport>(std::move(wire));
  } catch (const transport::RankFailure&) {
    if (is_local_) _exit(transport::kExitLostRank);  // the process that has started it says which
    throw;
  }
  if (is_first()) return;
  // The first rank takes the signals and sends the request to stop to the other ranks.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
}

std::unique_ptr<transport::Wire> RankSession::join(const RankRequest& request) {
  if (auto wire = transport::join_local()) {
    is_local_ = true;
    return wire;
  }
  const std::string library = mpi_library(request);
  if (library.empty()) return nullptr;
  try {
    auto wire = transport::join_mpi(library);
    if (wire->ranks() > 1) return wire;
    wire->part();  // alone after all
    return nullptr;
  } catch (const transport::RankFailure& failure) {
    throw UsageError(failure.what());
  }
}

/// An MPI launcher may have bound each rank to cores of its own, or not.
RankPlace RankSession::place() const {
  if (transport_ == nullptr) return {};
  RankPlace place{.rank = transport_->rank(), .ranks = transport_->ranks()};
  if (is_local_ || usable_cores() >= std::thread::hardware_concurrency()) {
    place.sharing = transport_->ranks_on_host();
    place.index = transport_->index_on_host();
  }
  return place;
}

void RankSession::agree(const std::function<void()>& step) {
  if (transport_ == nullptr) return step();
  const StepEnd own = take(step);
  ByteWriter writer;
  writer.put(own.step).put(own.sentence);
  std::vector<StepEnd> ends;
  for (const Parcel& parcel : transport_->gather_everywhere(writer.take())) {
    ByteReader reader(parcel);
    const auto how = reader.get<Step>();
    ends.push_back({how, reader.get_text()});
  }
  const auto failed =
      std::find_if(ends.begin(), ends.end(), [](const StepEnd& e) { return e.step != Step::done; });
  if (failed == ends.end()) return;
  part();
  if (!is_first()) throw ToldByRank0();
  const bool by_all = std::all_of(ends.begin(), ends.end(), [&](const StepEnd& end) {
    return end.sentence == failed->sentence;
  });
  const auto rank = static_cast<unsigned>(failed - ends.begin());
  raise(failed->step, by_all ? failed->sentence
                             : fmt::format("{}: {}", transport_->place(rank), failed->sentence));
}

/// Each rank compares its own facts with those of rank 0.
void RankSession::compare(const RunFacts& facts) {
  if (transport_ == nullptr) return;
  ByteWriter writer;
  for (const auto& [name, value] : facts) writer.put(value);
  const std::vector<Parcel> all = transport_->gather_everywhere(writer.take());
  agree([&] {
    ByteReader first(all[0]);
    for (const auto& [name, value] : facts)
      if (first.at_end() || first.get_text() != value)
        throw UsageError(fmt::format("{} differs from that of {}; all ranks need the same", name,
                                     transport_->place(0)));
  });
}

void RankSession::part() {
  if (transport_ != nullptr) transport_->part();
}

int RankSession::abandon(const transport::RankFailure& failure) {
  if (is_local_) _exit(transport::kExitLostRank);
  return abandon(std::string(failure.what()));
}

int RankSession::abandon(const std::string& sentence) {
  fmt::print(stderr, "orrery: {}: {}\n", transport_->place(transport_->rank()), sentence);
  std::fflush(stderr);
  transport_->abandon(kExitSystem);
  _exit(kExitSystem);
}

RunFacts facts_of(const ChosenModel& model, const EngineInfo& engine, const RunOptions& options,
                  const std::vector<InputFile>& inputs) {
  RunFacts facts = {{"its build of orrery", input_digest_of("/proc/self/exe")}};
  if (!model.path.empty())
    facts.emplace_back("its model '" + model.path + "'", input_digest_of(model.path));
  if (const std::string& path = options.get(partition_option()); !path.empty())
    facts.emplace_back("its partition '" + path + "'", input_digest_of(path));
  facts.emplace_back("what it was asked for",
                     options_text(engine, options, model.model->tick_seconds()) + ", " +
                         parameters_text(*model.model));
  for (const InputFile& one : inputs)
    facts.emplace_back("its input file '" + one.path + "'", one.path + " " + one.digest);
  for (const auto& [what, value] : ModelAccess::equal_on_ranks(*model.model))
    facts.emplace_back(what, what + " " + value);
  facts.emplace_back("what prepare() of the model has made there", prepared_text(*model.model));
  return facts;
}

}  // namespace orrery::cli
