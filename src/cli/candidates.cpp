// SPDX-License-Identifier: Apache-2.0
#include "cli/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>

#include "cli/external_commands.h"
#include "core/model_registry.h"
#include "core/text.h"
#include "run/engine.h"
#include "run/options/model_checks.h"

namespace orrery::cli {
namespace {

std::vector<std::string> split(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end != std::string_view::npos) text.remove_prefix(end + separator.size());
  }
  return parts;
}

/// Replaces tabs and newlines, since `text` comes from a model and must not break lines or fields.
std::string on_one_line(const std::string& text) {
  std::string line = printable(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\t' || c == '\n'; }, ' ');
  return line;
}

/// Adds the choices in a list such as "auto, copy, periodic:N with N from 1".
void add_choices(Candidates& candidates, std::string_view list, const std::string& prefix) {
  for (const std::string& choice : split(list, ", ")) {
    std::string word = choice.substr(0, choice.find(' '));
    const auto variable = std::find_if(word.begin(), word.end(),
                                       [](unsigned char c) { return std::isupper(c) != 0; });
    if (word.empty() || variable == word.begin()) continue;
    if (variable == word.end()) {
      candidates.add(prefix + word);
    } else {
      candidates.add_part(prefix + std::string(word.begin(), variable));
    }
  }
}

/// The help of a run option ends with its choices, behind the declared help.
void add_choices_of(const OptionBase& option, Candidates& candidates, const std::string& prefix) {
  const std::string help = option.help();
  const std::size_t begin = option.declaration().help.size() + 2;  // ": "
  if (help.size() > begin) add_choices(candidates, help.substr(begin), prefix);
}

/// Null if no model has this name, or no shared object holds one.
ModelPointer model_of(const Place& place) {
  if (place.model.empty()) return nullptr;
  try {
    return call_model("the model's constructor", [&] { return make_model(place.model, nullptr); });
  } catch (const std::exception&) {
    return nullptr;
  }
}

void add_values_of(const ParameterBase& parameter, Candidates& candidates,
                   const std::string& prefix) {
  constexpr std::string_view kOneOf = "one of ";
  const std::string range = parameter.range_text();
  if (range.starts_with(kOneOf)) {
    add_choices(candidates, range.substr(kOneOf.size()), prefix);
  } else if (parameter.type_text() == "yes/no") {
    add_choices(candidates, "yes, no", prefix);
  } else if (parameter.type_text() == "text") {
    candidates.add_files("*", prefix);
  }
}

/// If the word is a list: the word up to its last comma.
std::string list_prefix(const Candidates& candidates, const std::string& prefix) {
  const std::size_t comma = candidates.current().rfind(',');
  if (comma == std::string::npos || comma < prefix.size()) return prefix;
  return candidates.current().substr(0, comma + 1);
}

void add_settings(Candidates& candidates, const std::string& prefix, const Place& place,
                  bool are_lists) {
  const ModelPointer model = model_of(place);
  if (model == nullptr) return;
  const std::string word = candidates.current().substr(prefix.size());
  const std::size_t equals = word.find('=');
  for (const ParameterBase* p : model->parameters()) {
    if (place.is_fork && !p->read_at_use()) continue;
    const bool is_set = std::find(place.set.begin(), place.set.end(), p->name()) != place.set.end();
    if (equals == std::string::npos && !is_set) {
      candidates.add_part(prefix + p->name() + "=",
                          fmt::format("{} ({})", p->help(), p->default_text()));
    } else if (p->name() == word.substr(0, equals)) {
      const std::string behind = prefix + p->name() + "=";
      add_values_of(*p, candidates, are_lists ? list_prefix(candidates, behind) : behind);
    }
  }
}

void add_names_of_parameters(Candidates& candidates, const std::string& prefix,
                             const Place& place) {
  if (const ModelPointer model = model_of(place))
    for (const ParameterBase* p : model->parameters())
      candidates.add(prefix + p->name(), p->help());
}

/// `behind`: the text that must follow a metric's name, such as "=".
void add_metrics(Candidates& candidates, const std::string& prefix, const Place& place,
                 const std::string& behind = "") {
  const ModelPointer model = model_of(place);
  if (model == nullptr) return;
  for (const Metric* metric : model->metrics()) {
    if (behind.empty())
      candidates.add(prefix + metric->name(), metric->help());
    else
      candidates.add_part(prefix + metric->name() + behind, metric->help());
  }
}

/// Metrics behind the LPs that the word names, or behind all.
void add_metrics_of_lps(Candidates& candidates, const std::string& prefix, const Place& place) {
  const std::size_t dot = candidates.current().rfind('.');
  const bool has_lps = dot != std::string::npos && dot >= prefix.size();
  add_metrics(candidates, has_lps ? candidates.current().substr(0, dot + 1) : prefix + "*.", place);
}

template <class Infos>
void add_names(Candidates& candidates, const std::string& prefix, const Infos& infos) {
  for (const auto& info : infos) candidates.add(prefix + info.name, info.summary);
}

void add_commands(Candidates& candidates, const std::string& prefix, const Place& place) {
  for (const CommandText* text : place.commands.texts())
    candidates.add(prefix + std::string(text->name), std::string(text->summary));
  for (const std::string& name : external_commands()) candidates.add(prefix + name);
}

void add_alternative(Candidates& candidates, const std::string& type, const std::string& prefix,
                     const Place& place) {
  if (type.empty()) return;
  const std::size_t dot = type.find('.');
  if (std::islower(static_cast<unsigned char>(type.front())) != 0) {
    candidates.add(prefix + type);
  } else if (type == "MODEL") {
    add_names(candidates, prefix, models());
    candidates.add_files("*.so", prefix);
  } else if (type == "ENGINE") {
    add_names(candidates, prefix, engines());
  } else if (type == "COMMAND") {
    add_commands(candidates, prefix, place);
  } else if (type == "PARAMETER") {
    add_names_of_parameters(candidates, prefix, place);
  } else if (type == "METRIC") {
    add_metrics(candidates, prefix, place);
  } else if (type == "METRIC=TIME") {
    add_metrics(candidates, prefix, place, "=");
  } else if (type == "LPS.METRIC[=TIME]") {
    add_metrics_of_lps(candidates, prefix, place);
  } else if (type == "CONDITION") {
    add_metrics(candidates, prefix, place, ".");
  } else if (type.starts_with("NAME=")) {
    add_settings(candidates, prefix, place, type == "NAME=VALUES");
  } else if (type == "DIR") {
    candidates.add_folders(prefix);
  } else if (type == "FILE") {
    candidates.add_files("*", prefix);
  } else if (dot != std::string::npos) {
    candidates.add_files("*" + type.substr(dot), prefix);
  } else if (place.declared != nullptr) {
    add_choices_of(*place.declared, candidates, prefix);
  }
}

}  // namespace

void Candidates::add(const char* kind, const std::string& word, const std::string& help) {
  if (word.starts_with(current_))
    lines_ += fmt::format("{}\t{}\t{}\n", kind, on_one_line(word), on_one_line(help));
}

void Candidates::add_files(const std::string& pattern, const std::string& prefix) {
  lines_ += fmt::format("file\t{}\t{}\n", pattern, on_one_line(prefix));
}

void Candidates::add_folders(const std::string& prefix) {
  lines_ += fmt::format("folder\t*\t{}\n", on_one_line(prefix));
}

void add_values(Candidates& candidates, std::string_view type, const std::string& prefix,
                const Place& place) {
  constexpr std::string_view kList = ",...", kRepeated = "...";
  if (type.ends_with(kList)) {
    type.remove_suffix(kList.size());
    add_alternative(candidates, std::string(type), list_prefix(candidates, prefix), place);
    return;
  }
  if (type.ends_with(kRepeated)) type.remove_suffix(kRepeated.size());
  for (const std::string& alternative : split(type, "|"))
    add_alternative(candidates, alternative, prefix, place);
}

}  // namespace orrery::cli
