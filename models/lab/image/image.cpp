// SPDX-License-Identifier: Apache-2.0
//
// Makes the root of hosts from an archive of an image of containers, without a daemon:
//
//   image ARCHIVE FOLDER ARCHITECTURE      (amd64, arm64, riscv64)
//
// leaves FOLDER/root, a squashfs with the owners of the image's files, and FOLDER/config: texts, each
// ended by a zero byte, "eNAME=VALUE" for the environment, "cWORD" for the command, "uUSER" and
// "fFOLDER". A program of its own, so that what a stranger's archive does to its readers stays in this
// process, and so that the command needs no libarchive. What is wrong with an archive is a sentence
// on standard error, and exit status 2.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "../guest.h"
#include "layers.h"
#include "manifest.h"

extern char** environ;

namespace orrery::lab::image {
namespace {

/// sqfstar, which makes a squashfs of the tar that it reads.
class Sqfstar {
 public:
  explicit Sqfstar(const std::string& to) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw ImageError("there is no pipe to be had");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    std::vector<std::string> words = {"sqfstar",    "-no-xattrs", "-quiet",    "-no-progress",
                                      "-root-mode", "755",        "-root-uid", "0",
                                      "-root-gid",  "0",          to};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int error =
        posix_spawnp(&process_, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    input_ = ends[1];
    if (error != 0)
      throw ImageError(std::string("sqfstar cannot be executed (") + std::strerror(error) +
                       "); it is in Debian's package squashfs-tools");
  }
  Sqfstar(const Sqfstar&) = delete;
  Sqfstar& operator=(const Sqfstar&) = delete;

  int input() const { return input_; }
  void finish() {
    close(input_);
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
    if (status != 0) throw ImageError("sqfstar has failed; perhaps the disk is full");
  }

 private:
  pid_t process_ = -1;
  int input_ = -1;
};

void write_config(const Manifest& manifest, const std::string& to) {
  std::ofstream file(to, std::ios::binary);
  const auto put = [&](char kind, const std::string& text) { file << kind << text << '\0'; };
  for (const std::string& one : manifest.environment) put('e', one);
  for (const std::string& one : manifest.command) put('c', one);
  put('u', manifest.user);
  put('f', manifest.folder);
  file.close();
  if (!file) throw ImageError("'" + to + "' cannot be written");
}

void make(const std::string& path, const std::string& folder, const std::string& architecture) {
  const OuterArchive archive(path);
  const Manifest manifest = read_manifest(archive, architecture);
  const Layers layers(archive, manifest.layers);
  if (!layers.has_file("bin/sh"))
    throw ImageError("it has no /bin/sh, which executes the commands of hosts");
  Sqfstar to(folder + "/root");
  layers.write_tar(to.input());
  to.finish();
  write_config(manifest, folder + "/config");
}

}  // namespace
}  // namespace orrery::lab::image

int main(int count, char** words) {
  if (count != 4) {
    std::fputs("usage: image ARCHIVE FOLDER ARCHITECTURE\n", stderr);
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  setenv("SOURCE_DATE_EPOCH", std::to_string(orrery::lab::kStartOfDayS).c_str(),
         1);  // none is younger
  try {
    orrery::lab::image::make(words[1], words[2], words[3]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
