/* SPDX-License-Identifier: MIT */
/*
 * formats_list: the descriptors that formats.c puts in order.
 */
#ifndef GPUFEED_IMPORT_FORMATS_LIST_H
#define GPUFEED_IMPORT_FORMATS_LIST_H

#include "import/formats.h"

extern const struct format format_flight;
extern const struct format format_inspector;
extern const struct format format_kineto;
extern const struct format format_nccl;
extern const struct format format_nsys;
extern const struct format format_prom;
extern const struct format format_ras;

#endif
