// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-or-later, as part of QEMU.)
 *
 * A disk that is memory, on a machine that has a device tree:
 *
 *     -object memory-backend-file,id=NAME,... -device orrery-disk,memdev=NAME,addr=ADDRESS
 *
 * The guest finds its place in the tree, as a region of the kind for which Linux has a driver
 * ("pmem-region"). An NVDIMM would need ACPI, which QEMU's machine for RISC-V has not for it. Nothing
 * of this device is ever executed: the guest reads and writes memory.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "exec/address-spaces.h"
#include "hw/boards.h"
#include "hw/qdev-core.h"
#include "hw/qdev-properties.h"
#include "qemu/module.h"
#include "system/device_tree.h"
#include "system/hostmem.h"

#define TYPE_ORRERY_DISK "orrery-disk"
OBJECT_DECLARE_SIMPLE_TYPE(OrreryDisk, ORRERY_DISK)

struct OrreryDisk {
    DeviceState parent;
    HostMemoryBackend *memory;
    uint64_t address;
};

static void orrery_disk_realize(DeviceState *device, Error **errp)
{
    OrreryDisk *s = ORRERY_DISK(device);
    void *tree = MACHINE(qdev_get_machine())->fdt;
    g_autofree char *node = g_strdup_printf("/disk@%" PRIx64, s->address);
    MemoryRegion *region;

    if (!tree || !s->memory || host_memory_backend_is_mapped(s->memory)) {
        error_setg(errp, "orrery-disk: for a machine with a device tree, with memdev=NAME of a "
                   "memory that nothing else uses");
        return;
    }
    region = host_memory_backend_get_memory(s->memory);
    host_memory_backend_set_mapped(s->memory, true);
    memory_region_add_subregion(get_system_memory(), s->address, region);
    qemu_fdt_add_subnode(tree, node);
    qemu_fdt_setprop_string(tree, node, "compatible", "pmem-region");
    qemu_fdt_setprop_sized_cells(tree, node, "reg", 2, s->address, 2,
                                 memory_region_size(region));
}

static const Property orrery_disk_properties[] = {
    DEFINE_PROP_LINK("memdev", OrreryDisk, memory, TYPE_MEMORY_BACKEND, HostMemoryBackend *),
    DEFINE_PROP_UINT64("addr", OrreryDisk, address, 0),
};

static void orrery_disk_class_init(ObjectClass *class, void *data)
{
    DeviceClass *device = DEVICE_CLASS(class);

    device->realize = orrery_disk_realize;
    device->desc = "a disk that is memory, told by the device tree";
    device->hotpluggable = false;
    device_class_set_props(device, orrery_disk_properties);
}

static const TypeInfo orrery_disk_info = {
    .name = TYPE_ORRERY_DISK,
    .parent = TYPE_DEVICE,
    .instance_size = sizeof(OrreryDisk),
    .class_init = orrery_disk_class_init,
};

static void register_orrery_disk(void)
{
    type_register_static(&orrery_disk_info);
}

type_init(register_orrery_disk)
