// SPDX-License-Identifier: Apache-2.0
//
// The model as a whole: computes the shared data from the parameters, and results from the metrics.
#include <algorithm>
#include <string>

#include "model.h"
#include "station.h"

namespace wireless {
namespace {

constexpr std::int64_t kMostAllToAll = 4096;  // stations; the route table has the square of this

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0.0;
}

}  // namespace

void Wireless::prepare() {
  check_relations();
  mode_ = access.value() == "csma"    ? AccessMode::csma
          : access.value() == "aloha" ? AccessMode::aloha
                                      : AccessMode::slotted_aloha;
  data_rate_ = &rate_of(rate);
  ack_rate_ = &acknowledgement_rate(*data_rate_);
  to_gateways_ = traffic.value() == "gateway";
  set_receiver();
  // A link is used only if it would also work with its power divided by this reserve.
  const double reserve = ratio_of_db(link_margin);
  network_ = Network(plan(), [&](double power_w) { return frame_cost(power_w / reserve); });
  set_durations();
}

void Wireless::check_relations() const {
  if (gateways > stations) {
    throw orrery::UsageError("gateways=" + gateways.value_text() + " are more than stations=" +
                             stations.value_text() + "; a gateway is one of the stations");
  }
  if (traffic.value() == "random" && stations > kMostAllToAll) {
    throw orrery::UsageError(
        "traffic=random keeps a route for each pair of stations, so it takes "
        "at most " +
        std::to_string(kMostAllToAll) + " of them, not " + stations.value_text() +
        "; use traffic=gateway");
  }
  if (floor > kBasicRate.sensitivity_dbm || floor > carrier_sense) {
    throw orrery::UsageError("floor=" + floor.value_text() +
                             " would leave out signals that a "
                             "station receives (from -82 dBm) or senses (carrier_sense=" +
                             carrier_sense.value_text() + "); choose a lower floor");
  }
}

void Wireless::set_receiver() {
  has_fading_ = fading.value() == "rayleigh";
  busy_from_w_ = watts_of_dbm(carrier_sense);
  receiver_ = ReceiverSettings::of(reception.value() == "collision"   ? Judgement::collision
                                   : reception.value() == "threshold" ? Judgement::threshold
                                                                      : Judgement::error_rate);
  data_demand_ = Demand::of(*data_rate_);
  ack_demand_ = Demand::of(*ack_rate_);
}

Plan Wireless::plan() const {
  Plan plan;
  plan.layout = layout;
  plan.stations = static_cast<std::uint32_t>(stations.value());
  plan.spacing_m = spacing;
  plan.seed = static_cast<std::uint64_t>(layout_seed.value());
  plan.loss = PathLoss::at(orrery::math::product(frequency, 1e9), path_loss);
  plan.power_dbm = power;
  plan.floor_dbm = floor;
  plan.shadowing_db = shadowing;
  plan.gateways = static_cast<std::uint32_t>(gateways.value());
  plan.all_destinations = !to_gateways_;
  return plan;
}

/// Expected transmissions of a frame over a link without interference (ETX: De Couto, Aguayo,
/// Bicket, Morris, "A high-throughput path metric for multi-hop wireless routing", MobiCom 2003); 0
/// if less than half of the frames are received.
double Wireless::frame_cost(double power_w) const {
  if (power_w < receiver_.sensitivity_w) return 0.0;
  if (receiver_.judgement == Judgement::collision) return 1.0;
  const double snr = power_w / receiver_.noise_w, required = data_demand_.required;
  if (receiver_.judgement == Judgement::threshold) return snr >= required ? 1.0 : 0.0;
  const double bits = 8.0 * static_cast<double>(payload.value() + kHeaderBytes);
  const double right = orrery::math::log(1.0 - bit_error(snr, required));
  const double success = orrery::math::exp(bits * right);
  return success >= 0.5 ? 1.0 / success : 0.0;
}

void Wireless::set_durations() {
  ack_airtime_ = airtime(*ack_rate_, kAckBytes);
  const bool some_small = small_share > 0, some_large = small_share < 1;
  const auto longest = static_cast<std::uint32_t>(
      std::max(some_large ? payload.value() : 0, some_small ? small_payload.value() : 0));
  exchange_slot_ = data_airtime(longest) + network_.longest_delay() + kMacProcessing + kTurnaround;
  if (acknowledge) exchange_slot_ += ack_wait() + network_.longest_delay();
  const double mean_bits =
      8.0 * (orrery::math::product(1.0 - small_share, static_cast<double>(payload.value())) +
             orrery::math::product(small_share, static_cast<double>(small_payload.value())));
  seconds_between_packets_ = load > 0 ? mean_bits / orrery::math::product(load, 1000.0) : 0.0;
}

std::unique_ptr<orrery::LogicalProcessBase> Wireless::create(LpId id) const {
  return std::make_unique<Station>(*this, id);
}

void Wireless::communication(orrery::CommunicationGraph& graph) const {
  static_assert(kTurnaround <= kSifs, "an acknowledgement leaves no sooner than a frame");
  graph.complete();
  for (LpId id = 0; id < network_.stations(); ++id)
    for (const Link& link : network_.links_of(id))
      graph.connect(link.from, link.to, kTurnaround + link.delay);
}

void Wireless::report(orrery::Report& report, Time end) const {
  const double seconds = std::max(0.0, (end - Time::zero() - warm_up).to_seconds());
  const auto sum = [&](const Metric& metric) { return report.total(metric).sum; };
  const double tried = sum(attempts);
  report.value("throughput", ratio(sum(delivered_bits), seconds) / 1e6, "Mb/s",
               "payload that reached its destination");
  report.value("throughput_per_station",
               ratio(sum(delivered_bits), seconds) / 1e3 / static_cast<double>(stations.value()),
               "kb/s", "the same over the number of stations");
  report.value("delivery_ratio", ratio(sum(delivered), sum(generated)), "",
               "packets delivered / packets made");
  report.value("loss_ratio", ratio(acknowledge ? sum(failed) : tried - sum(received), tried), "",
               "transmissions of data frames that were not acknowledged (without "
               "acknowledgements: not received)");
  report.value("collision_ratio", ratio(sum(collisions) + sum(missed), tried), "",
               "data frames lost to other signals or to a receiver that was not free");
  report.value("transmissions_per_packet", ratio(tried, sum(delivered)), "",
               "data frames transmitted for each packet delivered, over all its links");
  report.value("airtime_utilisation", report.total(airtime_share).mean(), "",
               "share of the time that a station transmits, averaged over stations");
  report.value("busy_share", report.total(busy_share).mean(), "",
               "share of the time that a station finds the medium busy, averaged over stations");
  report.value("good_airtime_share",
               ratio(sum(good_airtime), seconds) / static_cast<double>(stations.value()), "",
               "share of the time that a station receives data frames for it, averaged");
  std::uint32_t routed = 0;
  for (LpId id = 0; id < network_.stations(); ++id)
    if (network_.gateway_of(id) != kNoRoute) ++routed;
  report.value("routed_stations", routed, "",
               "stations with a way to a gateway, gateways included");
}

ORRERY_MODEL(Wireless, "wireless",
             "wireless mesh: interference, carrier sense or ALOHA, multi-hop");

}  // namespace wireless
