// SPDX-License-Identifier: Apache-2.0
//
// A model: parameters, a number of LPs, a factory for them, and declarations of its results. It is
// set up once and constant during a run; LPs may keep a reference to it. `ORRERY_MODEL` registers a
// model by name, in the orrery command or in a shared object that `orrery run ./mine.so` loads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "orrery/capture.h"
#include "orrery/error.h"
#include "orrery/event.h"
#include "orrery/live_picture.h"
#include "orrery/logical_process.h"
#include "orrery/parameter.h"
#include "orrery/random_stream.h"
#include "orrery/results.h"
#include "orrery/time.h"

namespace orrery {

/// Which LPs send to which: a hint for placing LPs on workers so that few events cross between
/// workers, and the model's promises of minimum delays. Parallel edges add up their weights. A run
/// throws a UsageError for LPs that do not exist, a weight of 0, a negative delay, and a promise
/// from an LP to itself: an LP may always send to itself, at any delay.
class CommunicationGraph {
 public:
  struct Edge {
    LpId from, to;
    std::uint32_t weight;
    bool promised = false;   ///< declared with a minimum delay, for this direction only
    Duration minimum_delay;  ///< of a promise
  };
  /// A hint for the placement, without direction and without a promise. `weight`: relative number
  /// of events, 1 or more.
  void connect(LpId from, LpId to, std::uint32_t weight = 1) {
    edges_.push_back({from, to, weight, false, Duration::zero()});
  }
  /// The same, and a promise: every event from `from` to `to` has at least this delay, 0 or more. A
  /// send that breaks the promise is a model fault. All promises for a pair hold, so the largest
  /// counts.
  void connect(LpId from, LpId to, Duration minimum_delay, std::uint32_t weight = 1) {
    edges_.push_back({from, to, weight, true, minimum_delay});
  }
  /// Promises that LPs without an edge do not send to each other. LPs with a hint may send in both
  /// directions at any delay, LPs with a promise in its direction.
  void complete() { complete_ = true; }

  const std::vector<Edge>& edges() const { return edges_; }
  bool is_complete() const { return complete_; }

 private:
  std::vector<Edge> edges_;
  bool complete_ = false;
};

/// How an optimistic engine may execute the events of an LP.
enum class LpExecution : std::uint8_t {
  /// Speculatively: events executed too early are rolled back and executed again.
  speculative,
  /// Once, without rollback: a part of the LP's state lies outside its memory (a virtual machine, a
  /// device, a library with state of its own) and cannot be restored. Its effects stay inside the
  /// run: an event is executed as soon as it is certain that it happens and that nothing comes
  /// before it at this LP. If the run ends with a fault, the LP may have executed later events.
  confined,
  /// Once, and the LP acts on the outside (a socket, a file, a screen): an event is executed after
  /// all earlier events of all LPs, if none of them has failed.
  committed,
};

class Model {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  /// Called once, after the parameters are set and before all other calls: reads input files,
  /// builds shared tables. Throws UsageError for invalid input.
  virtual void prepare() {}
  /// LPs are numbered 0 .. lp_count() - 1; at least 1, at most 2^32 - 2.
  virtual std::uint64_t lp_count() const = 0;
  /// Makes one LP. Memory that it allocates belongs to the LP and takes part in rollback. May be
  /// called from several threads at once (for different LPs).
  virtual std::unique_ptr<LogicalProcessBase> create(LpId id) const = 0;
  /// A name of an LP for people: messages, traces, charts, tables and pages show it, and patterns on
  /// the command line select LPs by it ("router*"). "": none, and the LP's number is shown. UTF-8
  /// without control characters, at most 256 bytes. LPs may share a name. Called whenever a name is
  /// needed, by any thread, and must return the same each time.
  virtual std::string name_of(LpId) const { return {}; }
  /// A promise for all pairs of different LPs: every event to another LP has at least this delay.
  /// Zero: no promise. A send that breaks the promise is a model fault. Promises for single pairs
  /// are part of the communication graph; if both exist for a pair, both hold.
  virtual Duration lookahead() const { return Duration::zero(); }
  /// How the events of an LP may be executed. Called at the start of a run, perhaps more than once,
  /// and must return the same each time. Without speculation the three values differ only in the
  /// order of execution in wall time; results never depend on them. The checker executes events of
  /// LPs that are not speculative only once, and checks less of them.
  virtual LpExecution execution_of(LpId) const { return LpExecution::speculative; }
  /// Of an LP that is not speculative: whether one thread must execute all its events, because the
  /// LP holds state that belongs to a thread. Other threads may call its start(), its finish() and
  /// its destructor. Such an LP is never moved, and the engine `auto` cannot hand the run over.
  virtual bool stays_on_thread(LpId) const { return false; }
  /// Why a run of this model cannot be divided among several processes, as a sentence without a
  /// full stop for the user; "" if it can. Called after the parameters are set, before prepare().
  virtual std::string refuses_ranks() const { return {}; }
  /// Files and folders that an LP leaves on its own (the console of a virtual machine), as absolute
  /// paths. In a run over ranks each rank has its paths, which rank() helps to tell apart. At the end
  /// of the run all files are brought to the paths of rank 0, one for one, and replace what lies
  /// there. Only regular files and folders are. Called after prepare(), and must return equally many
  /// on all ranks.
  virtual std::vector<std::string> leaves(LpId) const { return {}; }
  /// Optional; with an empty graph LPs are placed in contiguous blocks. Called at the start of a
  /// run, perhaps more than once, and must return the same each time.
  virtual void communication(CommunicationGraph&) const {}
  /// The horizon of a run without --until: events at or after it are not handled.
  virtual Time default_horizon() const { return Time::zero() + Duration::seconds(100); }
  /// Length of a tick in seconds.
  virtual double tick_seconds() const { return 1e-9; }
  /// Adds derived results at the end of a run. `end`: the time at which the run ended.
  virtual void report(Report&, Time end) const { static_cast<void>(end); }
  /// A picture for the page of --live, which is called for about once a second while somebody looks.
  /// `lps` has the states of the LPs before `now`, between two events.
  virtual LivePicture live_picture(const LpsNow& lps, Time now) const {
    static_cast<void>(lps), static_cast<void>(now);
    return {};
  }

  const std::vector<ParameterBase*>& parameters() const { return parameters_; }
  const std::vector<const Metric*>& metrics() const { return metrics_; }
  /// For engines: bytes of an LP's state of all metrics.
  std::uint32_t metric_bytes() const { return metric_bytes_; }
  const std::vector<const Table*>& tables() const { return tables_; }
  const std::vector<const Capture*>& captures() const { return captures_; }
  /// For engines: whether handlers may have rows, of tables or of captures.
  bool has_rows() const { return !tables_.empty() || !captures_.empty(); }
  const std::vector<std::string>& notes() const { return notes_; }

 protected:
  /// For prepare(): a remark about the input that is no error but that the user should know. It is
  /// shown after the run and stands in the report.
  void note(std::string sentence) { notes_.push_back(std::move(sentence)); }
  /// For prepare(): the number of this process among the ranks of the run, and their number.
  unsigned rank() const { return rank_; }
  unsigned ranks() const { return ranks_; }
  /// For prepare(): the seed of the run, which random() uses.
  std::uint64_t seed() const { return seed_; }
  /// For prepare(): results depend on something beyond input files and parameters. Ranks with
  /// different values are refused, with `what`: "the program 'tool'".
  void must_be_equal(std::string what, std::string value) {
    equal_on_ranks_.emplace_back(std::move(what), std::move(value));
  }
  /// For prepare() and create(): random numbers by name, which depend only on the run's seed,
  /// neither on the order of calls nor on the thread (see orrery/random_stream.h). In create(),
  /// name the LP: random("home", id). Each call begins with the first number of the item. These
  /// numbers differ from those that LPs draw by the same name. A resumed or forked run keeps the
  /// numbers drawn at its start. Throws std::invalid_argument for 2^36 and above.
  Random random(RandomName name, std::uint64_t item = 0) const {
    constexpr std::uint32_t kNoLp = 0xffffffff;
    return RandomStream::item(seed_, kNoLp, RandomStream::Kind::model, name, item);
  }

 private:
  friend class ParameterBase;
  friend class Metric;
  friend class Table;
  friend class Capture;
  friend struct ModelAccess;
  std::vector<ParameterBase*> parameters_;
  std::vector<const Metric*> metrics_;
  std::uint32_t metric_bytes_ = 0;
  std::vector<const Table*> tables_;
  std::vector<const Capture*> captures_;
  std::vector<std::string> notes_;
  std::vector<std::pair<std::string, std::string>> equal_on_ranks_;
  std::uint64_t seed_ = 1;  // of the run
  unsigned rank_ = 0, ranks_ = 1;
};

/// The path of the folder or file `name` ("traffic/sioux-falls_net.tntp") among the files that ship
/// with the models, searched in $ORRERY_DATA, beside the installed command, and in the source tree.
/// Returns an empty string if there is none.
std::string find_model_data(std::string_view name);

namespace detail {

/// Incremented with every change of the public headers that breaks compiled models.
inline constexpr int kAbiVersion = 11;

using ModelFactory = std::unique_ptr<Model> (*)();
void register_model(const char* name, const char* summary, ModelFactory factory, int abi_version);

template <class M>
struct ModelRegistration {
  static constexpr bool kIsModel = std::is_base_of_v<Model, M>;
  static constexpr bool kIsComplete = kIsModel && !std::is_abstract_v<M>;
  static constexpr bool kCanBeMade = kIsComplete && std::is_default_constructible_v<M>;
  static_assert(kIsModel, "ORRERY_MODEL needs a class that is publicly derived from orrery::Model");
  static_assert(kIsComplete || !kIsModel,
                "a model overrides 'std::uint64_t lp_count() const' and "
                "'std::unique_ptr<orrery::LogicalProcessBase> create(orrery::LpId id) const'");
  static_assert(kCanBeMade || !kIsComplete,
                "a model has a public constructor without arguments: what it needs to know are "
                "parameters");

  ModelRegistration(const char* name, const char* summary) {
    if constexpr (kCanBeMade) {
      register_model(
          name, summary, []() -> std::unique_ptr<Model> { return std::make_unique<M>(); },
          kAbiVersion);
    }
  }
};

}  // namespace detail
}  // namespace orrery

/// At namespace scope, once per model: its class, its name on the command line, and a one-line
/// summary.
#define ORRERY_MODEL(ModelClass, name, summary) \
  ORRERY_DETAIL_MODEL_IN_PLACE(ModelClass, name, summary, __COUNTER__)
#define ORRERY_DETAIL_MODEL_IN_PLACE(ModelClass, name, summary, place) \
  ORRERY_DETAIL_REGISTER_MODEL(ModelClass, name, summary, place)
#define ORRERY_DETAIL_REGISTER_MODEL(ModelClass, name, summary, place)                             \
  static const ::orrery::detail::ModelRegistration<ModelClass> orrery_model_registration_##place { \
    name, summary                                                                                  \
  }
