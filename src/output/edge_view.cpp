// SPDX-License-Identifier: Apache-2.0
#include "output/edge_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/duration_text.h"
#include "output/number_text.h"
#include "output/text_table.h"
#include "run/containment/lp_names.h"

namespace orrery {
namespace {

using Align = TextTable::Align;
using Json = nlohmann::ordered_json;

/// The declared promise of the pair that came nearest to breaking it, and the distance to the
/// limit.
std::pair<std::string, std::string> promise_cells(const Model& model, const EdgeKind& kind) {
  if (kind.to_itself) return {"free", ""};
  const std::string pair =
      fmt::format(" ({} to {})", lp_text(model, kind.from), lp_number_text(model, kind.to));
  if (!kind.declared) return {"no edge" + pair, "broken"};
  if (*kind.declared == Duration::zero()) return {"nothing", ""};
  return {duration_text(*kind.declared, model.tick_seconds()) + pair,
          duration_text(kind.slack, model.tick_seconds()) + (kind.broken > 0 ? ", broken" : "")};
}

}  // namespace

std::string edge_table(const Model& model, const std::vector<EdgeKind>& edges,
                       const Terminal& terminal) {
  TextTable table({{"sender"},
                   {"event"},
                   {"receiver"},
                   {"sends", Align::right},
                   {"smallest delay", Align::right},
                   {"declared", Align::right},
                   {"slack", Align::right}});
  for (const EdgeKind& kind : edges) {
    const auto [declared, slack] = promise_cells(model, kind);
    table.add({kind.sender, kind.event, kind.to_itself ? "itself" : kind.receiver,
               grouped(kind.sends), duration_text(kind.smallest_delay, model.tick_seconds()),
               declared, slack});
  }
  return table.empty() ? "" : table.text(terminal);
}

Json edges_json(const Model& model, const std::vector<EdgeKind>& edges) {
  Json json = Json::array();
  for (const EdgeKind& kind : edges) {
    Json one = {{"sender", kind.sender},
                {"event", kind.event},
                {"receiver", kind.receiver},
                {"to_itself", kind.to_itself},
                {"sends", kind.sends},
                {"smallest_delay", duration_text(kind.smallest_delay, model.tick_seconds())},
                {"smallest_delay_ticks", kind.smallest_delay.ticks()}};
    if (!kind.to_itself) {
      one["from"] = kind.from;
      one["to"] = kind.to;
      if (kind.declared) {
        one["declared_ticks"] = kind.declared->ticks();
        one["slack_ticks"] = kind.slack.ticks();
      } else {
        one["declared_ticks"] = nullptr;
      }
      one["broken"] = kind.broken;
    }
    json.push_back(std::move(one));
  }
  return json;
}

}  // namespace orrery
