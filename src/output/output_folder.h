// SPDX-License-Identifier: Apache-2.0
//
// The folder with the results of a run. It keeps a promise: a folder with report.json belongs to a
// run that ended in order, and all files that the report names are complete. So every file is
// written under a temporary name, and `publish` renames the files when all are complete,
// report.json last. A process that dies earlier leaves temporary files and no report; the next run
// into that folder replaces them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery {

inline constexpr std::string_view kReportName = "report.json";
inline constexpr std::string_view kComparisonName = "compare.json";
/// Of a study: its results, and its plan (study/study_folder.h).
inline constexpr std::string_view kStudyName = "study.json";
inline constexpr std::string_view kPlanName = "plan.json";

/// The page that `orrery report` writes into a run's folder, and the text with which all such pages
/// begin.
inline constexpr std::string_view kPageName = "report.html";
inline constexpr std::string_view kPageMark = "<!DOCTYPE html>\n<!-- a page of orrery report -->";
/// Whether the file is such a page.
bool is_page(const std::string& path);

class OutputFolder {
 public:
  /// Creates the folder if it does not exist, and locks it against other runs. Throws UsageError if
  /// that fails, or if the folder holds `final_name` (see `publish`) and `force` is not set.
  OutputFolder(std::string path, std::string_view final_name, bool force);
  /// Removes files that were added and not published, and the folder if the constructor made it.
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Adds a file; returns the path under which to write it until it is published.
  std::string add(std::string_view name);
  /// Adds a file with this text.
  void add(std::string_view name, std::string_view text);
  const std::vector<std::string>& names() const { return names_; }
  /// Makes the files visible: removes the files that the report of an earlier run names, renames
  /// the added files, and last writes the final file. Throws UsageError if a write fails.
  void publish(std::string_view final_text);
  /// Removes the final file of an earlier run, the files that it names, and a page of it. `publish`
  /// calls this, too.
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

/// Writes a file with few system calls; errors name the file and the reason.
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
  /// The buffer of `write`, for callers that append in place; they must call `write("")` now and
  /// then.
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
