// SPDX-License-Identifier: Apache-2.0
//
// The information repositories of an OLSR router (RFC 3626, 4). Each entry is valid until a time;
// expire() removes entries whose time has passed. So readers need no clock: a link is symmetric if
// its `symmetric_until` is set.
//
// Neighbours have no entries beside their links, since a neighbour exists as long as one of its
// links, and is symmetric as long as one of its links. Two-hop neighbours are stored by the
// interface address that the neighbour sent. They are converted to main addresses when they are
// read, since the main address may become known later.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "packet.h"

namespace orrery::lab::olsr {

constexpr std::uint8_t kWillNever = 0, kWillDefault = 3, kWillAlways = 7;  // 18.8
constexpr Time kNever = INT64_MAX;

struct Information {
  /// Limits, since a network may lie and memory is finite. More links would not fit in a HELLO.
  static constexpr std::size_t kMostLinks = 4'096, kMostEntries = 65'536;

  struct Link {
    Address neighbour;  ///< its main address
    // End of each state; 0: the link is not in this state.
    Time symmetric_until = 0, heard_until = 0;
    Time until = 0;
    bool is_symmetric() const { return symmetric_until != 0; }
  };
  struct Advertised {
    std::uint16_t sequence;
    Time until;
  };
  struct MainAddress {
    Address address;
    Time until;
  };
  struct Duplicate {
    std::set<std::size_t> interfaces;  ///< interfaces on which the message came in
    bool is_forwarded = false;
    Time until = 0;
  };
  using LinkKey = std::pair<std::size_t, Address>;  ///< the router's interface, and the neighbour's
  using MessageKey = std::pair<Address, std::uint16_t>;

  std::set<Address> own;  ///< addresses of all interfaces
  std::map<LinkKey, Link> links;
  std::map<Address, std::uint8_t> willingness;          ///< of neighbours with links
  std::map<std::pair<Address, Address>, Time> two_hop;  ///< a neighbour, and one of its neighbours
  std::set<Address> mprs;
  std::map<Address, Time> selectors;                           ///< whose MPR this router is
  std::map<std::pair<Address, Address>, Advertised> topology;  ///< the last hop, and a destination
  std::map<Address, MainAddress> interfaces;
  std::map<std::pair<Address, Network>, Time> networks;  ///< a gateway, and a network behind it
  std::map<MessageKey, Duplicate> duplicates;
  /// Duplicates in the order in which they end: all are held equally long, and a busy network has
  /// thousands. A duplicate that is held anew gets another entry.
  std::deque<std::pair<Time, MessageKey>> duplicate_ends;

  /// Main address for an interface address; the same address if no other is known (5.5).
  Address main_address(Address interface) const;
  bool is_symmetric_neighbour(Address main) const;
  /// By main addresses.
  std::set<Address> symmetric_neighbours() const;
  /// A symmetric link to a neighbour, nullptr if there is none.
  const std::pair<const LinkKey, Link>* link_to(Address main) const;
  bool hears_symmetrically(std::size_t interface, Address sender) const;

  /// Holds a duplicate until `until`, no earlier than the calls before.
  Duplicate& hold(const MessageKey& key, Time until);

  struct Changes {
    bool neighbourhood = false, routes = false;
  };
  /// Removes everything that ends at `now` or earlier. Returns what has changed.
  Changes expire(Time now);
  /// When the next entry ends; kNever if there are no entries.
  Time next_expiry() const;
  void forget_duplicates(Time now);
  /// Removes entries of neighbours without a link, or without a symmetric link (8.1, 8.5).
  void forget_lost_neighbours();
};

}  // namespace orrery::lab::olsr
