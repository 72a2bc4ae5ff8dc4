// SPDX-License-Identifier: Apache-2.0
#include "engine/auto/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/auto/settings.h"
#include "orrery/error.h"
#include "run/option_forms.h"
#include "run/team.h"

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

/// Halves of the most, down to 2: a step to half as many is large enough to be measured.
std::vector<unsigned> worker_counts(const EngineInfo& info, unsigned most) {
  if (!info.honours(workers_option())) return {1};
  std::vector<unsigned> counts;
  for (unsigned workers = most; workers > 1; workers /= 2) counts.push_back(workers);
  return counts;
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
  const unsigned most = count_workers(options, model);
  std::vector<Named> named = parse(options.get(kCandidates));
  const bool asked_for = !named.empty();
  if (!asked_for)
    for (const EngineInfo* info : eligible_engines()) named.push_back({info, {}});
  std::vector<std::string> refusals;
  for (const Named& one : named) {
    std::vector<unsigned> counts = worker_counts(*one.info, most);
    if (one.workers)
      counts = {static_cast<unsigned>(std::min<std::uint64_t>(*one.workers, model.lp_count()))};
    if (!counts.empty()) add(*one.info, counts, model, options, refusals);
  }
  if (all_.empty()) {
    throw UsageError(fmt::format("no engine is left to choose ({}); the reasons: {}",
                                 kCandidates.flag(), listed(refusals)));
  }
  // Who did not name it does not miss an engine, unless it would have been the only other one.
  if (asked_for || all_.size() == 1) notes.insert(notes.end(), refusals.begin(), refusals.end());
  const auto first =
      std::find_if(all_.begin(), all_.end(), [](const Candidate& one) { return one.workers == 1; });
  if (first != all_.end()) std::rotate(all_.begin(), first, first + 1);
}

void Candidates::add(const EngineInfo& info, const std::vector<unsigned>& workers,
                     const Model& model, const RunOptions& options,
                     std::vector<std::string>& refusals) {
  std::unique_ptr<Engine> engine = info.make();
  if (const std::string why = engine->refusal(model, options); !why.empty()) {
    refusals.push_back(fmt::format("engine {} is not tried: {}", info.name, why));
    return;
  }
  const auto same = std::find_if(all_.begin(), all_.end(),
                                 [&](const Candidate& one) { return one.info == &info; });
  const unsigned family =
      same != all_.end() ? same->family : static_cast<unsigned>(engines_.size());
  if (same == all_.end()) engines_.push_back(std::move(engine));
  auto* const taker = dynamic_cast<WorldEngine*>(engines_[family].get());
  for (const unsigned count : workers) all_.push_back({&info, taker, family, count});
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
