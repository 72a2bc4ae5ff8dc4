// SPDX-License-Identifier: Apache-2.0
//
// The models by name: linked models and those of shared objects loaded by path.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/model.h"

namespace orrery {

struct ModelInfo {
  std::string name, summary;
  detail::ModelFactory make;
};

/// Sorted by name.
const std::vector<ModelInfo>& models();

/// A fresh model of that name, or of the only model in the shared object if `name_or_path` is a
/// path (contains a slash or ends in ".so"). Throws UsageError, with near matches.
std::unique_ptr<Model> make_model(std::string_view name_or_path, std::string* name = nullptr);

/// Up to three of `candidates` that are similar to `word`, as "; did you mean 'a' or 'b'?", or "".
std::string near_matches(std::string_view word, const std::vector<std::string>& candidates);

/// Sets one parameter by name. Throws UsageError, with near matches.
void set_parameter(Model& model, std::string_view name, std::string_view value);

}  // namespace orrery
