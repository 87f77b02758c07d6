/* SPDX-License-Identifier: MIT */
/*
 * disk_name: the disk below a block device: "nvme0n1" for the partition 259:2,
 * also through LVM, encryption or RAID where one disk is all there is; else the
 * volume's own name ("md0", "vg-data").
 */
#ifndef GPUFEED_SENSE_DISK_NAME_H
#define GPUFEED_SENSE_DISK_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* dev: MAJOR << 20 | MINOR. false: no such block device below root. */
bool disk_name_of_dev(const char *root, uint32_t dev, char *buf, size_t size);
/* The same for a node such as "/dev/mapper/vg-data" or "/dev/sda1"; its last part must be the
 * kernel's name or a mapper name. */
bool disk_name_of_node(const char *root, const char *node, char *buf, size_t size);

#endif
