/* SPDX-License-Identifier: MIT */
/*
 * vm: the size of a cloud machine in the cloud's metadata.
 */
#ifndef GPUFEED_SENSE_VM_H
#define GPUFEED_SENSE_VM_H

#include <stdbool.h>
#include <stddef.h>

/* Does data/machines.tsv tell what a machine of this size should have? */
bool vm_size_known(const char *size);
/* The size's name out of cloud-init's instance-data.json; false: it is not there, or no plain word. */
bool vm_size_of_metadata(const char *json, char *buf, size_t size);

#endif
