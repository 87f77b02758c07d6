/* SPDX-License-Identifier: MIT */
/*
 * hour SECONDS FILE: a made-up job of that length through ledger, replay log and recording, as
 * `gpufeed run` drives them (a commit twice a second). Prints the peak memory, the size of the
 * recording that it leaves at FILE, and how much of the time was booked.
 */
#include "made_up.h"

#include "base/mem.h"
#include "base/unit.h"
#include "record/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define TICKS_PER_COMMIT 5

struct hour {
    struct ledger *ledger;
    struct replay_log *log;
    struct record *record;
    struct replay_cursor cursor;
    struct error error;
    uint64_t booked, ticks;
};

static void need(struct hour *h, int rc)
{
    if (rc == STATUS_OK)
        return;
    fprintf(stderr, "hour: %s\n", h->error.text);
    exit(1);
}

static void on_row(void *arg, const struct ledger_row *row)
{
    struct hour *h = arg;
    h->booked += (uint64_t)row->ns;
    need(h, record_row(h->record, row, &h->error));
}

static void on_chain(void *arg, const struct chain_example *chain)
{
    struct hour *h = arg;
    need(h, record_chain(h->record, chain, "store", &h->error));
}

static int on_fact(void *arg, const struct fact *fact)
{
    struct hour *h = arg;
    need(h, record_fact(h->record, fact, &h->error));
    return 0;
}

static void commit(struct hour *h)
{
    struct str chunk = {0};
    if (replay_log_consumers(h->log) && replay_encode(h->log, 0, &h->cursor, &chunk) && chunk.len)
        need(h, record_deliveries(h->record, chunk.data, chunk.len, &h->error));
    str_clear(&chunk);
    need(h, record_commit(h->record, &h->error));
}

static void on_tick(void *arg, int64_t t)
{
    struct hour *h = arg;
    (void)t;
    if (++h->ticks % TICKS_PER_COMMIT == 0)
        commit(h);
}

static void finish(struct hour *h, int64_t seconds)
{
    struct record_end end = {.events_lost = ledger_lost(h->ledger)};
    ledger_facts(h->ledger, on_fact, h);
    commit(h);
    need(h, record_span(h->record, 0, seconds * NS_PER_S, &h->error));
    need(h, record_finish(h->record, &end, &h->error));
    record_close(h->record);
}

int main(int argc, char **argv)
{
    struct hour h = {0};
    struct intern names = {0};
    struct stat file;
    long seconds = argc == 3 ? atol(argv[1]) : 0;
    if (seconds < 1) {
        fprintf(stderr, "usage: hour SECONDS FILE\n");
        return 2;
    }
    struct record_meta meta = {.title = "a made-up job",
                               .version = "bench",
                               .mode = "wait chain",
                               .start_unix_ns = NS_PER_S,
                               .window_ns = NS_PER_S};
    need(&h, record_create(argv[2], &meta, &h.record, &h.error));
    need(&h, record_accelerator(h.record, 0, "made-up:0", "made-up GPU", true, &h.error));
    h.log = replay_log_new(0);
    struct ledger_options o = {
        .names = &names, .log = h.log, .arg = &h, .row = on_row, .chain = on_chain};
    h.ledger = ledger_new(&o);
    if (!h.log || !h.ledger)
        return 1;
    made_up_begin(h.ledger, &names);
    for (uint32_t i = 1; i <= names.count; i++)
        need(&h, record_resource(h.record, i, intern_text(&names, i), &h.error));
    made_up_run(h.ledger, seconds, on_tick, &h);
    finish(&h, seconds);
    if (stat(argv[2], &file))
        return 1;
    printf("%ld s: peak %.1f MiB, recording %.2f MiB, booked %.1f s, lost %llu\n", seconds,
           mem_peak_bytes() / MIB, (double)file.st_size / MIB, unit_seconds((int64_t)h.booked),
           (unsigned long long)ledger_lost(h.ledger));
    ledger_free(h.ledger);
    replay_log_free(h.log);
    intern_clear(&names);
    return 0;
}
