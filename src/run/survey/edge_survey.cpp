// SPDX-License-Identifier: Apache-2.0
#include "run/survey/edge_survey.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/duration_text.h"
#include "core/type_name.h"
#include "run/containment/faults.h"

namespace orrery {
namespace {

void note_slack(EdgeKind& kind, const Promises& promises, const EventHeader& sent, Duration delay) {
  const std::optional<Duration> declared = promises.minimum_delay(sent.sender(), sent.receiver);
  // An excluded pair counts as nearer to a breach than any delay that is too small.
  const Duration slack = declared ? delay - *declared : delay;
  const auto rank = [](const std::optional<Duration>& least, Duration room) {
    return std::pair(least.has_value(), room);
  };
  if (kind.sends > 0 && rank(declared, slack) >= rank(kind.declared, kind.slack)) return;
  kind.from = sent.sender();
  kind.to = sent.receiver;
  kind.declared = declared;
  kind.slack = slack;
}

}  // namespace

bool EdgeSurvey::note(const Key& cause, const EventHeader& sent) {
  const Duration delay = sent.time() - cause.time();
  EdgeKind& kind = kind_of(sent);
  if (!kind.to_itself) note_slack(kind, promises_, sent, delay);
  kind.smallest_delay = kind.sends == 0 ? delay : std::min(kind.smallest_delay, delay);
  ++kind.sends;
  if (kind.to_itself) return true;
  ++to_others_;
  smallest_ = std::min(smallest_.value_or(delay), delay);
  if (promises_.allow(sent.sender(), sent.receiver, delay)) return true;
  ++kind.broken;
  ++broken_;
  return false;
}

EdgeKind& EdgeSurvey::kind_of(const EventHeader& sent) {
  const LogicalProcessBase& sender = lp_(sent.sender());
  const LogicalProcessBase& receiver = lp_(sent.receiver);
  const bool to_itself = sent.sender() == sent.receiver;
  const auto [found, is_new] =
      kinds_.try_emplace({typeid(sender), sent.type, typeid(receiver), to_itself});
  EdgeKind& kind = found->second;
  if (is_new) {
    kind.sender = short_type_name(typeid(sender));
    kind.event = name_of_event(receiver, sent.type);
    kind.receiver = short_type_name(typeid(receiver));
    kind.to_itself = to_itself;
  }
  return kind;
}

std::vector<EdgeKind> EdgeSurvey::kinds() const {
  std::vector<EdgeKind> all;
  for (const auto& [key, kind] : kinds_) all.push_back(kind);
  std::sort(all.begin(), all.end(), [](const EdgeKind& a, const EdgeKind& b) {
    return std::tie(a.to_itself, a.sender, a.event, a.receiver) <
           std::tie(b.to_itself, b.sender, b.event, b.receiver);
  });
  return all;
}

std::string EdgeSurvey::conclusion() const {
  if (!smallest_) return "no LP has sent to another LP, so this run gives no bound for lookahead()";
  const std::string smallest = duration_text(*smallest_, model_.tick_seconds());
  if (broken_ > 0) {
    return fmt::format("{} of {} sends to other LPs break what the model promises", broken_,
                       to_others_);
  }
  if (!promises_.empty())
    return fmt::format("all {} sends to other LPs keep what the model promises", to_others_);
  if (*smallest_ == Duration::zero()) {
    return "the model promises no delay, and LPs have sent to others with delay 0: lookahead() "
           "cannot "
           "promise one, but the communication graph can for single pairs";
  }
  return fmt::format(
      "the model promises no delay; the smallest delay to another LP was {0}: lookahead() could "
      "promise up "
      "to {0}, if no other seed, parameter or horizon brings a smaller one",
      smallest);
}

}  // namespace orrery
