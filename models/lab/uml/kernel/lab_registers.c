// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-only, as part of a kernel.)
 *
 * Registers of programs on processors with more registers than User Mode Linux keeps, which is
 * 2,696 bytes of XSAVE's standard format: up to AVX-512 and PKRU. Since AMX (2023) there are more,
 * and the machine's kernel takes either all registers or none.
 *
 * A host's program cannot have used the other registers: the machine gives AMX only to processes
 * that ask for it (ARCH_REQ_XCOMP_PERM), and the processes of programs do not. So the other
 * registers are restored to their initial state. Included in arch/x86/um/os-Linux/registers.c.
 *
 * Format: Intel, Software Developer's Manual, volume 1, chapter 13; volume 2, CPUID leaf 0xd.
 */
#include <cpuid.h>
#include <string.h>

enum {
	LAB_KEPT_BYTES = FP_SIZE * sizeof(unsigned long),
	LAB_MOST_BYTES = 64 << 10,
	LAB_IN_USE = 512, /* offset of a bit for each component that is not in its initial state */
};

static unsigned char lab_all[LAB_MOST_BYTES] __attribute__((aligned(64)));
static size_t lab_all_bytes; /* on this machine */
static unsigned long long lab_kept;

/* Finds the kept ones of components 2 to 62; 0 and 1 (x87 and SSE) are at the beginning. */
static void lab_find_kept(void)
{
	unsigned int component, bytes, offset, flags, unused;

	lab_kept = 3;
	for (component = 2; component < 63; component++) {
		__cpuid_count(0xd, component, bytes, offset, flags, unused);
		if (bytes && !(flags & 1) && offset + bytes <= LAB_KEPT_BYTES)
			lab_kept |= 1ull << component;
	}
}

static int lab_find_registers(int pid)
{
	struct iovec all = { lab_all, sizeof(lab_all) };

	if (ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &all) < 0)
		return 0;
	lab_all_bytes = all.iov_len;
	memset(lab_all, 0, sizeof(lab_all));
	lab_find_kept();
	return 1;
}

static int lab_restore_all(int pid, const unsigned long *kept)
{
	struct iovec all = { lab_all, lab_all_bytes };
	unsigned long long in_use;

	memcpy(lab_all, kept, LAB_KEPT_BYTES);
	memcpy(&in_use, lab_all + LAB_IN_USE, sizeof(in_use));
	in_use &= lab_kept;
	memcpy(lab_all + LAB_IN_USE, &in_use, sizeof(in_use));
	return ptrace(PTRACE_SETREGSET, pid, NT_X86_XSTATE, &all) < 0 ? -errno : 0;
}
