// SPDX-License-Identifier: Apache-2.0
//
// LPs in sentences, and the texts that can be names of LPs. A name is text of a model or a file, so
// it is checked before a terminal or a page gets it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "orrery/event.h"

namespace orrery {

inline constexpr std::size_t kMostNameBytes = 256;

/// Why a text cannot be the name of an LP, as a clause: "it has 300 bytes, and at most 256 are
/// possible". Empty if it can.
std::string mistake_in_name(std::string_view name);

/// "LP 5 (router3)"; "LP 5" without a name.
std::string lp_text(LpId lp, std::string_view name);
/// The same without "LP ", for lists.
std::string lp_number_text(LpId lp, std::string_view name);

}  // namespace orrery
