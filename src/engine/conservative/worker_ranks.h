// SPDX-License-Identifier: Apache-2.0
//
// Worker: sending events and promises to other ranks (rank_link.h). Included by worker.h only.
#pragma once

namespace orrery::conservative {

/// The event counts as sent from now on; the receiver counts it when it takes it from its ring.
template <class Pending>
template <class Payload>
void Worker<Pending>::send_to_rank(unsigned node, const EventHeader& header,
                                   const Payload& payload) {
  const memory::PlatformMode platform;
  shared_.rank_link->send(index_, shared_.partition.rank_of_node(node), header, {}, payload,
                          member_.round());
  ++statistics_.sent;
}

template <class Pending>
void Worker<Pending>::begin_rank_period() {
  RankLink& rank_link = *shared_.rank_link;
  rank_link.promise_to_ranks(index_, promised_to_ranks_ = promised_);
  rank_link.egress(index_).begin_period();
  if (index_ == 0) rank_link.begin_period();
}

/// Called after a batch, or after a look that found nothing to execute: posts parcels, makes the
/// promise to other ranks, and advances the transport.
template <class Pending>
void Worker<Pending>::deal_with_others(bool executed) {
  RankLink& rank_link = *shared_.rank_link;
  transport::Egress& egress = rank_link.egress(index_);
  if (!executed || egress.is_old()) egress.post_all(member_.round());
  if (egress.is_empty() && promised_ > promised_to_ranks_)
    rank_link.promise_to_ranks(index_, promised_to_ranks_ = promised_);
  const std::uint64_t now = read_cycles();
  if (executed && now < next_progress_cycles_) return;
  if (!shared_.control.ranks->looks_are_cheap())
    next_progress_cycles_ = now + cycles_in(kProgressSeconds);
  rank_link.progress(!executed);
}

}  // namespace orrery::conservative
