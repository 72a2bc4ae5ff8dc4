// SPDX-License-Identifier: Apache-2.0
#include "engine/auto/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/assert.h"
#include "engine/auto/settings.h"
#include "orrery/error.h"
#include "run/options/option_forms.h"
#include "run/threads/team.h"

namespace orrery::automatic {
namespace {

/// An entry of --candidates.
struct Named {
  const EngineInfo* info;
  std::optional<unsigned> workers;
};

const EngineInfo& eligible(const std::string& name) {
  const EngineInfo& info = find_engine(name);
  const std::vector<const EngineInfo*> all = eligible_engines();
  if (std::find(all.begin(), all.end(), &info) != all.end()) return info;
  std::vector<std::string> names;
  for (const EngineInfo* one : all) names.push_back(one->name);
  throw UsageError(fmt::format("{} cannot choose engine {}; it can choose {}", kCandidates.flag(),
                               name, listed(names)));
}

std::vector<Named> parse(const std::string& text) {
  std::vector<Named> named;
  for (const std::string& entry : option_forms::read_list(kCandidates.flag(), text)) {
    const std::size_t colon = std::min(entry.find(':'), entry.size());
    Named one{&eligible(entry.substr(0, colon)), {}};
    if (colon < entry.size()) {
      one.workers = static_cast<unsigned>(
          option_forms::read_count(kCandidates.flag(), entry.substr(colon + 1), 1, kMostWorkers));
      if (*one.workers > 1 && !one.info->honours(workers_option()))
        throw UsageError(fmt::format("{}: engine {} has one worker, not {}", kCandidates.flag(),
                                     one.info->name, *one.workers));
    }
    named.push_back(one);
  }
  return named;
}

/// The numbers of workers to try: `most`, half of it, and so on, down to 2, or to 1 on each of
/// several ranks. Halves, since smaller steps would be too small to measure.
std::vector<unsigned> worker_counts(const EngineInfo& info, unsigned most, bool over_ranks) {
  if (!info.honours(workers_option())) return {1};
  const unsigned fewest = over_ranks ? 1 : 2;
  std::vector<unsigned> counts;
  for (unsigned workers = most; workers >= fewest; workers /= 2) counts.push_back(workers);
  return counts;
}

/// Puts the candidate to begin with first: one with one worker. With several ranks the order stays,
/// most workers first, since one worker never executes alone there.
void put_first(std::vector<Candidate>& all, bool over_ranks) {
  const auto first =
      std::find_if(all.begin(), all.end(), [](const Candidate& one) { return one.workers == 1; });
  if (first != all.end() && !over_ranks) std::rotate(all.begin(), first, first + 1);
}

}  // namespace

std::string Candidate::text() const {
  if (!info->honours(workers_option())) return info->name;
  return fmt::format("{} with {} worker{}", info->name, workers, workers == 1 ? "" : "s");
}

std::vector<const EngineInfo*> eligible_engines() {
  std::vector<const EngineInfo*> all;
  for (const EngineInfo& info : engines()) {
    if (info.use != EngineUse::results || info.name == kName) continue;
    const std::unique_ptr<Engine> engine = info.make();
    if (dynamic_cast<WorldEngine*>(engine.get()) != nullptr) all.push_back(&info);
  }
  return all;
}

void check_candidates(const std::string& text) {
  parse(text);
}

Candidates::Candidates(const Model& model, const RunOptions& options,
                       std::vector<std::string>& notes) {
  const unsigned most = count_useful_workers(options, model);
  const bool over_ranks = options.place.ranks > 1;
  std::vector<Named> named = parse(options.get(kCandidates));
  const bool asked_for = !named.empty();
  if (!asked_for)
    for (const EngineInfo* info : eligible_engines())
      if (!over_ranks || info->make()->spans_ranks()) named.push_back({info, {}});
  std::vector<std::string> refusals;
  for (const Named& one : named) {
    std::vector<unsigned> counts = worker_counts(*one.info, most, over_ranks);
    if (one.workers)
      counts = {static_cast<unsigned>(std::min<std::uint64_t>(*one.workers, model.lp_count()))};
    if (!counts.empty()) add(*one.info, counts, model, options, refusals);
  }
  if (all_.empty()) {
    throw UsageError(fmt::format("no engine is left to choose ({}); the reasons: {}",
                                 kCandidates.flag(), listed(refusals)));
  }
  // A user who did not name an engine does not miss it, unless only one candidate is left.
  if (asked_for || all_.size() == 1) notes.insert(notes.end(), refusals.begin(), refusals.end());
  put_first(all_, over_ranks);
}

std::size_t Candidates::find(unsigned family, unsigned turn) const {
  std::size_t found = all_.size();
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (all_[i].family == family && all_[i].turn <= turn &&
        (found == all_.size() || all_[i].turn > all_[found].turn))
      found = i;
  ORRERY_ASSERT(found < all_.size(), "all ranks have the same engines to choose among");
  return found;
}

void Candidates::drop(unsigned family) {
  std::erase_if(all_, [&](const Candidate& one) { return one.family == family; });
}

void Candidates::add(const EngineInfo& info, const std::vector<unsigned>& workers,
                     const Model& model, const RunOptions& options,
                     std::vector<std::string>& refusals) {
  std::unique_ptr<Engine> engine = info.make();
  const bool fits = options.place.ranks == 1 || engine->spans_ranks();
  const std::string why = fits ? engine->refusal(model, options) : "it runs in one process";
  if (!why.empty()) {
    refusals.push_back(fmt::format("engine {} is not tried: {}", info.name, why));
    return;
  }
  const auto same = std::find_if(all_.begin(), all_.end(),
                                 [&](const Candidate& one) { return one.info == &info; });
  const unsigned family =
      same != all_.end() ? same->family : static_cast<unsigned>(engines_.size());
  if (same == all_.end()) engines_.push_back(std::move(engine));
  auto* const taker = dynamic_cast<WorldEngine*>(engines_[family].get());
  auto turn = static_cast<unsigned>(std::count_if(
      all_.begin(), all_.end(), [&](const Candidate& one) { return one.family == family; }));
  for (const unsigned count : workers) all_.push_back({&info, taker, family, turn++, count});
}

unsigned Candidates::most_workers() const {
  return std::max_element(all_.begin(), all_.end(),
                          [](const auto& a, const auto& b) { return a.workers < b.workers; })
      ->workers;
}

RunOptions options_for(const Candidate& candidate, const RunOptions& options) {
  RunOptions own = options;
  own.workers = candidate.workers;
  return own;
}

std::string note_partly_used(const std::vector<Candidate>& candidates, const RunOptions& options) {
  std::vector<const EngineInfo*> infos;
  for (const Candidate& one : candidates)
    if (std::find(infos.begin(), infos.end(), one.info) == infos.end()) infos.push_back(one.info);
  std::vector<std::string> clauses;
  for (const EngineInfo* info : infos) {
    OptionList only;
    for (const OptionBase* option : all_options()) {
      if (option == &workers_option() || !option->asked(options) || !info->honours(*option))
        continue;
      const auto uses = [&](const EngineInfo* other) { return other->honours(*option); };
      if (std::count_if(infos.begin(), infos.end(), uses) == 1 && infos.size() > 1)
        only.push_back(option);
    }
    if (!only.empty())
      clauses.push_back(fmt::format("only engine {} uses {}", info->name, flags_text(only)));
  }
  return clauses.empty() ? std::string() : "of the engines that may be chosen " + listed(clauses);
}

}  // namespace orrery::automatic
