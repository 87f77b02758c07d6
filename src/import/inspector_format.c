/* SPDX-License-Identifier: MIT */
/* Files of NCCL's Inspector: one JSON object a line, one file a process. */
#include "import/formats.h"
#include "import/formats_list.h"
#include "import/inspector.h"

/* Objects follow each other; each is a tree of its own. */
static int set_read(void *set, struct source *source, struct sink *sink, struct error *e)
{
    struct values v = {0};
    char *line;
    size_t len;
    uint64_t skipped = inspector_skipped(set), beyond = inspector_beyond(set), broken = 0;
    int status;
    sink_tool(sink, "NCCL Inspector");
    inspector_begin(set);
    while (!(status = source_line(source, &line, &len, e)) && line) {
        if (!len)
            continue;
        const struct value *object = value_parse(&v, line, len);
        if (object)
            inspector_line(set, object);
        broken += !object;
        values_reset(&v);
    }
    values_clear(&v);
    sink_skip(sink, "lines that are no JSON object (cut off, or of another writer)", broken);
    sink_skip(sink, "lines without a collective or without its time",
              inspector_skipped(set) - skipped);
    sink_skip(sink, "lines of operations beyond the 4096th", inspector_beyond(set) - beyond);
    if (!status && !inspector_records(set))
        status = error_set(e, STATUS_INPUT, "\"%s\": no line of NCCL Inspector tells a collective",
                           source_path(source));
    return status;
}

FORMAT_SET(inspector, set_read);

const struct format format_inspector = {
    .name = "JSON lines of NCCL Inspector", .recognise = inspector_is, .set = &inspector_set};
