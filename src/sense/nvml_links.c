/* SPDX-License-Identifier: MIT */
#include "sense/nvml_links.h"

#include "base/str.h"

#include <math.h>
#include <string.h>

static void ask_nvlinks(const struct nvml_lib *l, nvml_device d, struct nvml_links *k)
{
    unsigned active, links = 0, up = 0;
    for (unsigned i = 0; l->link_state && i < NVML_LINKS_MAX; i++)
        if (l->link_state(d, i, &active) == NVML_SUCCESS) {
            links++;
            up += active == 1;
        }
    k->nvlinks = links ? links : NAN;
    k->nvlinks_active = links ? up : NAN;
}

static void ask_fabric(const struct nvml_lib *l, nvml_device d, struct nvml_links *k)
{
    struct nvml_fabric f = {.version = NVML_FABRIC_VERSION};
    if (!l->fabric || l->fabric(d, &f) != NVML_SUCCESS || f.state > NVML_FABRIC_COMPLETED)
        return;
    k->fabric_state = f.state;
    if (f.state != NVML_FABRIC_COMPLETED)
        return;
    k->fabric_status = f.status;
    k->fabric_cluster = 0;
    for (size_t i = 0; i < sizeof(f.cluster); i++)
        k->fabric_cluster += f.cluster[i] != 0;
    k->fabric_cluster = k->fabric_cluster > 0;
    k->fabric_health = f.health;
}

static void ask_peers(const struct nvml_lib *l, const nvml_device *devices, unsigned count,
                      unsigned self, struct nvml_links *k)
{
    int status;
    unsigned peers = 0, ok = 0, nvlink = 0;
    for (unsigned i = 0; l->p2p && i < count; i++) {
        if (i == self || l->p2p(devices[self], devices[i], NVML_P2P_READ, &status) != NVML_SUCCESS)
            continue;
        peers++;
        ok += status == NVML_P2P_OK;
        nvlink += l->p2p(devices[self], devices[i], NVML_P2P_NVLINK, &status) == NVML_SUCCESS &&
                  status == NVML_P2P_OK;
    }
    if (!peers)
        return;
    k->peers = peers;
    k->peers_ok = ok;
    k->peers_nvlink = nvlink;
}

void nvml_links_ask(const struct nvml_lib *l, const nvml_device *devices, unsigned count,
                    unsigned self, struct nvml_links *ret)
{
    unsigned mode;
    *ret = (struct nvml_links){NAN, NAN, NAN, NAN, NAN, 0, NAN, NAN, NAN, NAN};
    ask_nvlinks(l, devices[self], ret);
    ask_fabric(l, devices[self], ret);
    ask_peers(l, devices, count, self, ret);
    if (l->persistence && l->persistence(devices[self], &mode) == NVML_SUCCESS)
        ret->persistence = mode;
}

/* Fields of two bits are 1 for true; of four bits a kind of wrong configuration, 1 for none
 * (NVML_GPU_FABRIC_HEALTH_MASK_* of NVML 13). */
static const struct {
    unsigned shift, bits;
    const char *what;
} faults[] = {
    {0, 2, "degraded bandwidth"},      {2, 2, "route recovery in progress"},
    {4, 2, "route unhealthy"},         {6, 2, "access timeout in recovery"},
    {8, 4, "incorrect configuration"},
};

static void fault_fact(unsigned health, struct out *o)
{
    struct str text = {0};
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        unsigned v = health >> faults[i].shift & ((1u << faults[i].bits) - 1);
        if (faults[i].bits == 2 ? v == 1 : v > 1)
            str_addf(&text, "%s%s", text.len ? ", " : "", faults[i].what);
    }
    out_text(o, "fabric_fault", str_text(&text));
    str_clear(&text);
}

void nvml_links_facts(const struct nvml_links *k, struct out *o)
{
    static const char *const states[] = {"unsupported", "not started", "in progress", "completed"};
    out_number(o, "persistence", k->persistence, "1");
    out_number(o, "nvlinks", k->nvlinks, "count");
    out_number(o, "nvlinks_active", k->nvlinks_active, "count");
    if (isfinite(k->fabric_state))
        out_text(o, "fabric", states[(unsigned)k->fabric_state]);
    out_number(o, "fabric_status", k->fabric_status, "count");
    out_number(o, "fabric_cluster", k->fabric_cluster, "1");
    fault_fact(k->fabric_health, o);
    out_number(o, "p2p_peers", k->peers, "count");
    out_number(o, "p2p_ok", k->peers_ok, "count");
    out_number(o, "p2p_nvlink", k->peers_nvlink, "count");
}
