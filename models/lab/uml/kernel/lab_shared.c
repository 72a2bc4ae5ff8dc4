// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-only, as part of a kernel.)
 *
 * The kernel's side of lab_shared.h. Included at the end of arch/um/kernel/time.c, whose variables
 * it needs.
 */
#include <linux/bitops.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
#include <lab.h>
#include <lab_shared.h>

static struct {
	struct time_travel_event *event; /* the device's interrupt */
	u64 *queues;                     /* bits of queues that want an interrupt */
	struct virtqueue *receive;
} lab_devices[LAB_MOST_DEVICES];

/* Event without effect: makes the host run at a time without other events. */
static void lab_run_for_nothing(struct time_travel_event *event)
{
}
static struct time_travel_event lab_run = { .fn = lab_run_for_nothing };

static struct lab_shared *lab_shared(void)
{
	struct lab_shared *shared;

	if (!time_travel_shm ||
	    time_travel_shm->len < LAB_SHARED_OFFSET + sizeof(struct lab_shared))
		return NULL;
	shared = (void *)time_travel_shm + LAB_SHARED_OFFSET;
	return shared->magic == LAB_SHARED_MAGIC ? shared : NULL;
}

/* A device got an interrupt by a message. From now on its interrupts may come here, too. */
void lab_takes_interrupts(int device, struct time_travel_event *event, u64 *queues,
			  struct virtio_device *vdev)
{
	struct lab_shared *const shared = lab_shared();
	struct virtqueue *queue;

	if (!shared || !event || device < 0 || device >= LAB_MOST_DEVICES)
		return;
	lab_devices[device].event = event;
	lab_devices[device].queues = queues;
	virtio_device_for_each_vq(vdev, queue)
		if (queue->index == 0)
			lab_devices[device].receive = queue;
	shared->takes |= 1u << device;
}

static bool wants_interrupt(struct virtqueue *queue, u16 index)
{
	const struct vring *ring = virtqueue_get_vring(queue);

	if (virtio_has_feature(queue->vdev, VIRTIO_RING_F_EVENT_IDX))
		return virtio16_to_cpu(queue->vdev, vring_used_event(ring)) == (u16)(index - 1);
	return !(ring->avail->flags &
		 cpu_to_virtio16(queue->vdev, VRING_AVAIL_F_NO_INTERRUPT));
}

static void lab_arrive(struct time_travel_event *event);
static struct time_travel_event lab_arrival = { .fn = lab_arrive };

/* Plans an arrival before all other events of that time, whenever they were planned. */
static void plan_arrival(u64 time)
{
	struct time_travel_event *one;
	unsigned long flags;

	local_irq_save(flags);
	lab_arrival.pending = true;
	lab_arrival.time = time;
	list_for_each_entry(one, &time_travel_events, list)
		if (one->time >= time)
			break;
	list_add_tail(&lab_arrival.list, &one->list);
	one = time_travel_first_event();
	time_travel_ext_update_request(one->time);
	time_travel_next_event = one->time;
	local_irq_restore(flags);
}

static void plan_next_arrival(struct lab_shared *shared)
{
	if (!lab_arrival.pending && shared->arrived != shared->given)
		plan_arrival(max_t(u64, time_travel_time,
				   shared->arrival[shared->arrived % LAB_MOST_ARRIVALS].time));
}

static void lab_arrive(struct time_travel_event *event)
{
	struct lab_shared *const shared = lab_shared();
	const struct lab_arrival *const arrival =
		&shared->arrival[shared->arrived % LAB_MOST_ARRIVALS];
	const unsigned int device = arrival->device % LAB_MOST_DEVICES;
	struct virtqueue *const queue = lab_devices[device].receive;

	if (queue) {
		virtqueue_get_vring(queue)->used->idx =
			cpu_to_virtio16(queue->vdev, arrival->index);
		if (wants_interrupt(queue, arrival->index)) {
			*lab_devices[device].queues |= 1;
			time_travel_add_event(lab_devices[device].event, time_travel_time);
		}
	}
	++shared->arrived;
	plan_next_arrival(shared);
}

/* A queue ends. */
void lab_forget_queue(struct virtqueue *queue)
{
	struct lab_shared *const shared = lab_shared();
	unsigned int device;

	for (device = 0; shared && device < LAB_MOST_DEVICES; device++)
		if (lab_devices[device].receive == queue) {
			memset(&lab_devices[device], 0, sizeof(lab_devices[device]));
			shared->takes &= ~(1u << device);
		}
}

/* The laboratory has let the host run. */
void lab_take_interrupts(void)
{
	struct lab_shared *const shared = lab_shared();

	if (!shared)
		return;
	while (shared->interrupts) {
		const unsigned int bit = __ffs64(shared->interrupts), device = bit / 2;

		shared->interrupts &= ~(1ull << bit);
		if (!lab_devices[device].event)
			continue;
		*lab_devices[device].queues |= 1ull << (bit & 1);
		/* An event that waits until interrupts are enabled cannot make the host run. */
		time_travel_add_event(lab_devices[device].event->pending ?
					      &lab_run :
					      lab_devices[device].event,
				      time_travel_time);
	}
	plan_next_arrival(shared);
}

/* A device has something to send. Returns false if the laboratory needs a message now. */
bool lab_note_kick(int device, struct virtqueue *queue)
{
	struct lab_shared *const shared = lab_shared();
	const struct vring *ring = virtqueue_get_vring(queue);
	struct lab_kick *kick;

	if (!shared || device < 0 || device >= LAB_MOST_DEVICES ||
	    !(shared->quiet & 1u << device) || shared->kicks >= LAB_MOST_KICKS)
		return false;
	kick = &shared->kick[shared->kicks++];
	kick->time = time_travel_time;
	kick->device = device;
	kick->queue = queue->index;
	kick->index = virtio16_to_cpu(queue->vdev, ring->avail->idx);
	if (virtio_has_feature(queue->vdev, VIRTIO_RING_F_EVENT_IDX)) /* ask for the next kick, too */
		*(__virtio16 *)&ring->used->ring[ring->num] = ring->avail->idx;
	return true;
}

void lab_tell_end(void)
{
	struct lab_shared *const shared = lab_shared();

	if (shared)
		shared->ended = 1;
}
