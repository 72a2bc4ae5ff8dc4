// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-only, as part of a kernel.)
 *
 * Memory that the kernel has freed but cannot use yet. Files, directory entries and other objects
 * are freed under RCU: their memory can be used again after the processor has switched to another
 * program, or at a tick. A host's processor is infinitely fast, so one program may look at many
 * thousand files before either happens, and it would be killed for lack of memory while most of the
 * memory is free (`ls -lR /usr/share` in 32 MiB). So the kernel waits for RCU before it kills.
 */
#include <linux/init.h>
#include <linux/minmax.h>
#include <linux/notifier.h>
#include <linux/oom.h>
#include <linux/rcupdate.h>
#include <linux/vmstat.h>

static int lab_finish_freeing(struct notifier_block *self, unsigned long unused, void *freed)
{
	const unsigned long before = global_zone_page_state(NR_FREE_PAGES);
	unsigned long after;

	rcu_barrier();
	after = global_zone_page_state(NR_FREE_PAGES);
	*(unsigned long *)freed += after - min(before, after);
	return NOTIFY_OK;
}

static struct notifier_block lab_memory_notifier = { .notifier_call = lab_finish_freeing };

static int __init lab_watch_memory(void)
{
	return register_oom_notifier(&lab_memory_notifier);
}
late_initcall(lab_watch_memory);
