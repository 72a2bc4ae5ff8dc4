// SPDX-License-Identifier: Apache-2.0
//
// Pictures that lie in a folder, as they stand within a page: their bytes as text, so that the page
// needs no other file. A picture in SVG is shown as an image is, where no script in it can act.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "page/run_folder.h"

namespace orrery::page {

/// RFC 4648.
std::string base64_of(std::string_view bytes);

/// Figures of all.
std::string pictures_markup(const std::vector<Picture>& pictures);

}  // namespace orrery::page
