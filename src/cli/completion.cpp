// SPDX-License-Identifier: Apache-2.0
//
// orrery completion SHELL: prints the script with which a shell calls `orrery complete`
// (complete.h).
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/standard_output.h"
#include "orrery/error.h"

namespace orrery::cli {
namespace {

/// bash splits words at "=" and ":", and replaces only the last part. So the script joins the parts
/// again, and removes from each candidate the text before the last part.
constexpr const char* kBash = R"sh(# Completion of orrery in bash, by 'orrery completion bash'.

# Sets words: those of the line up to the cursor.
_orrery_words() {
  local rest=${COMP_LINE:0:COMP_POINT} i word blanks
  words=()
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    blanks=${rest%%[![:space:]]*}
    rest=${rest#"$blanks"}
    word=${COMP_WORDS[i]}
    ((i < COMP_CWORD)) || word=$rest
    rest=${rest#"$word"}
    if ((i == 0)) || [[ -n $blanks ]]; then words+=("$word"); else words[-1]+=$word; fi
  done
}

# Adds to found: files and folders behind PREFIX, or only the folders. PATTERN PREFIX ONLY
_orrery_files() {
  local begun=${current#"$2"} name
  while IFS= read -r name; do
    found+=("$2$name")
  done < <(
    compgen -d -- "$begun"
    [[ -n $3 ]] || compgen -f -X "!$1" -- "$begun"
  )
}

_orrery() {
  local words current shown kind text more name found=() open='' files='' spaced=()
  _orrery_words
  current=${words[-1]}
  while IFS=$'\t' read -r kind text more; do
    case $kind in
      word) found+=("$text"); spaced[${#found[@]}]=1 ;;
      part) found+=("$text"); open=1 ;;
      file) files=1; _orrery_files "$text" "$more" '' ;;
      folder) files=1; _orrery_files "$text" "$more" 1 ;;
    esac
  done < <("${words[0]/#\~\//$HOME/}" complete -- "${words[@]:1}" 2>/dev/null)
  if [[ -n $files ]]; then compopt -o filenames 2>/dev/null; open=''; fi
  if [[ -n $open ]]; then compopt -o nospace 2>/dev/null; fi
  shown=''
  if [[ $current == *[=:]* ]]; then
    shown=${current%"${current##*[=:]}"}
    [[ $COMP_WORDBREAKS == *"${shown: -1}"* ]] || shown=''
  fi
  COMPREPLY=()
  local i
  for ((i = 0; i < ${#found[@]}; ++i)); do
    name=${found[i]#"$shown"}
    if [[ -n $open && -n ${spaced[i + 1]:-} ]]; then name+=' '; fi
    COMPREPLY+=("$name")
  done
}

complete -F _orrery orrery
)sh";

constexpr const char* kZsh = R"sh(#compdef orrery
# Completion of orrery in zsh, by 'orrery completion zsh'.

_orrery() {
  local kind text more begun
  local -a plain plain_shown parts parts_shown file_patterns
  local file_prefix='' folders=''
  begun=$PREFIX
  while IFS=$'\t' read -r kind text more; do
    case $kind in
      word) plain+=("$text"); plain_shown+=("$text${more:+  -- $more}") ;;
      part) parts+=("$text"); parts_shown+=("$text${more:+  -- $more}") ;;
      file) file_patterns+=("$text"); file_prefix=$more ;;
      folder) folders=1; file_prefix=$more ;;
    esac
  done < <("${(Q)words[1]/#\~\//$HOME/}" complete -- "${(@Q)words[2,CURRENT-1]}" "$begun" 2>/dev/null)
  (( $#plain )) && compadd -l -d plain_shown -a plain
  (( $#parts )) && compadd -l -S '' -d parts_shown -a parts
  [[ -z $file_prefix ]] || compset -P "${(b)file_prefix}"
  if (( $#file_patterns )); then
    for text in $file_patterns; do _files -g "$text"; done
  elif [[ -n $folders ]]; then
    _files -/
  fi
}

if [[ $funcstack[1] == _orrery ]]; then _orrery "$@"; else compdef _orrery orrery; fi
)sh";

constexpr CommandText kCompletionText = {
    .name = "completion",
    .summary = "Print a script with which a shell completes command lines",
    .operands = "bash|zsh",
    .prose =
        R"(Completes commands, options and their values, engines, models, the parameters of the model on the line
(whose file is loaded for this purpose) and files. At each completion the shell calls this command.
Packages install the script; use this subcommand for a command in another folder.)",
    .examples = R"x(source <(orrery completion bash)
orrery completion zsh > ~/.zsh/functions/_orrery    a folder of $fpath, before compinit)x"};

class CompletionCommand final : public Command {
 public:
  CompletionCommand() : Command(kCompletionText) {}

  void declare(OptionTable& options) override {
    options.operand("SHELL", shell_, "'bash' or 'zsh'");
  }

  int run(OptionTable&, const Invocation&) override {
    if (shell_ != "bash" && shell_ != "zsh")
      throw UsageError(
          shell_.empty()
              ? "for which shell? 'orrery completion SHELL' needs one: bash or zsh"
              : fmt::format("there is completion for bash and zsh, not for '{}'", shell_));
    print_out("{}", shell_ == "bash" ? kBash : kZsh);
    return kExitOk;
  }

 private:
  std::string shell_;
};

const CommandEntry kCompletionEntry(15, make_command<CompletionCommand>);

}  // namespace
}  // namespace orrery::cli
