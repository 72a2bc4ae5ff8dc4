// SPDX-License-Identifier: Apache-2.0
#include "cli/snapshot_session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "cli/snapshot_check.h"
#include "core/duration_text.h"
#include "core/model_registry.h"
#include "core/modules.h"
#include "memory/model_heap.h"
#include "orrery/error.h"
#include "output/output_folder.h"
#include "run/containment/faults.h"
#include "run/execution/lp_executions.h"
#include "run/options/model_checks.h"
#include "run/results/metric_options.h"
#include "transport/ranks/bytes.h"
#include "transport/ranks/rank_transport.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

void tell(const std::string& sentence) {
  fmt::print(stderr, "orrery: {}\n", sentence);
}

Duration read_span(const char* flag, const std::string& text, double tick_seconds) {
  const auto span = parse_duration(text, tick_seconds);
  if (!span || *span <= Duration::zero())
    throw UsageError(
        fmt::format("{} cannot be '{}': a time above zero is expected, such as 10s "
                    "(units: {})",
                    flag, text, kDurationUnits));
  return *span;
}

double read_share(const std::string& text) {
  double share = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, share);
  if (error == std::errc() && stop == end && share > 0 && share <= 1) return share;
  throw UsageError(fmt::format(
      "--snapshot-share cannot be '{}': a number above 0 and at most 1 is expected, such as 0.1",
      text));
}

std::vector<Time> read_times_of(const std::string& list, double tick_seconds) {
  std::vector<Time> times;
  std::istringstream stream(list);
  for (std::string one; std::getline(stream, one, ',');)
    times.push_back(Time::zero() + read_span("--snapshot-at", one, tick_seconds));
  std::sort(times.begin(), times.end());
  return times;
}

std::map<std::string, std::string> map_of(const std::vector<std::string>& sets) {
  const Settings settings = settings_of(sets);
  return {settings.begin(), settings.end()};
}

/// A fork can change parameters that the model reads when it needs them, and no others.
void check_change(const Model& model, const std::string& name) {
  std::string possible;
  bool is_one = false;
  for (const ParameterBase* parameter : model.parameters()) {
    if (!parameter->read_at_use()) continue;
    possible += (possible.empty() ? "" : ", ") + parameter->name();
    is_one = is_one || parameter->name() == name;
  }
  if (is_one) return;
  for (const ParameterBase* parameter : model.parameters())
    if (parameter->name() == name)
      throw UsageError(fmt::format(
          "a fork cannot change parameter '{}': what was made from it would stay as it is; {}",
          name,
          possible.empty() ? "the model declares none that can be changed"
                           : "those that can be changed are: " + possible));
}

/// A folder with snapshots but without a report holds the only results of a run that was killed.
void refuse_unfinished(const std::string& out) {
  std::error_code unknown;
  if (out.empty() || fs::exists(fs::path(out) / kReportName, unknown)) return;
  if (!snapshot::Folder(out).numbers().empty())
    throw UsageError(
        fmt::format("folder '{0}' holds snapshots of a run that has not ended: 'orrery resume {0}' "
                    "goes on with "
                    "it, --force replaces it",
                    out));
}

}  // namespace

void SnapshotSession::declare(OptionTable& options) {
  options.group("Snapshots, for 'orrery resume' and 'orrery fork' (with --out)");
  options.value("--snapshot-every", every_, "TIME",
                "Take a snapshot at each multiple of this simulated time");
  options.value("--snapshot-at", at_, "TIME,...", "Take snapshots at these simulated times");
  options.value("--snapshot-wall", wall_, "TIME",
                "Take a snapshot after each period of this wall-clock time");
  options.value("--snapshot-share", share_, "SHARE",
                "Largest share of the run's time for snapshots of --snapshot-wall (0.03)");
  options.flag("--snapshots", on_,
               "Take a snapshot at Ctrl-C and at the signal USR1 (as all options above do)");
  options.flag("--snapshot-check", check_,
               "Resume the first snapshot in another process up to the second, and compare them");
  options.flag("--end-after-snapshot", end_after_,
               "End the run after the last snapshot of --snapshot-at");
  options.group("");
  if (resumes())
    options.value("--snapshot", number_, "N", "Number of the snapshot (the last snapshot)");
}

void SnapshotSession::fix_addresses() const {
  if (takes_snapshots()) execute_without_random_addresses();
}

void SnapshotSession::start(RunState& run, RunRequest& request) {
  ranks_ = run.ranks;
  if (resumes()) {
    start_resuming(run, request);
  } else {
    if (!run.arguments.force) refuse_unfinished(run.out);
    if (takes_snapshots()) start_taking(run.arguments);
  }
  out_ = run.out;
}

void SnapshotSession::start_taking(const RunArguments& arguments) {
  if (arguments.out.empty())
    throw UsageError(
        fmt::format("{} needs --out: snapshots lie in the folder of the results", first_flag()));
  if (end_after_ && at_.empty()) throw UsageError("--end-after-snapshot needs --snapshot-at");
  start_memory();
  facts_.parameters = map_of(effective_sets(arguments));
  note_observations(arguments);
}

void SnapshotSession::start_resuming(RunState& run, RunRequest& request) {
  const RunArguments& arguments = run.arguments;
  if (!goes_on_) refuse_others(arguments);
  start_memory();
  origin_ = goes_on_ && !arguments.out.empty() ? arguments.out : arguments.folder;
  restore_.emplace(origin_, goes_on_ ? 0 : number());
  if (is_first())
    for (const std::string& note : restore_->notes()) tell(note);
  facts_ = restore_->manifest();
  run.resumes_in_place = !is_fork();
  if (is_fork()) {
    facts_.number = 0;
    changes_ = map_of(effective_sets(arguments));
  } else {
    run.out = origin_;
  }
  note_observations(arguments);
  request = {};
  request.model = facts_.model_path.empty() ? facts_.model : facts_.model_path;
  for (const auto& [name, value] : facts_.parameters) request.sets.push_back(name + "=" + value);
}

/// Refuses options that would make the resumed run another run.
void SnapshotSession::refuse_others(const RunArguments& arguments) const {
  const auto refuse = [&](const std::string& flag, const char* why) {
    throw UsageError(
        fmt::format("'orrery {}' does not take {}: {}", is_fork() ? "fork" : "resume", flag, why));
  };
  for (const auto& [option, text] : arguments.texts) {
    if (text.empty()) continue;
    const std::string flag = option->flag();
    if (flag == "--seed" && !is_fork())
      refuse(flag, "a run that is resumed keeps its seed ('orrery fork' changes it)");
    if (flag == "--livelock") refuse(flag, "it stays what it was");
    for (const OptionBase* lasting : lasting_metric_options())
      if (option == lasting) refuse(flag, "a resumed run keeps its observations");
  }
  if (!is_fork() && !effective_sets(arguments).empty())
    refuse("--set", "a run that is resumed keeps its parameters ('orrery fork' changes some)");
  if (is_fork() && arguments.out.empty())
    throw UsageError("'orrery fork' needs --out: the folder of the new run");
  if (!is_fork() && !arguments.out.empty())
    refuse("--out", "it goes on in its own folder ('orrery fork' begins another)");
}

std::string SnapshotSession::first_flag() const {
  if (!every_.empty()) return "--snapshot-every";
  if (!at_.empty()) return "--snapshot-at";
  if (!wall_.empty()) return "--snapshot-wall";
  if (!share_.empty()) return "--snapshot-share";
  if (end_after_) return "--end-after-snapshot";
  if (check_) return "--snapshot-check";
  return on_ ? "--snapshots" : "";
}

unsigned SnapshotSession::number() const {
  if (number_.empty()) return 0;
  unsigned value = 0;
  const char* const end = number_.data() + number_.size();
  const auto [stop, error] = std::from_chars(number_.data(), end, value);
  if (error != std::errc() || stop != end || value == 0)
    throw UsageError(fmt::format(
        "--snapshot cannot be '{}': a number is expected ('orrery snapshot info DIR' shows all)",
        number_));
  return value;
}

/// Keeps the observation options in the snapshot for a later resume.
void SnapshotSession::note_observations(const RunArguments& arguments) {
  for (const OptionBase* option : metric_options())
    if (const std::string text = arguments.text(*option); !text.empty())
      facts_.observed[option->name()] = text;
}

bool SnapshotSession::is_first() const {
  return ranks_ == nullptr || ranks_->rank() == 0;
}

void SnapshotSession::start_memory() {
  memory::start_model_heap();
  if (!memory::Region::instance().is_at_fixed_place())
    throw UsageError(
        "memory for LPs could not be had where every process of this build has it, so snapshots "
        "would mean nothing elsewhere; run without them");
}

void SnapshotSession::model_chosen(RunState& run) {
  if (!takes_snapshots()) return;
  if (restore_) {
    // The LPs in the snapshot refer to data that prepare() made with this seed.
    run.model_seed = facts_.model_seed;
    return restore_->check_ground();
  }
  const ChosenModel& chosen = run.chosen;
  facts_.model_seed = run.model_seed;
  std::error_code unknown;
  facts_.model = chosen.name;
  facts_.model_path = chosen.path.empty() ? "" : fs::absolute(chosen.path, unknown).string();
  facts_.ground = snapshot::Ground::of_this_process(facts_.model_path);
  facts_.version = ORRERY_VERSION;
  if (facts_.ground.program.empty())
    throw UsageError(
        "this command was linked without a build id, so it cannot tell whether a snapshot is of "
        "the "
        "same build; link it with -Wl,--build-id");
}

void SnapshotSession::check_model(const RunState& run) const {
  const Model& model = run.model();
  if (dynamic_cast<const WorldEngine*>(run.engine.get()) == nullptr)
    throw UsageError(fmt::format(
        "engine {} can neither take nor resume snapshots, because it does not give its LPs away",
        run.info->name));
  if (memory::model_heap()->threads_started > 0)
    throw UsageError(
        "the model starts threads while it is made or prepared, so its memory lies by chance, and "
        "a "
        "snapshot would mean nothing elsewhere; let it start as many as "
        "std::thread::hardware_concurrency() says beyond one, which are none in such a run");
  const LpExecutions executions(model, Promises());
  if (!executions.all_speculative())
    throw UsageError(fmt::format(
        "the model has LPs with effects of their own ({}), which a snapshot cannot hold",
        text_of(executions)));
}

void SnapshotSession::model_prepared(RunState& run) {
  if (!restore_) return;
  restore_->restore_model();
  for (const auto& [name, value] : changes_) {
    check_change(run.model(), name);
    set_parameter(run.model(), name, value);
    facts_.changes[name] = value;
  }
  RunOptions& options = run.record.options;
  options.until = Time::from_ticks(facts_.until_ticks);
  options.seed = facts_.seed;
  options.livelock_microsteps = facts_.livelock_microsteps;
  for (const OptionBase* option : metric_options())
    if (const auto found = facts_.observed.find(option->name()); found != facts_.observed.end())
      option->read(found->second, facts_.tick_seconds, options);
}

/// Only the first rank takes signals and checks the wall-clock time for snapshots.
void SnapshotSession::check(RunState& run) {
  if (!takes_snapshots()) return;
  set_horizon(run.record.options, run.model());
  check_model(run);
  if (!is_first()) return;
  run.watching.halts = true;
  run.watching.halt_every_seconds = facts_.wall_every_seconds;
}

void SnapshotSession::set_horizon(const RunOptions& options, const Model& model) {
  if (restore_) {
    const Time was = Time::from_ticks(facts_.until_ticks);
    if (options.until > was)
      throw UsageError(fmt::format(
          "--until asks for {}, but the run went to {}, and what its LPs sent for later was "
          "dropped; "
          "begin a run with a far --until and --snapshot-at T --end-after-snapshot to have both",
          time_text(model, options.until), time_text(model, was)));
    if (Key::start_of(options.until) < facts_.cut)
      throw UsageError(fmt::format("--until asks for {}, but the snapshot is at {}, which is later",
                                   time_text(model, options.until), facts_.time()));
    restore_->set_until(options.until);
  }
  facts_.until_ticks = options.until.ticks();
  facts_.seed = options.seed;
  facts_.livelock_microsteps = options.livelock_microsteps;
  facts_.lps = model.lp_count();
  facts_.tick_seconds = model.tick_seconds();
  read_times(model);
}

/// Times that are not given stay those of the snapshot.
void SnapshotSession::read_times(const Model& model) {
  const double tick = model.tick_seconds();
  if (!every_.empty()) facts_.every_ticks = read_span("--snapshot-every", every_, tick).ticks();
  if (!wall_.empty())
    facts_.wall_every_seconds =
        1e-9 * static_cast<double>(read_span("--snapshot-wall", wall_, 1e-9).ticks());
  if (!share_.empty()) facts_.wall_share = read_share(share_);
  if (!share_.empty() && facts_.wall_every_seconds <= 0)
    throw UsageError("--snapshot-share needs --snapshot-wall: snapshots by the clock");
  if (!at_.empty()) {
    facts_.at_ticks.clear();
    for (const Time time : read_times_of(at_, tick)) facts_.at_ticks.push_back(time.ticks());
  }
  times_.every = Duration::from_ticks(facts_.every_ticks);
  for (const std::int64_t ticks : facts_.at_ticks) times_.at.push_back(Time::from_ticks(ticks));
  times_.end_after = end_after_;
  const bool at_times = facts_.every_ticks > 0 || !facts_.at_ticks.empty();
  if (check_ && (!at_times || facts_.wall_every_seconds > 0))
    throw UsageError(
        "--snapshot-check needs snapshots at simulated times (--snapshot-every or --snapshot-at), "
        "and none by the clock");
  if (times_.end_after && restore_ && times_.are_behind(facts_.cut))
    throw UsageError("--end-after-snapshot: the run is behind the last time of --snapshot-at");
}

void SnapshotSession::add_facts(RunFacts& facts) const {
  facts.emplace_back("what it was asked for",
                     !takes_snapshots()
                         ? "no snapshots"
                         : fmt::format("snapshots every {} ticks, every {} s, at {}, after number "
                                       "{}, in {}",
                                       facts_.every_ticks, facts_.wall_every_seconds,
                                       fmt::join(facts_.at_ticks, ","), facts_.number, out_));
}

RowWriter* SnapshotSession::rows(RunState& run, RowWriter* files) {
  if (run.out.empty() || !is_first()) return files;
  open(files != nullptr);
  files_ = files;
  return log_ ? &*log_ : files;
}

/// Makes the folder for snapshots, deletes those of an earlier run, and opens the log of rows.
void SnapshotSession::open(bool has_tables) {
  folder_.emplace(out_);
  if (!takes_snapshots()) return folder_->clear();  // snapshots of an earlier run
  if (!restore_ || is_fork()) {
    folder_->clear();
    folder_->make();
  } else {
    // Later snapshots are damaged, or the user chose an earlier one.
    std::vector<unsigned> kept = folder_->numbers();
    std::erase_if(kept, [&](unsigned number) { return number > facts_.number; });
    folder_->keep_only(kept);
  }
  if (!has_tables) return;
  if (is_fork() && facts_.rows_bytes > 0) {
    std::error_code error;
    fs::copy_file(snapshot::Folder(origin_).rows(), folder_->rows(), error);
    if (error)
      throw UsageError(fmt::format("cannot copy the rows of '{}': {}", origin_, error.message()));
  }
  log_.emplace(folder_->rows(), facts_.rows_bytes);
}

/// Throws UsageError if not all ranks see the same folder, since each rank writes its part there.
void SnapshotSession::share_folder() {
  if (!folder_) folder_.emplace(out_);
  const std::string path = folder_->path() + "/ranks.part";
  transport::ByteWriter own;
  if (is_first()) {
    const std::string text = fmt::format(
        "{} {}\n", getpid(), std::chrono::steady_clock::now().time_since_epoch().count());
    std::ofstream(path) << text;
    own.put(text);
  }
  const std::vector<transport::Parcel> told = ranks_->gather_everywhere(own.take());
  std::ifstream file(path);
  const std::string seen(std::istreambuf_iterator<char>(file), {});
  transport::ByteWriter finding;
  finding.put(seen == transport::ByteReader(told[0]).get_text());
  const std::vector<transport::Parcel> found = ranks_->gather_everywhere(finding.take());
  std::error_code ignored;
  if (is_first()) fs::remove(path, ignored);
  for (unsigned rank = 0; rank < found.size(); ++rank)
    if (!transport::ByteReader(found[rank]).get<bool>())
      throw UsageError(fmt::format(
          "{} does not see folder '{}' of {}: snapshots of a run over ranks need a folder that "
          "all of them have",
          ranks_->place(rank), folder_->path(), ranks_->place(0)));
}

void SnapshotSession::begin(RunState& run) {
  if (!takes_snapshots()) return;
  facts_.rank = 0;
  facts_.ranks = 1;
  if (ranks_ != nullptr) {
    facts_.rank = ranks_->rank();
    facts_.ranks = ranks_->ranks();
    memory::Region::instance().keep_to_share(facts_.rank, facts_.ranks);
    share_folder();
  }
  snapshot::RowHooks rows;
  if (log_) {
    rows.flush = [this, store = run.rows] {
      store->drain();
      return log_->flush();
    };
    rows.synchronise = [this] { log_->synchronise(); };
  }
  snapshot::Check check;
  if (check_ && is_first())
    check = [out = out_](unsigned first, unsigned second) {
      return check_snapshot(out, first, second);
    };
  const std::string who = is_first() ? "" : ranks_->place(facts_.rank) + ": ";
  taker_ = std::make_unique<snapshot::SnapshotTaker>(
      *folder_, facts_, times_, run.control, std::move(rows),
      [who](const std::string& sentence) { tell(who + sentence); }, std::move(check));
  run.control.halts = taker_.get();
  if (restore_) run.control.origin = &*restore_;
}

void SnapshotSession::rows_closed(RunState&) {
  if (log_) RowLog::replay(folder_->rows(), log_->flush(), *files_);
}

void SnapshotSession::end(RunState& run) {
  if (!takes_snapshots()) return;
  RunRecord::Snapshots told;
  if (restore_) {
    told.resumed = restore_->manifest().time();
    if (is_fork()) told.forked = origin_;
  }
  told.last = taker_->last();
  if (told.last > 0) told.last_time = taker_->last_time();
  if (taker_->ended_by_plan()) run.add_note("the run ended after its snapshot, as asked for");
  run.record.snapshots = std::move(told);
}

void SnapshotSession::published(RunState& run) {
  const RunRecord& record = run.record;
  if (!record.snapshots || record.snapshots->last == 0 || record.complete()) return;
  run.farewell +=
      fmt::format("'orrery resume {}' goes on from {}\n", out_, record.snapshots->last_time);
}

}  // namespace orrery::cli
