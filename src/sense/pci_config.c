/* SPDX-License-Identifier: MIT */
#include "sense/pci_config.h"

#include <math.h>
#include <stdlib.h>

#define STATUS 0x06
#define STATUS_CAPABILITIES 0x10
#define CAPABILITIES 0x34
#define CAPABILITY_EXPRESS 0x10
#define EXPRESS_CONTROL 0x08
#define CONTROL_RELAXED 0x10
#define EXTENDED 0x100
#define EXTENDED_ACS 0x0d
#define EXTENDED_ATS 0x0f
#define EXTENDED_CONTROL 0x06
#define ATS_ENABLE 0x8000
#define CAPABILITIES_MAX 96

struct space {
    const uint8_t *bytes;
    size_t len;
};

static unsigned u16(const struct space *s, size_t at)
{
    return at + 2 <= s->len ? (unsigned)(s->bytes[at] | s->bytes[at + 1] << 8) : 0;
}

/* Offset of a capability of the classic list; 0 none. */
static size_t capability(const struct space *s, uint8_t id)
{
    if (s->len < 0x40 || !(u16(s, STATUS) & STATUS_CAPABILITIES))
        return 0;
    size_t at = s->bytes[CAPABILITIES] & 0xfc;
    for (int i = 0; i < CAPABILITIES_MAX && at >= 0x40 && at + 2 <= s->len; i++) {
        if (s->bytes[at] == id)
            return at;
        at = s->bytes[at + 1] & 0xfc;
    }
    return 0;
}

static size_t extended(const struct space *s, unsigned id)
{
    size_t at = EXTENDED;
    for (int i = 0; i < CAPABILITIES_MAX && at >= EXTENDED && at + 8 <= s->len; i++) {
        unsigned found = u16(s, at), next = u16(s, at + 2) >> 4 & 0xffc;
        if (!found && !next)
            return 0;
        if (found == id)
            return at;
        at = next;
    }
    return 0;
}

void pci_config_parse(const void *bytes, size_t len, struct pci_config *ret)
{
    struct space s = {bytes, len};
    size_t express = capability(&s, CAPABILITY_EXPRESS);
    size_t acs = extended(&s, EXTENDED_ACS), ats = extended(&s, EXTENDED_ATS);
    *ret = (struct pci_config){-1, -1, -1};
    if (express && express + EXPRESS_CONTROL + 2 <= len)
        ret->relaxed_ordering = (u16(&s, express + EXPRESS_CONTROL) & CONTROL_RELAXED) != 0;
    if (acs)
        ret->acs = (int)u16(&s, acs + EXTENDED_CONTROL);
    if (ats)
        ret->ats = (u16(&s, ats + EXTENDED_CONTROL) & ATS_ENABLE) != 0;
}

/* Transfers per second and lane, and the share of them that are payload after line coding. */
static const struct {
    double gigatransfers, coding;
} generations[] = {
    {2.5, 0.8}, {5, 0.8}, {8, 128.0 / 130}, {16, 128.0 / 130}, {32, 128.0 / 130}, {64, 242.0 / 256},
};
#define GENERATIONS (sizeof(generations) / sizeof(generations[0]))
#define GIGA 1e9
#define BITS_PER_BYTE 8

unsigned pci_generation(const char *speed)
{
    double v = strtod(speed, NULL);
    for (unsigned i = 0; i < GENERATIONS; i++)
        if (fabs(v - generations[i].gigatransfers) < 0.1)
            return i + 1;
    return 0;
}

double pci_rate(unsigned generation, unsigned lanes)
{
    if (!generation || generation > GENERATIONS || !lanes)
        return NAN;
    return generations[generation - 1].gigatransfers * generations[generation - 1].coding * GIGA /
           BITS_PER_BYTE * lanes;
}
