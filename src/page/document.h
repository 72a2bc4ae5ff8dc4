// SPDX-License-Identifier: Apache-2.0
//
// The frame of a page: one file that a browser shows without any other file, with or without a
// network, on a light or a dark screen and on paper. Its only script unfolds folded parts before
// printing. A content security policy in the page forbids it to load anything.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery::page {

struct Section {
  std::string title;   ///< plain text; document_of escapes it
  std::string markup;  ///< empty: the section is left out
};

/// The style sheet of all pages.
std::string page_style();

/// `head`: markup above the sections.
std::string document_of(std::string_view title, const std::string& head,
                        const std::vector<Section>& sections);

}  // namespace orrery::page
