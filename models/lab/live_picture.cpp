// SPDX-License-Identifier: Apache-2.0
//
// The topology with its present state, for the page of --live.
#include <fmt/format.h>

#include "draw.h"
#include "host_lp.h"
#include "lab.h"
#include "switch_lp.h"

namespace orrery::lab {
namespace {

std::string traffic_text(const Outgoing::Counts& counts) {
  std::string text = fmt::format("{} frames", counts.frames);
  if (counts.not_arrived > 0) text += fmt::format(", {} did not arrive", counts.not_arrived);
  return text;
}

}  // namespace

LivePicture Lab::live_picture(const LpsNow& lps, Time now) const {
  LivePicture now_shown;
  if (check) return now_shown;
  if (places_.empty()) places_ = places_in_picture(topology_);
  const std::size_t shown = topology_.nodes() - (topology_.terminal ? 1 : 0);
  for (NodeId id = 0; id < shown; ++id) {
    LivePicture::Node node{topology_.node(id).name, places_[id].x, places_[id].y};
    const std::vector<Outgoing>* ports = nullptr;
    if (topology_.is_host(id)) {
      if (const auto* const host = static_cast<const HostLp*>(lps(id))) {
        for (const std::string& line : host->console_lines(1)) node.text = line;
        ports = &host->ports();
      }
    } else {
      node.shape = LivePicture::Shape::box;
      if (!topology_.is_radio(id) && lps(id) != nullptr)
        ports = &static_cast<const SwitchLp*>(lps(id))->ports();
    }
    now_shown.nodes.push_back(std::move(node));
    if (ports == nullptr) continue;
    for (const Outgoing& port : *ports) {
      const NodeId to = port.wire().node;
      if (to >= shown) continue;
      const Phase& phase = port.wire().at(now.ticks());
      now_shown.lines.push_back({id, to, 8 * static_cast<double>(port.counts().bytes_on_the_wire),
                                 static_cast<double>(phase.bits_per_s),
                                 topology_.node(id).name + " to " + topology_.node(to).name + ": " +
                                     traffic_text(port.counts()),
                                 !phase.up});
    }
  }
  return now_shown;
}

}  // namespace orrery::lab
