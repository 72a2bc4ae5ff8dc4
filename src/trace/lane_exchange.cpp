// SPDX-License-Identifier: Apache-2.0
#include "trace/lane_exchange.h"

#include <algorithm>
#include <utility>

#include "transport/ranks/bytes.h"

namespace orrery::trace {

using transport::ByteReader;
using transport::ByteWriter;
using transport::Parcel;

namespace {

Parcel parcel_of(const std::vector<Lane>& lanes, std::int64_t epoch_nanoseconds) {
  ByteWriter own;
  own.put(epoch_nanoseconds).put(std::uint64_t{lanes.size()});
  for (const Lane& lane : lanes) {
    own.put(lane.name).put(lane.left_out).put(std::uint64_t{lane.texts.size()});
    for (const std::string& text : lane.texts) own.put(text);
    own.put(lane.records);
  }
  return own.take();
}

Lane read_lane(ByteReader& reader, std::int64_t later_nanoseconds) {
  Lane lane;
  lane.name = reader.get_text();
  lane.left_out = reader.get<std::uint64_t>();
  for (auto texts = reader.get<std::uint64_t>(); texts > 0; --texts)
    lane.texts.push_back(reader.get_text());
  lane.records = reader.get_list<Lane::Record>();
  const auto shifted = [&](std::uint64_t time) {
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>(static_cast<std::int64_t>(time) + later_nanoseconds, 0));
  };
  for (Lane::Record& record : lane.records) {
    record.begin = shifted(record.begin);
    record.end = shifted(record.end);
  }
  return lane;
}

}  // namespace

std::vector<std::vector<Lane>> gather_lanes(transport::RankTransport& ranks,
                                            std::vector<Lane> lanes,
                                            std::int64_t epoch_nanoseconds) {
  std::vector<std::vector<Lane>> all;
  for (const Parcel& parcel : ranks.gather(parcel_of(lanes, epoch_nanoseconds))) {
    ByteReader reader(parcel);
    const std::int64_t later = reader.get<std::int64_t>() - epoch_nanoseconds;
    std::vector<Lane>& of_rank = all.emplace_back();
    for (auto count = reader.get<std::uint64_t>(); count > 0; --count)
      of_rank.push_back(read_lane(reader, later));
  }
  return all;
}

}  // namespace orrery::trace
