/* SPDX-License-Identifier: MIT */
/* Debug logs of NCCL and RCCL: files of several ranks and hosts are one job. */
#include "import/formats.h"
#include "import/formats_list.h"
#include "import/nccl_log.h"

int nccl_log_read(struct nccl_log *l, struct source *source, struct error *e)
{
    const char *bytes;
    size_t size;
    int status;
    nccl_log_begin(l, source_path(source));
    while (!(status = source_next(source, &bytes, &size, e)) && size)
        nccl_log_feed(l, bytes, size);
    nccl_log_end(l);
    return status;
}

static int set_read(void *set, struct source *source, struct sink *sink, struct error *e)
{
    struct nccl_log *l = set;
    struct nccl_counts before = nccl_log_counts(l);
    sink_tool(sink, "NCCL log");
    int status = nccl_log_read(l, source, e);
    struct nccl_counts after = nccl_log_counts(l);
    sink_skip(sink, "ends of lines longer than 8 KiB", after.cut - before.cut);
    sink_skip(sink, "things beyond what is kept of one job", after.dropped - before.dropped);
    return status;
}

FORMAT_SET(nccl_log, set_read);

const struct format format_nccl = {
    .name = "a debug log of NCCL or RCCL", .recognise = nccl_log_is, .set = &nccl_log_set};
