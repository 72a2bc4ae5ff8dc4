// SPDX-License-Identifier: Apache-2.0
#include "manifest.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace orrery::lab::image {
namespace {

using Json = nlohmann::json;

/// std::nullopt if the archive has no such file.
std::optional<Json> find(const OuterArchive& archive, const std::string& name) {
  const std::optional<std::string> text = archive.text(name);
  if (!text) return std::nullopt;
  Json json = Json::parse(*text, nullptr, false);
  if (json.is_discarded()) throw ImageError("'" + name.substr(0, 200) + "' in it is no JSON");
  return json;
}

Json parse(const OuterArchive& archive, const std::string& name) {
  std::optional<Json> json = find(archive, name);
  if (!json) throw missing(name);
  return std::move(*json);
}

/// The values of a list; none if the key is missing or null.
std::vector<std::string> texts(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return {};
  if (!found->is_array()) throw ImageError(std::string("its '") + key + "' is no list");
  std::vector<std::string> all;
  for (const Json& one : *found) {
    all.push_back(one.get<std::string>());
    if (all.back().find('\0') != std::string::npos)
      throw ImageError(std::string("its '") + key + "' has a zero byte");
  }
  return all;
}

std::string text(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return "";
  return found->get<std::string>();
}

void read_configuration(const Json& json, const std::string& architecture, Manifest& manifest) {
  const std::string system = text(json, "os"), its = text(json, "architecture");
  if (system != "linux" || its != architecture)
    throw ImageError("the image is for " + system.substr(0, 40) + " on " + its.substr(0, 40) +
                     ", and the host runs linux on " + architecture);
  if (!json.contains("config") || json["config"].is_null()) return;
  const Json& config = json["config"];
  manifest.environment = texts(config, "Env");
  manifest.command = texts(config, "Entrypoint");
  for (std::string& word : texts(config, "Cmd")) manifest.command.push_back(std::move(word));
  manifest.user = text(config, "User");
  manifest.folder = text(config, "WorkingDir");
}

Manifest read_docker(const OuterArchive& archive, const Json& images,
                     const std::string& architecture) {
  if (!images.is_array() || images.size() != 1)
    throw ImageError("it holds " + std::to_string(images.size()) +
                     " images, and a root is one: docker save IMAGE");
  Manifest manifest;
  manifest.layers = texts(images[0], "Layers");
  read_configuration(parse(archive, images[0].at("Config").get<std::string>()), architecture,
                     manifest);
  return manifest;
}

/// The name of the content that a descriptor of OCI refers to.
std::string blob(const Json& descriptor) {
  constexpr std::string_view kKind = "sha256:";
  const std::string digest = descriptor.at("digest").get<std::string>();
  if (!digest.starts_with(kKind) ||
      digest.find_first_not_of("0123456789abcdef", kKind.size()) != std::string::npos)
    throw ImageError("'" + digest.substr(0, 100) + "' is no SHA-256 of a content");
  return "blobs/sha256/" + digest.substr(kKind.size());
}

/// The manifest for an architecture in a list, which may be in lists of lists.
Json choose(const OuterArchive& archive, const Json& index, const std::string& architecture,
            int depth) {
  constexpr int kMostDepth = 4;
  std::vector<Json> fitting;
  for (const Json& one : index.at("manifests")) {
    const Json platform = one.value("platform", Json::object());
    if (platform.empty() ||
        (text(platform, "os") == "linux" && text(platform, "architecture") == architecture))
      fitting.push_back(one);
  }
  if (fitting.empty()) throw ImageError("it has no image for linux on " + architecture);
  if (fitting.size() > 1) throw ImageError("it holds several images, and a root is one");
  Json json = parse(archive, blob(fitting[0]));
  if (!json.contains("manifests")) return json;
  if (depth >= kMostDepth) throw ImageError("its lists of images are nested without an end");
  return choose(archive, json, architecture, depth + 1);
}

Manifest read_oci(const OuterArchive& archive, const Json& index, const std::string& architecture) {
  const Json image = choose(archive, index, architecture, 0);
  Manifest manifest;
  for (const Json& layer : image.at("layers")) manifest.layers.push_back(blob(layer));
  read_configuration(parse(archive, blob(image.at("config"))), architecture, manifest);
  return manifest;
}

}  // namespace

Manifest read_manifest(const OuterArchive& archive, const std::string& architecture) {
  Manifest manifest;
  try {
    if (const auto docker = find(archive, "manifest.json")) {
      manifest = read_docker(archive, *docker, architecture);
    } else if (const auto oci = find(archive, "index.json")) {
      manifest = read_oci(archive, *oci, architecture);
    } else {
      throw ImageError(
          "it has neither a manifest.json (docker save) nor an index.json (OCI): it is no image");
    }
  } catch (const Json::exception&) {
    throw ImageError("its manifest or its configuration lacks what an image has");
  }
  if (manifest.layers.empty() || manifest.layers.size() > Limits::kLayers)
    throw ImageError("it has " + std::to_string(manifest.layers.size()) +
                     " layers, and an image has 1 to 256");
  return manifest;
}

}  // namespace orrery::lab::image
