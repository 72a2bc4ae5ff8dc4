// SPDX-License-Identifier: Apache-2.0
//
// The root of a host as one file, a squashfs that hosts share: made once from a folder, or from an
// archive of an image of containers (`docker save`, OCI) by image/image.cpp, or given. Files are kept
// by what they are made of, so a changed root has another file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace orrery::lab {

/// A disk in memory is a multiple of what Linux maps at once.
inline constexpr std::uintmax_t kDiskUnit = std::uintmax_t{128} << 20;

/// What an image says about its command; all may be empty.
struct ImageConfig {
  std::vector<std::string> environment;  ///< "NAME=VALUE"
  std::vector<std::string> command;      ///< and its arguments
  std::string user, folder;
};

struct RootImage {
  std::filesystem::path file;  ///< its size is a multiple of kDiskUnit
  ImageConfig config;
};

/// Makes the image unless `cache` has it. `root`: a folder, a squashfs or an archive; `maker`: the
/// program that guest/build makes of image/; `architecture`: that an image must be for, or has to be
/// taken of several ("amd64"). Throws UsageError and std::filesystem::filesystem_error.
RootImage root_image(const std::filesystem::path& root, const std::filesystem::path& cache,
                     const std::filesystem::path& maker, const std::string& architecture);

}  // namespace orrery::lab
