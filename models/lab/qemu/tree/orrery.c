// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-or-later, as part of QEMU.)
 *
 * A QEMU whose virtual time another process grants (orrery_protocol.h):
 *
 *     -icount speed=HZ,sleep=off -device orrery-clock,fd=N,cards=COUNT
 *
 * A timer at the end of the grant waits for the next one while it holds QEMU's lock, so nothing of
 * the machine goes on meanwhile. It comes before all other timers of its nanosecond, and what
 * arrives comes after them (QEMU_TIMER_ATTR_FIRST, _LAST). All timers run in the processor's thread,
 * which also moves time when the processor is idle: so the guest sees no other thread. The end of
 * the connection ends QEMU.
 *
 * The device has the network clients orrery0, orrery1, ... A card that is joined to one sends
 * frames with the time at which the sending instruction began, or of the timer that sends. The card
 * has its buffer back when the last bit has left.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "exec/cpu-common.h"
#include "hw/core/cpu.h"
#include "hw/qdev-core.h"
#include "hw/qdev-properties.h"
#include "net/net.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qemu/timer.h"
#include "system/cpus.h"
#include "system/cpu-timers.h"
#include "system/runstate.h"
#include "system/runstate-action.h"
#include "orrery.h"
#include "orrery_protocol.h"

#define TYPE_ORRERY_CLOCK "orrery-clock"
OBJECT_DECLARE_SIMPLE_TYPE(OrreryClock, ORRERY_CLOCK)

typedef struct OrreryCard {
    NetClientState nc;
    uint32_t number;
    bool sending;       /* the last bit of the held frame has not left */
    bool left;          /* it has; the card may have its buffer back */
    bool on;            /* the guest's driver runs the card, since that time */
    int64_t on_since;
    size_t held_bytes;
    uint8_t held[ORRERY_MOST_FRAME];
} OrreryCard;

/* What happens to the machine at a time, after the timers of that time. */
typedef struct OrreryAction {
    QTAILQ_ENTRY(OrreryAction) link;
    struct orrery_message message;
    uint8_t frame[];
} OrreryAction;

struct OrreryClock {
    DeviceState parent;
    int32_t fd;
    uint32_t cards;

    QEMUTimer limit, action;
    int64_t granted;            /* all before this time may be executed */
    int64_t last;               /* time of the last message to the other side */
    uint32_t refused;
    int64_t on;                 /* for how long cards were on that are off */
    ShutdownCause reset;        /* NONE: not asked */
    QTAILQ_HEAD(, OrreryAction) actions;    /* by time and kind */
    OrreryCard *card[ORRERY_MOST_CARDS];
};

static OrreryClock *the_clock;

bool orrery_grants(void)
{
    return the_clock != NULL;
}

/* ---- Messages */

static G_NORETURN void give_up(const char *why)
{
    error_report("orrery-clock: %s", why);
    _exit(1);
}

static void tell(OrreryClock *s, struct orrery_message message, const uint8_t *frame)
{
    if (qemu_write_full(s->fd, &message, sizeof(message)) != sizeof(message) ||
        qemu_write_full(s->fd, frame, message.bytes) != message.bytes) {
        _exit(1);       /* the other side has ended */
    }
}

static void hear_bytes(OrreryClock *s, void *to, size_t bytes)
{
    for (ssize_t some; bytes > 0; bytes -= some, to += some) {
        some = RETRY_ON_EINTR(read(s->fd, to, bytes));
        if (some <= 0) {
            _exit(1);   /* the other side has ended */
        }
    }
}

/* The frame goes to a buffer of ORRERY_MOST_FRAME. */
static void hear(OrreryClock *s, struct orrery_message *message, uint8_t *frame)
{
    hear_bytes(s, message, sizeof(*message));
    if (message->bytes > ORRERY_MOST_FRAME || message->number >= ORRERY_MOST_CARDS) {
        give_up("a message has too long a frame, or is about a card that there is not");
    }
    hear_bytes(s, frame, message->bytes);
}

/*
 * The time of what the guest does now, which is before the end of the grant: an instruction of the
 * processor has begun before that, though it may end later.
 */
static int64_t time_of_act(OrreryClock *s)
{
    int64_t time = current_cpu && current_cpu->running ? icount_instruction_ns()
                                                       : timerlist_running_ns();

    return s->last = MAX(s->last, time);
}

/* What the machine has done before the message's time. */
static void add_work(OrreryClock *s, struct orrery_message *message)
{
    message->executed = icount_get_raw();
    message->on = s->on;
    for (uint32_t i = 0; i < s->cards; i++) {
        if (s->card[i]->on) {
            message->cards++;
            message->on += MAX(message->time - s->card[i]->on_since, 0);
        }
    }
}

/* ---- Time */

static void next_action(OrreryClock *s)
{
    OrreryAction *first = QTAILQ_FIRST(&s->actions);

    if (first) {
        timer_mod_ns(&s->action, first->message.time);
    }
}

static void add_action(OrreryClock *s, const struct orrery_message *message,
                       const uint8_t *frame)
{
    OrreryAction *action = g_malloc(sizeof(*action) + message->bytes), *before;

    action->message = *message;
    memcpy(action->frame, frame, message->bytes);
    QTAILQ_FOREACH_REVERSE(before, &s->actions, link) {
        if (before->message.time < message->time ||
            (before->message.time == message->time &&
             before->message.kind <= message->kind)) {
            break;
        }
    }
    if (before) {
        QTAILQ_INSERT_AFTER(&s->actions, before, action, link);
    } else {
        QTAILQ_INSERT_HEAD(&s->actions, action, link);
    }
    next_action(s);
}

/* The end of the grant. */
static void wait_for_grant(void *opaque)
{
    static uint8_t frame[ORRERY_MOST_FRAME];
    OrreryClock *s = opaque;
    struct orrery_message message = {
        .kind = ORRERY_STOPPED,
        .number = s->refused,
        .time = s->granted,
        .next = all_cpu_threads_idle() ? timerlist_first_ns() : s->granted,
    };

    s->last = MAX(s->last, s->granted);
    message.next = MAX(message.next, s->granted);
    s->refused = 0;
    add_work(s, &message);
    tell(s, message, frame);
    for (;;) {
        hear(s, &message, frame);
        if (message.time < s->granted) {
            give_up("a message is about the past");
        }
        switch (message.kind) {
        case ORRERY_GRANT:
            s->granted = message.time;
            timer_mod_ns(&s->limit, s->granted);
            return;
        case ORRERY_DOWN:
        case ORRERY_UP:
        case ORRERY_ARRIVE:
            add_action(s, &message, frame);
            break;
        default:
            give_up("a message is none of this version");
        }
    }
}

bool orrery_idle(void)
{
    if (!the_clock || cpu_is_stopped(first_cpu)) {
        return false;
    }
    if (orrery_reset_if_asked()) {
        return true;
    }
    icount_warp_to_timer();
    qemu_clock_run_timers(QEMU_CLOCK_VIRTUAL);
    return true;
}

static bool yields;

void orrery_yield(void)
{
    yields = true;
}

bool orrery_take_yield(void)
{
    bool was = yields;

    yields = false;
    return was;
}

/* ---- Cards */

static void arrive(OrreryClock *s, OrreryCard *card, const OrreryAction *action)
{
    NetClientState *nic = card->nc.peer;

    if (!nic || nic->link_down ||
        qemu_receive_packet(nic, action->frame, action->message.bytes) <= 0) {
        s->refused++;
    }
}

static void set_link(OrreryCard *card, bool up)
{
    NetClientState *nic = card->nc.peer;

    card->nc.link_down = !up;
    if (nic) {
        nic->link_down = !up;
        if (nic->info->link_status_changed) {
            nic->info->link_status_changed(nic);
        }
    }
}

static void let_go(OrreryCard *card)
{
    card->sending = false;
    card->left = true;
    qemu_flush_queued_packets(&card->nc);
    card->left = false;
}

/* One action a call: what it causes at the same nanosecond comes before the next. */
static void act(void *opaque)
{
    OrreryClock *s = opaque;
    OrreryAction *action = QTAILQ_FIRST(&s->actions);
    OrreryCard *card = s->card[action->message.number];

    QTAILQ_REMOVE(&s->actions, action, link);
    if (card && action->message.kind == ORRERY_ARRIVE) {
        arrive(s, card, action);
    } else if (card && action->message.kind == ORRERY_LEFT) {
        let_go(card);
    } else if (card) {
        set_link(card, action->message.kind == ORRERY_UP);
    }
    g_free(action);
    next_action(s);
}

/*
 * A frame that takes time to leave is not accepted at once: QEMU keeps it, and gives it again when
 * its last bit has left. A reset of the card may have removed it by then, so it is compared.
 */
static ssize_t send_frame(NetClientState *nc, const uint8_t *frame, size_t bytes)
{
    OrreryCard *card = DO_UPCAST(OrreryCard, nc, nc);
    OrreryClock *s = the_clock;
    struct orrery_message message = {
        .kind = ORRERY_FRAME, .number = card->number, .bytes = bytes,
    };

    if (card->sending) {
        return 0;
    }
    if (card->left) {
        card->left = false;
        if (bytes == card->held_bytes && memcmp(frame, card->held, bytes) == 0) {
            return bytes;
        }
    }
    if (bytes < ORRERY_LEAST_FRAME || bytes > ORRERY_MOST_FRAME) {
        return bytes;
    }
    message.time = time_of_act(s);
    tell(s, message, frame);
    hear(s, &message, card->held);
    if (message.kind != ORRERY_LEFT || message.number != card->number || message.bytes) {
        give_up("the answer to a frame is none");
    }
    if (message.time <= s->last) {
        return bytes;
    }
    memcpy(card->held, frame, card->held_bytes = bytes);
    card->sending = true;
    add_action(s, &message, card->held);
    return 0;
}

static NetClientInfo client_info = {
    .type = NET_CLIENT_DRIVER_NONE,
    .size = sizeof(OrreryCard),
    .receive = send_frame,
};

void orrery_card_is(NetClientState *nic, bool on)
{
    OrreryCard *card = the_clock && nic->peer && nic->peer->info == &client_info
        ? DO_UPCAST(OrreryCard, nc, nic->peer) : NULL;

    if (!card || card->on == on) {
        return;
    }
    card->on = on;
    if (on) {
        card->on_since = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    } else {
        the_clock->on += qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) - card->on_since;
    }
}

/* ---- Reset and the end */

bool orrery_ask_reset(ShutdownCause reason)
{
    if (!the_clock || !current_cpu) {
        return false;
    }
    if (reboot_action == REBOOT_ACTION_SHUTDOWN) {
        orrery_off(reason, 0);
    }
    the_clock->reset = reason;
    cpu_exit(current_cpu);
    return true;
}

bool orrery_reset_if_asked(void)
{
    ShutdownCause reason = the_clock ? the_clock->reset : SHUTDOWN_CAUSE_NONE;

    if (reason == SHUTDOWN_CAUSE_NONE) {
        return false;
    }
    the_clock->reset = SHUTDOWN_CAUSE_NONE;
    qemu_system_reset(reason);
    return true;
}

void orrery_off(ShutdownCause reason, int status)
{
    struct orrery_message message = { .kind = ORRERY_OFF };

    if (!the_clock) {
        return;
    }
    message.number = reason == SHUTDOWN_CAUSE_GUEST_SHUTDOWN ? status : 256 + reason;
    message.time = time_of_act(the_clock);
    add_work(the_clock, &message);
    tell(the_clock, message, NULL);
    _exit(0);
}

/* ---- The device */

static void orrery_clock_realize(DeviceState *device, Error **errp)
{
    OrreryClock *s = ORRERY_CLOCK(device);

    if (the_clock || !icount_enabled() || s->fd < 0 || s->cards > ORRERY_MOST_CARDS) {
        error_setg(errp, "orrery-clock: one for a machine with -icount, with fd=N and at most "
                   "%d cards", ORRERY_MOST_CARDS);
        return;
    }
    the_clock = s;
    QTAILQ_INIT(&s->actions);
    for (uint32_t i = 0; i < s->cards; i++) {
        g_autofree char *name = g_strdup_printf("orrery%u", i);
        NetClientState *nc = qemu_new_net_client(&client_info, NULL, "orrery", name);

        s->card[i] = DO_UPCAST(OrreryCard, nc, nc);
        s->card[i]->number = i;
    }
    timer_init_full(&s->limit, NULL, QEMU_CLOCK_VIRTUAL, SCALE_NS, QEMU_TIMER_ATTR_FIRST,
                    wait_for_grant, s);
    timer_init_full(&s->action, NULL, QEMU_CLOCK_VIRTUAL, SCALE_NS, QEMU_TIMER_ATTR_LAST, act, s);
    timer_mod_ns(&s->limit, 0);
}

static const Property orrery_clock_properties[] = {
    DEFINE_PROP_INT32("fd", OrreryClock, fd, -1),
    DEFINE_PROP_UINT32("cards", OrreryClock, cards, 0),
};

static void orrery_clock_class_init(ObjectClass *class, void *data)
{
    DeviceClass *device = DEVICE_CLASS(class);

    device->realize = orrery_clock_realize;
    device->desc = "virtual time granted by another process";
    device->hotpluggable = false;
    device_class_set_props(device, orrery_clock_properties);
}

static const TypeInfo orrery_clock_info = {
    .name = TYPE_ORRERY_CLOCK,
    .parent = TYPE_DEVICE,
    .instance_size = sizeof(OrreryClock),
    .class_init = orrery_clock_class_init,
};

static void register_orrery_clock(void)
{
    type_register_static(&orrery_clock_info);
}

type_init(register_orrery_clock)
