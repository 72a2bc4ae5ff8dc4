// SPDX-License-Identifier: Apache-2.0
#include "page/pictures.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "output/number_text.h"
#include "page/markup.h"

namespace orrery::page {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kMostBytes = 8 << 20;  // of one picture
constexpr std::size_t kMostPictures = 24;

const char* media_type(const fs::path& file) {
  if (file.extension() == ".svg") return "image/svg+xml";
  if (file.extension() == ".png") return "image/png";
  return nullptr;
}

std::vector<fs::path> picture_files(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator one(folder, error), end; !error && one != end; one.increment(error)) {
    std::error_code unknown;
    if (media_type(one->path()) != nullptr && one->is_regular_file(unknown))
      files.push_back(one->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::string base64_of(std::string_view bytes) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    unsigned group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      text += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::vector<Picture> read_pictures(const std::string& path, std::vector<std::string>& remarks) {
  std::vector<Picture> pictures;
  for (const fs::path& file : picture_files(path)) {
    const std::string name = file.filename().string();
    if (pictures.size() == kMostPictures) {
      remarks.push_back(fmt::format("picture {} and those behind it are left out: a page shows {}",
                                    name, kMostPictures));
      break;
    }
    std::ifstream stream(file, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(stream)), {});
    if (bytes.empty() || bytes.size() > kMostBytes) {
      remarks.push_back(
          fmt::format("picture {} is left out: it has {}", name, bytes_text(bytes.size())));
      continue;
    }
    pictures.push_back({name, media_type(file), base64_of(bytes)});
  }
  return pictures;
}

std::string pictures_markup(const std::vector<Picture>& pictures) {
  std::string text;
  for (const Picture& one : pictures)
    text += fmt::format(
        "<figure class=\"picture\">\n<img alt=\"{0}\" src=\"data:{1};base64,{2}\">\n"
        "<figcaption>{0}</figcaption>\n</figure>\n",
        escaped(one.name), one.media_type, one.base64);
  return text.empty() ? "" : "<div class=\"charts\">\n" + text + "</div>\n";
}

}  // namespace orrery::page
