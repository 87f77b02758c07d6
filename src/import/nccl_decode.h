/* SPDX-License-Identifier: MIT */
/* nccl_decode: the values in a line whose shape is known. Internal to the room. */
#ifndef GPUFEED_IMPORT_NCCL_DECODE_H
#define GPUFEED_IMPORT_NCCL_DECODE_H

#include "import/nccl_line.h"

/* Fills what l->kind holds from its text (not cut); a line that does not hold becomes NCCL_UNKNOWN. */
void nccl_decode(struct nccl_line *l, const char *text);
/* PyTorch: "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=..., OpType=..."; false: not that. */
bool nccl_decode_watchdog(struct nccl_line *l, const char *line);

#endif
