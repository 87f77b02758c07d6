/* SPDX-License-Identifier: MIT */
/*
 * services: daemons that accelerators and fabrics need, by the names of their processes.
 */
#ifndef GPUFEED_SENSE_SERVICES_H
#define GPUFEED_SENSE_SERVICES_H

#include <stdbool.h>

/* Is a process of this name (of /proc/PID/comm) one of them? */
bool service_is_known(const char *comm);

#endif
