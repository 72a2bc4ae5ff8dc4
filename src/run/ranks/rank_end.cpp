// SPDX-License-Identifier: Apache-2.0
#include "run/ranks/rank_end.h"

#include <utility>

#include "run/containment/frame_names.h"
#include "transport/ranks/bytes.h"

namespace orrery {
namespace {

transport::Parcel written(const RankEndMessage& message) {
  const RankEndFacts& end = message.facts;
  transport::ByteWriter writer;
  writer.put(end.executed).put(end.committed);
  writer.put(end.trail_instant).put(end.trail).put(end.fault.has_value());
  if (end.fault) writer.put(end.fault->lp).put(end.fault->sentence).put(end.fault->frames);
  writer.put(message.counters);
  return writer.take();
}

RankEndMessage read(const transport::Parcel& parcel) {
  transport::ByteReader reader(parcel);
  RankEndMessage message;
  RankEndFacts& end = message.facts;
  end.executed = reader.get<std::uint64_t>();
  end.committed = reader.get<std::uint64_t>();
  end.trail_instant = reader.get<Time>();
  end.trail = reader.get_list<LpId>();
  if (reader.get<bool>()) {
    RankEndFacts::Fault& fault = end.fault.emplace();
    fault.lp = reader.get<LpId>();
    fault.sentence = reader.get_text();
    fault.frames = reader.get_text();
  }
  message.counters = reader.get_list<std::byte>();
  return message;
}

}  // namespace

void RankEndFacts::note(const HandlerFault* one) {
  if (one != nullptr) fault = {one->lp, one->sentence, frame_lines(one->trace.frames)};
}

std::vector<RankEndMessage> share_end_messages(transport::RankTransport& ranks,
                                               const RankEndMessage& own) {
  std::vector<RankEndMessage> all;
  for (const transport::Parcel& parcel : ranks.gather_everywhere(written(own)))
    all.push_back(read(parcel));
  return all;
}

void add_end(const RankEndFacts& end, std::uint32_t livelock_limit, FaultReport& report) {
  LivelockTrail trail(livelock_limit);
  trail.merge(end.trail_instant, end.trail);
  report.add(trail);
  if (end.fault) report.add(end.fault->lp, end.fault->sentence, end.fault->frames);
}

}  // namespace orrery
