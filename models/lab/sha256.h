// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 of bytes that come in pieces.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

namespace orrery::lab {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    check(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }
  void add(const void* data, std::size_t bytes) {
    check(EVP_DigestUpdate(context_.get(), data, bytes) == 1);
  }
  /// In hexadecimal digits. The last call.
  std::string text() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned bytes = 0;
    check(EVP_DigestFinal_ex(context_.get(), digest.data(), &bytes) == 1);
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (unsigned i = 0; i < bytes; ++i) {
      text += kDigits[digest[i] >> 4];
      text += kDigits[digest[i] & 15];
    }
    return text;
  }

 private:
  static void check(bool done) {
    if (!done) throw std::runtime_error("libcrypto computes no SHA-256");
  }
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace orrery::lab
