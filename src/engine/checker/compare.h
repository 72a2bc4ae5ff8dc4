// SPDX-License-Identifier: Apache-2.0
//
// Compares the effects of two executions of one event outside of the LP: failure, sends, rows,
// random numbers, fingerprint, and the addresses of its allocations. Memory is compared by images
// (world.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checker/doubt.h"
#include "engine/checker/effects.h"
#include "orrery/model.h"

namespace orrery::checker {

/// Which execution the first one is compared with, and what may differ.
enum class Versus : std::uint8_t {
  other_world,  ///< uninitialised bytes of payloads that do not enter the fingerprint may differ
  same_world,   ///< nothing may differ
  twin,         ///< payloads that do not enter the fingerprint, and addresses may differ
};

struct Difference {
  std::vector<std::string> texts;  ///< the first of each kind
  /// Only bytes of memory, or of payloads that do not enter the fingerprint, differ.
  bool only_bytes = true;

  bool empty() const { return texts.empty(); }
  void add(std::string text, bool bytes_only = false) {
    texts.push_back(std::move(text));
    only_bytes = only_bytes && bytes_only;
  }
};

/// How messages call the two executions: "first", "again".
struct Labels {
  std::string_view a = "the first time", b = "the second time";
};

/// The model and its names of events, for messages.
struct Names {
  const Model& model;
  std::function<std::string(LpId receiver, EventTypeId type)> event;
};

/// `doubts`: if not null, receives the bytes of payloads that two worlds cannot judge (doubt.h).
Difference compare_effects(const Names& names, const Effects& a, const Effects& b, Versus versus,
                           const Labels& labels = {}, std::vector<Doubt>* doubts = nullptr);

/// "its send 2, event Step to LP 3 at 7 s, carries 01 02 the first time and ..."
std::string payload_text(const Names& names, const Effects& a, const Effects& b,
                         const Labels& labels, std::size_t send, std::size_t at);

/// "01 02 03": up to 8 bytes from `at` on.
std::string hex_text(const std::byte* bytes, std::size_t size, std::size_t at);

}  // namespace orrery::checker
