// SPDX-License-Identifier: Apache-2.0
#include "run/containment/model_text.h"

#include <elf.h>
#include <link.h>

#include <cstring>
#include <string_view>

#include "memory/thread_storage.h"

namespace orrery {
namespace {

bool is_mathematics(const char* path) {
  return std::string_view(path).find("/libm.so") != std::string_view::npos;
}

}  // namespace

struct ModelText::Search {
  ModelText& text;
  std::uintptr_t of_model;
};

ModelText::ModelText(const Model& model) {
  // The table of virtual functions of the model's class lies in the model's module.
  std::uintptr_t table = 0;
  std::memcpy(&table, static_cast<const void*>(&model), sizeof table);
  Search search{*this, table};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* argument) {
        auto& asked = *static_cast<Search*>(argument);
        bool is_models = false;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& part = info->dlpi_phdr[i];
          if (part.p_type == PT_LOAD &&
              asked.of_model - (info->dlpi_addr + part.p_vaddr) < part.p_memsz)
            is_models = true;
        }
        if (is_models || is_mathematics(info->dlpi_name)) asked.text.add(info, is_models);
        return 0;
      },
      &search);
}

void ModelText::add(const void* module_info, bool is_models) {
  const auto& info = *static_cast<const dl_phdr_info*>(module_info);
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info.dlpi_phdr[i];
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0)
      ranges_.push_back({info.dlpi_addr + part.p_vaddr, part.p_memsz});
    if (part.p_type == PT_TLS && is_models) {
      locals_module_ = info.dlpi_tls_modid;
      locals_bytes_ = part.p_memsz;
    }
  }
}

std::byte* ModelText::locals() const {
  if (locals_bytes_ == 0) return nullptr;
  return static_cast<std::byte*>(memory::thread_storage_of(locals_module_));
}

}  // namespace orrery
