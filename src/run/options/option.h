// SPDX-License-Identifier: Apache-2.0
//
// An option of a run, declared once, as a static object in the folder that honours it. The command
// line, config files, the options that `orrery compare` passes to its runs, the report and the help
// are all derived from the declaration. So none of them can lack an option that another one has.
//
// A declaration registers itself. The linker chooses the order in which files are initialised, so
// the registry sorts by group first and within a group by registration: declare all options of one
// group in one file, whose order C++ keeps.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace orrery {

struct RunOptions;

/// The possible types of an option's value, for the report and in RunOptions.
using OptionValue = std::variant<bool, std::int64_t, std::uint64_t, double, std::string>;

/// Options of one subject of --help, the last word of the heading; sorted by rank, then heading.
struct OptionGroup {
  int rank = 2;
  std::string_view heading;  ///< empty: among the options that every command has
};

struct OptionDeclaration {
  std::string name;  ///< on the command line, without its dashes, and in config files
  std::string type;  ///< of the value, for the help: "TIME"; empty: a flag, "true" if present
  std::string help;
  OptionGroup group;
  std::string field;            ///< in the report
  std::string default_words{};  ///< meaning of the default, if its text does not say it
  bool universal = false;       ///< every engine honours it
};

/// The text of a value and the context for parsing it.
struct OptionText {
  std::string flag;  ///< "--window"
  std::string text;
  double tick_seconds = 1e-9;  ///< of the model
};

/// Parser and formatter of values. run/options/option_forms.h has the usual ones.
template <class T>
struct OptionForm {
  /// Throws UsageError that names the flag, states the allowed values and quotes the text.
  std::function<T(const OptionText&)> read;
  /// Formats a value as `read` accepts it.
  std::function<std::string(const T&)> write;
  /// For reports; if empty, the value itself.
  std::function<OptionValue(const T&)> report{};
  std::string choices{};  ///< for the help: "push, pull"
};

class OptionBase {
 public:
  virtual ~OptionBase() = default;
  OptionBase(const OptionBase&) = delete;
  OptionBase& operator=(const OptionBase&) = delete;

  const OptionDeclaration& declaration() const { return declaration_; }
  const std::string& name() const { return declaration_.name; }
  std::string flag() const { return "--" + declaration_.name; }
  bool takes_value() const { return !declaration_.type.empty(); }
  /// The help text with the choices.
  std::string help() const;
  /// The default, in words if the value says too little.
  std::string default_text() const;

  /// Parses `text` and sets the option. Throws UsageError.
  virtual void read(const std::string& text, double tick_seconds, RunOptions& into) const = 0;
  /// Whether these options set something that an engine which does not know this option would
  /// ignore.
  virtual bool asked(const RunOptions& options) const = 0;

  using Field = std::pair<std::string, OptionValue>;
  /// The option's fields in the report.
  virtual std::vector<Field> report(const RunOptions& options, double tick_seconds) const = 0;

 protected:
  enum class Registered { no, yes };
  OptionBase(OptionDeclaration declaration, Registered registered);

 private:
  virtual std::string written_default() const = 0;
  virtual const std::string& choices() const = 0;

  OptionDeclaration declaration_;
};

using OptionList = std::vector<const OptionBase*>;

/// All linked options, in the order of help and report.
const OptionList& all_options();

/// "single, batched and decentralised", or with another word before the last.
std::string listed(const std::vector<std::string>& words, std::string_view last = " and ");
/// "--window, --gvt-period and --memory"
std::string flags_text(const OptionList& options);

/// An option with values of type T, independent of where they are stored.
template <class T>
class ValuedOption : public OptionBase {
  static_assert(std::is_constructible_v<OptionValue, std::in_place_type_t<T>, T>);

 public:
  const T& default_value() const { return default_; }
  /// Throws UsageError for a value that no text can express.
  void check(const T& value) const {
    if (form_.read) form_.read({flag(), form_.write(value)});
  }

  void read(const std::string& text, double tick_seconds, RunOptions& into) const final {
    put(into, form_.read({flag(), text, tick_seconds}));
  }
  bool asked(const RunOptions& options) const override { return value(options) != default_; }
  std::vector<Field> report(const RunOptions& options, double) const override {
    const T shown = value(options);
    return {{declaration().field, form_.report ? form_.report(shown) : OptionValue(shown)}};
  }

 protected:
  ValuedOption(OptionDeclaration declaration, T default_value, OptionForm<T> form,
               Registered registered)
      : OptionBase(std::move(declaration), registered),
        default_(std::move(default_value)),
        form_(std::move(form)) {}

 private:
  virtual T value(const RunOptions& options) const = 0;
  virtual void put(RunOptions& options, T value) const = 0;
  std::string written_default() const final { return form_.write(default_); }
  const std::string& choices() const final { return form_.choices; }

  const T default_;
  const OptionForm<T> form_;
};

}  // namespace orrery
