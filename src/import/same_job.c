/* SPDX-License-Identifier: MIT */
#include "import/same_job.h"

#include <string.h>

/* Process 1 is what traces say that do not know, and what containers have. */
static uint32_t same_process(const struct same_job_file *a, const struct same_job_file *b)
{
    if (*a->host && *b->host && strcmp(a->host, b->host))
        return 0;
    for (unsigned i = 0; i < a->pids; i++)
        for (unsigned k = 0; k < b->pids; k++)
            if (a->pid[i] == b->pid[k] && a->pid[i] > 1)
                return a->pid[i];
    return 0;
}

static bool at_once(const struct same_job_file *a, const struct same_job_file *b)
{
    return a->clocked && b->clocked && a->t0 < b->t1 && b->t0 < a->t1;
}

static bool same_rank(const struct same_job_file *a, const struct same_job_file *b,
                      struct str *line)
{
    if (a->rank < 0 || a->rank != b->rank)
        return false;
    if (b->moved)
        str_addf(line,
                 "it is of rank %d as \"%s\" is, at another time: two recordings of one rank, or "
                 "two jobs; "
                 "its accelerators are shown beside the others",
                 b->rank, a->path);
    else
        str_addf(line,
                 "it is of rank %d as \"%s\" is: the same rank twice, or two jobs; its "
                 "accelerators count "
                 "beside the others",
                 b->rank, a->path);
    return true;
}

static bool copied(const struct same_job_file *a, const struct same_job_file *b, struct str *line)
{
    if (a->rank >= 0 && b->rank >= 0) /* others, and what is made up may be alike */
        return false;
    if (!a->clocked || !b->clocked || b->moved || a->t0 != b->t0 || a->t1 != b->t1 ||
        strcmp(a->tool, b->tool))
        return false;
    str_addf(line,
             "it begins and ends in the same nanoseconds as \"%s\": a copy of it? Its accelerators "
             "count beside "
             "the others",
             a->path);
    return true;
}

static bool other_world(const struct same_job_file *a, const struct same_job_file *b,
                        struct str *line)
{
    if (a->world <= 0 || b->world <= 0 || a->world == b->world)
        return false;
    str_addf(line, "its job has %d rank%s, that of \"%s\" %d: they are not one job", b->world,
             b->world == 1 ? "" : "s", a->path, a->world);
    return true;
}

/* Nodes may number their processes alike: of one tool the host must be known, too. */
static bool one_process(const struct same_job_file *a, const struct same_job_file *b,
                        struct str *line)
{
    uint32_t pid = same_process(a, b);
    bool by_another = strcmp(a->tool, b->tool);
    if (!pid || !at_once(a, b) || (a->rank >= 0 && b->rank >= 0) ||
        !(by_another || (*a->host && *b->host)))
        return false;
    str_addf(line,
             "it shows process %u at the same time as \"%s\"%s: the same rank twice; its "
             "accelerators count "
             "beside the others",
             pid, a->path, by_another ? ", by another tool" : "");
    return true;
}

/* Of two tools, one of which does not tell the rank, and without a clock in common. */
static bool other_tool(const struct same_job_file *a, const struct same_job_file *b,
                       struct str *line)
{
    uint32_t pid = same_process(a, b);
    if (!strcmp(a->tool, b->tool) || (a->rank >= 0 && b->rank >= 0) || (b->moved && b->clocked))
        return false;
    if (a->clocked && b->clocked)
        return false;
    str_addf(line,
             "it is of another tool than \"%s\", and nothing tells that it is another rank of the "
             "same job%s",
             a->path, pid ? ": both show one process number" : "");
    return true;
}

bool same_job_line(const struct same_job_file *before, size_t count,
                   const struct same_job_file *mine, struct str *line)
{
    static bool (*const told[])(const struct same_job_file *, const struct same_job_file *,
                                struct str *) = {other_world, same_rank, copied, one_process,
                                                 other_tool};
    for (size_t t = 0; t < sizeof(told) / sizeof(told[0]); t++)
        for (size_t i = 0; i < count; i++)
            if (told[t](&before[i], mine, line))
                return true;
    if (mine->moved && mine->clocked)
        str_add(line, "it was recorded at another time than the files before it, as ranks of one "
                      "run are not: is it "
                      "of the same job?");
    return mine->moved && mine->clocked;
}
