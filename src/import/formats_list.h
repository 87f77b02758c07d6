/* SPDX-License-Identifier: MIT */
/*
 * formats_list: the descriptors that formats.c puts in order.
 */
#ifndef GPUFEED_IMPORT_FORMATS_LIST_H
#define GPUFEED_IMPORT_FORMATS_LIST_H

#include "import/formats.h"

extern const struct format format_flight, format_inspector, format_kineto, format_nccl, format_nsys, format_ras;

#endif
