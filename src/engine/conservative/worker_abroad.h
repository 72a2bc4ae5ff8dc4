// SPDX-License-Identifier: Apache-2.0
//
// Worker: sending events and promises to other ranks (liaison.h). Included by worker.h only.
#pragma once

namespace orrery::conservative {

/// The event counts as sent from now on; the receiver counts it when it takes it from its ring.
template <class Pending>
template <class Payload>
void Worker<Pending>::send_abroad(unsigned node, const EventHeader& header,
                                  const Payload& payload) {
  const memory::PlatformMode platform;
  shared_.liaison->send(index_, shared_.partition.rank_of_node(node), header, payload,
                        member_.round());
  ++statistics_.sent;
}

template <class Pending>
void Worker<Pending>::begin_period_abroad() {
  Liaison& liaison = *shared_.liaison;
  liaison.promise_abroad(index_, promised_abroad_ = promised_);
  liaison.egress(index_).begin_period();
  if (index_ == 0) liaison.begin_period();
}

/// Called after a batch, or after a look that found nothing to execute: posts parcels, makes the
/// promise to other ranks, and advances the transport.
template <class Pending>
void Worker<Pending>::deal_with_others(bool executed) {
  Liaison& liaison = *shared_.liaison;
  transport::Egress& egress = liaison.egress(index_);
  if (!executed || egress.is_old()) egress.post_all(member_.round());
  if (egress.is_empty() && promised_ > promised_abroad_)
    liaison.promise_abroad(index_, promised_abroad_ = promised_);
  const std::uint64_t now = read_cycles();
  if (executed && now < next_progress_cycles_) return;
  if (!shared_.control.ranks->looks_are_cheap())
    next_progress_cycles_ = now + cycles_in(kProgressSeconds);
  liaison.progress(!executed);
}

}  // namespace orrery::conservative
