/* SPDX-License-Identifier: MIT */
/*
 * wait_event: from what the kernel side saw (bpf_off) to what a thread waited for (event_wait).
 *
 * A waker is named only if it was a user thread in task context; a kernel thread
 * or an interrupt sets WAIT_WAKER_IRQ and the file or socket tells the cause.
 */
#ifndef GPUFEED_SENSE_WAIT_EVENT_H
#define GPUFEED_SENSE_WAIT_EVENT_H

#include "bpf/wait.h"
#include "model/event.h"
#include "sense/resource.h"

/* `daemons`: tgid of a FUSE daemon -> resource number of its mount, learnt and used here: it names
 * waits whose file is not known (a path that is being looked up). */
void wait_event_fill(struct event_wait *ret, const struct bpf_off *o, struct resources *r,
                     struct map *daemons);

#endif
