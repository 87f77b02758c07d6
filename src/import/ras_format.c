/* SPDX-License-Identifier: MIT */
/* What NCCL's RAS port answers, as JSON. */
#include "import/formats.h"
#include "import/formats_list.h"
#include "import/ras.h"

static int import(struct source *source, struct sink *sink, struct error *e)
{
    struct values v = {0};
    const struct value *answer;
    sink_tool(sink, "NCCL RAS");
    int status = value_read(&v, source, &answer, e);
    if (!status)
        status = ras_facts(answer, source_path(source), sink_take_fact, sink, e);
    if (!status)
        sink_text(sink, "job", "", "device_unseen", "NCCL RAS tells no device activity");
    values_clear(&v);
    return status;
}

const struct format format_ras = {
    .name = "JSON of NCCL RAS", .recognise = ras_is_json, .import = import};
