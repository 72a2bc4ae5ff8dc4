// SPDX-License-Identifier: Apache-2.0
#include "engine/conservative/rank_link.h"

namespace orrery::conservative {

RankLink::RankLink(transport::RankTransport& transport, unsigned workers, EventDepot& depot,
                   std::size_t channel_messages)
    : Link(transport, workers, meetings, channel_messages), workers_(workers), pool_(depot) {
  open([this](unsigned from, const transport::Parcel& parcel) { take(from, parcel); });
}

void RankLink::take(unsigned from, const transport::Parcel& parcel) {
  take_records(parcel, [this](const EventHeader& header, ranks::NoExtra, const void* payload) {
    push(0, {PlainEvent::make(pool_, header, payload)});
  });
  give_back(from, parcel);
}

}  // namespace orrery::conservative
