// SPDX-License-Identifier: Apache-2.0
//
// What a router of OLSR knows (RFC 3626, 4: the information repositories). Each entry holds until a
// time; expire() takes away what has passed, so that whoever reads needs no clock: a link is
// symmetric if it has a time until which it is.
//
// A neighbour is not kept beside its links, since it is there as long as one of them is, and
// symmetric as long as one of them is. Two-hop neighbours are kept as they were told, by the
// address of an interface, and become main addresses when they are read: which that is may be known
// later.
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
  /// Most of each kind: a network may lie, and memory is finite. More links would fit in no HELLO.
  static constexpr std::size_t kMostLinks = 4'096, kMostEntries = 65'536;

  struct Link {
    Address neighbour;  ///< its main address
    // Until when; 0: it is not.
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
    std::set<std::size_t> interfaces;  ///< where it came in
    bool is_forwarded = false;
    Time until = 0;
  };
  using LinkKey = std::pair<std::size_t, Address>;  ///< our interface, and theirs
  using MessageKey = std::pair<Address, std::uint16_t>;

  std::set<Address> own;  ///< addresses of all interfaces
  std::map<LinkKey, Link> links;
  std::map<Address, std::uint8_t> willingness;          ///< of those that links lead to
  std::map<std::pair<Address, Address>, Time> two_hop;  ///< a neighbour, and whom it hears
  std::set<Address> mprs;
  std::map<Address, Time> selectors;                           ///< whose MPR this router is
  std::map<std::pair<Address, Address>, Advertised> topology;  ///< the last hop, and a destination
  std::map<Address, MainAddress> interfaces;
  std::map<std::pair<Address, Network>, Time> networks;  ///< a gateway, and what lies behind it
  std::map<MessageKey, Duplicate> duplicates;
  /// In the order in which duplicates end, since all are held equally long, and a busy network has
  /// thousands. One that has been held anew is there again.
  std::deque<std::pair<Time, MessageKey>> duplicate_ends;

  /// Of an interface; itself if nothing else is known (5.5).
  Address main_address(Address interface) const;
  bool is_symmetric_neighbour(Address main) const;
  /// Main addresses.
  std::set<Address> symmetric_neighbours() const;
  /// The link on which a neighbour is to be reached, nullptr if there is none.
  const std::pair<const LinkKey, Link>* link_to(Address main) const;
  bool hears_symmetrically(std::size_t interface, Address sender) const;

  /// A duplicate is known until then; no earlier than those before.
  Duplicate& hold(const MessageKey& key, Time until);

  struct Changes {
    bool neighbourhood = false, routes = false;
  };
  /// What `now` or an earlier time is the end of.
  Changes expire(Time now);
  /// When the next is, kNever if nothing is known.
  Time next_expiry() const;
  void forget_duplicates(Time now);
  /// What was from neighbours to which no link leads, or none that is symmetric, goes (8.1, 8.5).
  void forget_lost_neighbours();
};

}  // namespace orrery::lab::olsr
