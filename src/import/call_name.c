/* SPDX-License-Identifier: MIT */
#include "import/call_name.h"

#include <string.h>

/* The first row that occurs in the name after its prefix (cuda, cu, hip, hsa_) decides. */
static const struct {
    const char *word;
    enum call_kind kind;
} words[] = {
    {"Synchronize", CALL_SYNC},
    {"QueueFinish", CALL_SYNC}, /* SYCL's Unified Runtime and plug-in interface (ur..., pi...) */
    {"EventWait", CALL_SYNC},
    {"EventsWait", CALL_SYNC},
    {"MemoryCopy", CALL_COPY}, /* Level Zero's and theirs */
    {"MemoryFill", CALL_LAUNCH},
    {"USMFill", CALL_LAUNCH},
    {"USMDeviceAlloc", CALL_MEMORY},
    {"USMHostAlloc", CALL_MEMORY},
    {"USMSharedAlloc", CALL_MEMORY},
    {"StreamQuery", CALL_OTHER},
    {"EventQuery", CALL_OTHER},
    {"MemAlloc", CALL_MEMORY},
    {"MemFree", CALL_MEMORY},
    {"MemHost", CALL_MEMORY},
    {"MemCreate", CALL_MEMORY},
    {"MemMap", CALL_MEMORY},
    {"MemUnmap", CALL_MEMORY},
    {"MemSetAccess", CALL_MEMORY},
    {"MemAddress", CALL_MEMORY},
    {"MemRelease", CALL_MEMORY},
    {"MemPrefetch", CALL_MEMORY},
    {"Malloc", CALL_MEMORY},
    {"Free", CALL_MEMORY},
    {"HostAlloc", CALL_MEMORY},
    {"HostRegister", CALL_MEMORY},
    {"HostUnregister", CALL_MEMORY},
    {"HostMalloc", CALL_MEMORY},
    {"Memcpy", CALL_COPY},
    {"Memset", CALL_LAUNCH},
    {"GraphInstantiate", CALL_CONTEXT},
    {"GraphLaunch", CALL_LAUNCH},
    {"Launch", CALL_LAUNCH},
    {"ModuleLoad", CALL_CONTEXT},
    {"LibraryLoad", CALL_CONTEXT},
    {"ModuleGet", CALL_CONTEXT},
    {"CtxCreate", CALL_CONTEXT},
    {"PrimaryCtx", CALL_CONTEXT},
    {"SetDevice", CALL_CONTEXT},
};

static bool has(const char *name, size_t len, const char *word)
{
    return memmem(name, len, word, strlen(word)) != NULL;
}

enum call_kind call_name_kind(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (has(name, len, words[i].word))
            return words[i].kind;
    return CALL_OTHER;
}
