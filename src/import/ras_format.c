/* SPDX-License-Identifier: MIT */
/* What NCCL's RAS port answers, as JSON. */
#include "import/formats.h"
#include "import/formats_list.h"
#include "import/ras.h"
#include "import/scan.h"

static int on_fact(void *arg, const struct fact *fact)
{
    sink_fact(arg, fact);
    return 0;
}

static int import(struct source *source, struct sink *sink, struct error *e)
{
    struct values v = {0};
    struct scan scan;
    struct error why = {0};
    sink_tool(sink, "NCCL RAS");
    scan_init(&scan, source, &why);
    const struct value *answer = value_scan(&v, &scan, &why);
    if (answer && scan_next(&scan) != SCAN_END && !why.status)
        scan_wrong(&scan, "the end of the file");
    if (!why.status)
        ras_facts(answer, source_path(source), on_fact, sink, &why);
    if (!why.status)
        sink_text(sink, "job", "", "device_unseen", "NCCL RAS tells no device activity");
    scan_clear(&scan);
    values_clear(&v);
    if (why.status && e)
        *e = why;
    return why.status;
}

const struct format format_ras = {.name = "JSON of NCCL RAS", .recognise = ras_is_json,
                                  .import = import};
