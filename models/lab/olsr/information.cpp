// SPDX-License-Identifier: Apache-2.0
#include "information.h"

#include <algorithm>

namespace orrery::lab::olsr {
namespace {

// The end of an entry of a map.
Time until(Time time) {
  return time;
}
template <class Entry>
Time until(const Entry& entry) {
  return entry.until;
}

template <class Map>
bool erase_expired(Map& map, Time now) {
  return std::erase_if(map, [&](const auto& one) { return until(one.second) <= now; }) > 0;
}

template <class Map>
void note_earliest(const Map& map, Time& earliest) {
  for (const auto& [key, entry] : map) earliest = std::min(earliest, until(entry));
}

}  // namespace

Address Information::main_address(Address interface) const {
  if (const auto known = interfaces.find(interface); known != interfaces.end())
    return known->second.address;
  // Else a HELLO may have given the main address.
  const auto link = std::find_if(links.begin(), links.end(),
                                 [&](const auto& one) { return one.first.second == interface; });
  return link == links.end() ? interface : link->second.neighbour;
}

const std::pair<const Information::LinkKey, Information::Link>* Information::link_to(
    Address main) const {
  const auto found = std::find_if(links.begin(), links.end(), [&](const auto& one) {
    return one.second.neighbour == main && one.second.is_symmetric();
  });
  return found == links.end() ? nullptr : &*found;
}

bool Information::is_symmetric_neighbour(Address main) const {
  return link_to(main) != nullptr;
}

std::set<Address> Information::symmetric_neighbours() const {
  std::set<Address> neighbours;
  for (const auto& [key, link] : links)
    if (link.is_symmetric()) neighbours.insert(link.neighbour);
  return neighbours;
}

bool Information::hears_symmetrically(std::size_t interface, Address sender) const {
  const auto link = links.find({interface, sender});
  return link != links.end() && link->second.is_symmetric();
}

Information::Duplicate& Information::hold(const MessageKey& key, Time until) {
  Duplicate& duplicate = duplicates[key];
  duplicate.until = until;
  duplicate_ends.emplace_back(until, key);
  return duplicate;
}

void Information::forget_duplicates(Time now) {
  for (; !duplicate_ends.empty(); duplicate_ends.pop_front()) {
    const auto& [end, key] = duplicate_ends.front();
    const auto one = duplicates.find(key);
    if (one == duplicates.end() || one->second.until != end) continue;  // has been held anew
    if (end > now) return;
    duplicates.erase(one);
  }
}

Information::Changes Information::expire(Time now) {
  Changes changes;
  for (auto& [key, link] : links) {
    if (link.heard_until <= now) link.heard_until = 0;
    if (!link.is_symmetric() || link.symmetric_until > now) continue;
    link.symmetric_until = 0;
    changes.neighbourhood = true;
  }
  if (erase_expired(links, now) || changes.neighbourhood) forget_lost_neighbours();
  changes.neighbourhood |= erase_expired(two_hop, now);
  erase_expired(selectors, now);
  changes.routes |= erase_expired(topology, now);
  if (erase_expired(interfaces, now)) changes.neighbourhood = true;
  changes.routes |= erase_expired(networks, now);
  forget_duplicates(now);
  return changes;
}

Time Information::next_expiry() const {
  Time earliest = kNever;
  for (const auto& [key, link] : links)
    for (const Time time : {link.symmetric_until, link.heard_until, link.until})
      if (time != 0) earliest = std::min(earliest, time);
  note_earliest(two_hop, earliest);
  note_earliest(selectors, earliest);
  note_earliest(topology, earliest);
  note_earliest(interfaces, earliest);
  note_earliest(networks, earliest);
  // Exact right after expire(); before that, the first entry may have been held anew.
  if (!duplicate_ends.empty()) earliest = std::min(earliest, duplicate_ends.front().first);
  return earliest;
}

void Information::forget_lost_neighbours() {
  std::set<Address> linked;
  for (const auto& [key, link] : links) linked.insert(link.neighbour);
  std::erase_if(willingness, [&](const auto& one) { return !linked.contains(one.first); });
  const std::set<Address> left = symmetric_neighbours();
  std::erase_if(two_hop, [&](const auto& one) { return !left.contains(one.first.first); });
  std::erase_if(selectors, [&](const auto& one) { return !left.contains(one.first); });
}

}  // namespace orrery::lab::olsr
