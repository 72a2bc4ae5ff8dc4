// SPDX-License-Identifier: Apache-2.0
#include "run/options/option.h"

#include <algorithm>
#include <tuple>

namespace orrery {
namespace {

/// Filled by static initialisers, so it is function-local.
OptionList& option_table() {
  static OptionList table;
  return table;
}

bool in_earlier_group(const OptionBase* a, const OptionBase* b) {
  const OptionGroup& first = a->declaration().group;
  const OptionGroup& second = b->declaration().group;
  return std::tie(first.rank, first.heading) < std::tie(second.rank, second.heading);
}

}  // namespace

OptionBase::OptionBase(OptionDeclaration declaration, Registered registered)
    : declaration_(std::move(declaration)) {
  if (registered == Registered::no) return;
  auto& table = option_table();
  table.insert(std::upper_bound(table.begin(), table.end(), this, in_earlier_group), this);
}

std::string OptionBase::default_text() const {
  return declaration_.default_words.empty() ? written_default() : declaration_.default_words;
}

std::string OptionBase::help() const {
  return choices().empty() ? declaration_.help : declaration_.help + ": " + choices();
}

const OptionList& all_options() {
  return option_table();
}

std::string listed(const std::vector<std::string>& words, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 < words.size() ? std::string_view(", ") : last;
    text += words[i];
  }
  return text;
}

std::string flags_text(const OptionList& options) {
  std::vector<std::string> flags;
  for (const OptionBase* option : options) flags.push_back(option->flag());
  return listed(flags);
}

}  // namespace orrery
