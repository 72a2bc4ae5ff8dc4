// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-only, as part of a kernel.)
 *
 * The kernel's side of lab_time.h. Included at the end of arch/um/kernel/time.c, whose variables it
 * needs.
 */
#include <linux/mm.h>
#include <linux/timekeeper_internal.h>
#include <lab.h>
#include <lab_time.h>

static struct lab_time_page early_page; /* until pages can be allocated */
static struct lab_time_page *lab_page = &early_page;
static struct page *lab_pages[2];

static int __init make_lab_page(void)
{
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);

	BUILD_BUG_ON(LAB_READING_NS != TIMER_MULTIPLIER);
	if (!page)
		return -ENOMEM;
	lab_pages[0] = page;
	lab_page = page_address(page);
	*lab_page = early_page;
	return 0;
}
core_initcall(make_lab_page);

/* Maps the page into a program at `address`. */
struct vm_area_struct *lab_map_time(struct mm_struct *mm, unsigned long address)
{
	static struct vm_special_mapping mapping = { .name = "[time]", .pages = lab_pages };

	return _install_special_mapping(mm, address, PAGE_SIZE,
					VM_READ | VM_WRITE | VM_SHARED | VM_MAYREAD | VM_MAYWRITE |
						VM_DONTEXPAND,
					&mapping);
}

static void set_clock(struct lab_clock *to, const struct tk_read_base *from)
{
	to->base_ns = from->base;
	to->shifted_ns = from->xtime_nsec;
	to->last_cycle = from->cycle_last;
	to->multiplier = from->mult;
	to->shift = from->shift;
}

/* The timekeeper has changed. */
void update_vsyscall(struct timekeeper *tk)
{
	set_clock(&lab_page->monotonic, &tk->tkr_mono);
	set_clock(&lab_page->raw, &tk->tkr_raw);
	lab_page->real_offset = tk->offs_real;
	lab_page->boot_offset = tk->offs_boot;
	lab_page->tai_offset = tk->offs_tai;
}

void update_vsyscall_tz(void)
{
}

/* A program is about to run, until the next event or the calendar's limit. */
void lab_enter_user(void)
{
	const struct time_travel_event *first = time_travel_first_event();
	u64 limit = 0;

	if (time_travel_mode == TT_MODE_EXTERNAL && time_travel_ext_free_until) {
		limit = *time_travel_ext_free_until - time_travel_shm_offset;
		if (first && first->time < limit)
			limit = first->time;
	}
	lab_page->now = time_travel_time;
	lab_page->limit = limit;
}

/* A program has stopped. */
void lab_leave_user(void)
{
	const u64 now = lab_page->now, limit = lab_page->limit;

	if (limit && now > time_travel_time && now < limit && now < S64_MAX)
		time_travel_set_time(now);
}
