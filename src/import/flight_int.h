/* SPDX-License-Identifier: MIT */
/* flight_int: what flight.c (reading) and flight_facts.c (comparing) share. Internal to the room. */
#ifndef GPUFEED_IMPORT_FLIGHT_INT_H
#define GPUFEED_IMPORT_FLIGHT_INT_H

#include "base/map.h"
#include "import/flight.h"

enum { FLIGHT_SCHEDULED, FLIGHT_STARTED, FLIGHT_COMPLETED };

/* One collective of one rank. */
struct flight_call {
    uint32_t group, rank; /* indices */
    int64_t sequence;
    uint32_t operation, sizes, types; /* interned; 0: absent */
    uint8_t state;
};

/* A rank of a group, as its own dump tells. */
struct flight_seat {
    uint32_t group, rank;
    int64_t completed, started, enqueued; /* highest numbers; -1: none */
};

struct flight_group {
    uint32_t name, description;
    uint32_t members; /* ranks by its configuration; 0 unknown */
    uint32_t dumped;
    int64_t furthest, least; /* last entered by any rank; last completed by all; -1: none */
};

struct flight_dump {
    int rank;
    uint32_t path;
};

struct flight {
    struct intern texts;
    struct map group_of, seat_of, rank_of; /* name; group and rank; number of a rank */
    struct map id_of;                      /* the number that the dump that is read gives a group */
    struct flight_call *calls;
    size_t call_count, call_cap;
    struct flight_seat *seats;
    size_t seat_count, seat_cap;
    struct flight_group *groups;
    size_t group_count, group_cap;
    struct flight_dump *dumps;
    size_t dump_count, dump_cap;
    uint32_t version, library;
    uint64_t skipped, entries;
    bool failed;
};

#endif
