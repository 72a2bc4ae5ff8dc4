// SPDX-License-Identifier: Apache-2.0
//
// The folder that a run leaves. Its promise: a folder with report.json is the folder of a run that
// ended in order, and all files that the report names are whole. So every file is written under a
// temporary name, and `publish` renames them when all are complete, report.json last. A process
// that dies before leaves temporary files and no report; the next run into that folder replaces
// them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery {

inline constexpr std::string_view kReportName = "report.json";
inline constexpr std::string_view kComparisonName = "compare.json";
/// Of a study: what it has come to, and what it consists of (study/study_folder.h).
inline constexpr std::string_view kStudyName = "study.json";
inline constexpr std::string_view kPlanName = "plan.json";

/// The page that `orrery report` makes of a run, in its folder, and how all such pages begin.
inline constexpr std::string_view kPageName = "report.html";
inline constexpr std::string_view kPageMark = "<!DOCTYPE html>\n<!-- a page of orrery report -->";
/// Whether that file is such a page.
bool is_page(const std::string& path);

class OutputFolder {
 public:
  /// Creates the folder where it does not exist, and locks it against other runs. Throws UsageError
  /// if it cannot, or if it holds `final_name` (see `publish`) and `force` is not set.
  OutputFolder(std::string path, std::string_view final_name, bool force);
  /// Removes what was added and not published, and the folder if it was made for that.
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Adds a file; returns the path under which to write it until it is published.
  std::string add(std::string_view name);
  const std::vector<std::string>& names() const { return names_; }
  /// Makes the files visible: removes those of an earlier run that its report names, renames ours,
  /// and at last writes the final file. Throws UsageError if the disk refuses.
  void publish(std::string_view final_text);
  /// The final file of an earlier run, the files that it names, and a page of it. `publish` does
  /// it, too.
  void remove_earlier_run() const;

 private:
  std::string in_folder(std::string_view name) const;
  std::string temporary(std::string_view name) const;
  void create_and_lock();
  void rename_into_place(std::string_view name) const;
  void synchronise_names() const;

  std::string path_, final_name_;
  std::vector<std::string> names_;
  int lock_ = -1;
  bool made_ = false;
};

/// Writes a file with few system calls and says which file and why when it cannot.
class FileWriter {
 public:
  explicit FileWriter(std::string path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void write(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= kBufferBytes) flush();
  }
  /// What `write` collects, for those who append in place; call `write("")` now and then.
  std::string& buffer() { return buffer_; }
  /// Forces the bytes to the disk. Must be the last call.
  void finish();

 private:
  static constexpr std::size_t kBufferBytes = 256 * 1024;
  void flush();
  [[noreturn]] void refuse() const;
  std::string path_, buffer_;
  int descriptor_ = -1;
};

}  // namespace orrery
