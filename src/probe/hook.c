/* SPDX-License-Identifier: MIT */
#include "probe/hook.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The size of the function by its symbol; 0 unknown. */
static size_t function_bytes(void *function)
{
    ElfW(Sym) *symbol = NULL;
    Dl_info info;

    if (!dladdr1(function, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol ||
        info.dli_saddr != function)
        return 0;
    return symbol->st_size;
}

/* A jump to anywhere, with registers that carry no argument. False: unknown processor. */
static bool make_jump(uint8_t *code, const void *to)
{
#if defined(__x86_64__)
    static const uint8_t movabs_rax[] = {0x48, 0xb8}, jmp_rax[] = {0xff, 0xe0};

    memset(code, 0x90, HOOK_BYTES);
    memcpy(code, movabs_rax, 2);
    memcpy(code + 2, &to, 8);
    memcpy(code + 10, jmp_rax, 2);
    return true;
#elif defined(__aarch64__)
    static const uint32_t ldr_x16_8[] = {0x58000050}, br_x16[] = {0xd61f0200};

    memcpy(code, ldr_x16_8, 4);
    memcpy(code + 4, br_x16, 4);
    memcpy(code + 8, &to, 8);
    return true;
#else
    (void)code;
    (void)to;
    return false;
#endif
}

static bool overwrite(void *function, const uint8_t *code)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = (uintptr_t)function & ~(page - 1);
    uintptr_t to = ((uintptr_t)function + HOOK_BYTES + page - 1) & ~(page - 1);

    if (mprotect((void *)from, to - from, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return false;
    memcpy(function, code, HOOK_BYTES);
    __builtin___clear_cache((char *)function, (char *)function + HOOK_BYTES);
    mprotect((void *)from, to - from, PROT_READ | PROT_EXEC);
    return true;
}

bool hook_set(struct hook *h, void *function, void *instead)
{
    uint8_t code[HOOK_BYTES];

    h->function = NULL;
    if (!function || function_bytes(function) < HOOK_BYTES || !make_jump(code, instead))
        return false;
    memcpy(h->saved, function, HOOK_BYTES);
    if (!overwrite(function, code))
        return false;
    h->function = function;
    return true;
}

void hook_remove(struct hook *h)
{
    if (h->function)
        overwrite(h->function, h->saved);
    h->function = NULL;
}
