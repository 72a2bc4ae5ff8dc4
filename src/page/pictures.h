// SPDX-License-Identifier: Apache-2.0
//
// Picture files of a folder, embedded in a page as base64, so that the page needs no other file. An
// SVG picture is an <img>, in which no script can run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "page/run_folder.h"

namespace orrery::page {

/// RFC 4648.
std::string base64_of(std::string_view bytes);

/// One figure for each picture.
std::string pictures_markup(const std::vector<Picture>& pictures);

}  // namespace orrery::page
