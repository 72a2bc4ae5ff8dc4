// SPDX-License-Identifier: Apache-2.0
//
// The results of a study that has ended, as plain tables, study.json, and a text for the terminal.
// None contains a time, a machine or a number of jobs, so the same study gives the same bytes
// everywhere.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "output/terminal.h"
#include "study/campaign.h"
#include "study/plain_table.h"
#include "study/records.h"
#include "study/summary.h"

namespace orrery::study {

/// A warm-up that pilot runs have determined (study/warm_up.h).
struct FixedWarmUp {
  std::string metric;
  std::int64_t ticks = 0;
  std::string text;       ///< "350 s"
  std::size_t point = 0;  ///< the point with the longest warm-up
};

struct StudyResult {
  std::string model_name, model_path;      ///< the path of a shared object; else empty
  std::string revision;                    ///< see RunRecord
  std::string program_build, model_build;  ///< see core/modules.h
  nlohmann::ordered_json identity;         ///< see StudyFolder
  Plan plan;
  std::optional<FixedWarmUp> warm_up;
  double confidence = 0.95;
  std::string compared;            ///< a parameter; empty: none
  std::vector<std::size_t> shown;  ///< measures for the terminal and for pictures
  RunTable runs;
  std::vector<SummaryRow> summary;
  std::vector<Difference> differences;
  std::vector<Failure> failures;
  std::vector<GivenUp> given_up;

  const Measure& measure(std::size_t place) const { return runs.measures()[place]; }
};

/// One row for each run: point, seed, parameters, committed events, fingerprint, and all measures.
PlainTable table_of_runs(const StudyResult& study);
/// One row for each point and measure.
PlainTable table_of_summary(const StudyResult& study);
/// One row for each difference.
PlainTable table_of_comparison(const StudyResult& study);

/// `files`: names of the files beside study.json.
std::string study_json(const StudyResult& study, const std::vector<std::string>& files);

/// The shown measures, one table each, then the differences, then the precisions that were not
/// reached.
std::string study_text(const StudyResult& study, const Terminal& terminal);

/// "with stations=10, after 1000 replications the interval of throughput is +/- 3.2 %, and ..."
std::string given_up_text(const StudyResult& study, const GivenUp& given_up);

}  // namespace orrery::study
