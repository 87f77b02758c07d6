/* SPDX-License-Identifier: MIT */
/*
 * cuda_module: modules made from PTX text, and their kernels.
 *
 * Only what a launch needs is read: the names after .entry and whether the first
 * parameter is 64 bits wide. A kernel whose name holds "spin" and whose first
 * parameter is 64 bits wide runs for that many nanoseconds. Binary images are
 * refused as a driver refuses code for another device. A library of the newer
 * API is a module, its kernels are functions.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"

#define MODULE_MAGIC UINT32_C(0x6d6f6431)
#define FUNCTION_MAGIC UINT32_C(0x66756e31)
#define NO_BINARY_FOR_GPU 209
#define SPIN_NAME "spin"
#define FILE_BYTES_MAX (64 * MIB)

struct name {
    struct name *next;
    char text[];
};

/* Names outlive their modules: activity records point at them. Guarded by sim.lock. */
static struct name *names;

static const char *intern_locked(const char *text, size_t length)
{
    for (struct name *name = names; name; name = name->next)
        if (strncmp(name->text, text, length) == 0 && name->text[length] == '\0')
            return name->text;
    struct name *name = malloc(sizeof(*name) + length + 1);
    if (!name)
        return NULL;
    memcpy(name->text, text, length);
    name->text[length] = '\0';
    name->next = names;
    names = name;
    return name->text;
}

/* ---- reading PTX ------------------------------------------------------------------ */

/* A copy with every comment turned into blanks. */
static char *without_comments(const char *image)
{
    char *text = strdup(image);

    for (char *at = text; at && *at; at++) {
        const char *end = NULL;
        if (at[0] == '/' && at[1] == '/')
            end = at + strcspn(at, "\n");
        else if (at[0] == '/' && at[1] == '*')
            end = strstr(at + 2, "*/") ? strstr(at + 2, "*/") + 2 : at + strlen(at);
        for (; end && at < end; at++)
            *at = ' ';
        if (!*at)
            break;
    }
    return text;
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool first_param_is_64_bits(const char *after_name)
{
    static const char *const types[] = {".u64", ".b64", ".s64"};

    after_name += strspn(after_name, " \t\r\n");
    if (*after_name != '(')
        return false;
    size_t length = strcspn(after_name, ",)");
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        const char *type = strstr(after_name, types[i]);
        if (type && type < after_name + length)
            return true;
    }
    return false;
}

static bool add_entry(abi_cu_module module, const char *at)
{
    size_t length = 0;

    at += strspn(at, " \t\r\n");
    while (is_name_char(at[length]))
        length++;
    if (length == 0)
        return false;
    struct abi_cu_function *grown =
        realloc(module->functions, (module->count + 1) * sizeof(*grown));
    if (!grown)
        return false;
    module->functions = grown;
    struct abi_cu_function *function = &grown[module->count];
    pthread_mutex_lock(&sim.lock);
    *function = (struct abi_cu_function){
        .magic = FUNCTION_MAGIC, .module = module, .name = intern_locked(at, length)};
    pthread_mutex_unlock(&sim.lock);
    if (!function->name)
        return false;
    function->takes_ns = strstr(function->name, SPIN_NAME) && first_param_is_64_bits(at + length);
    module->count++;
    return true;
}

static abi_cu_result read_ptx(abi_cu_module module, const char *image)
{
    static const char directive[] = ".entry";
    char *text = without_comments(image);
    abi_cu_result result = ABI_CU_SUCCESS;

    if (!text)
        return ABI_CU_OUT_OF_MEMORY;
    if (!strstr(text, ".version") || !strstr(text, ".target"))
        result = ABI_CU_INVALID_PTX;
    for (const char *at = text; result == ABI_CU_SUCCESS && (at = strstr(at, directive));) {
        at += sizeof(directive) - 1;
        if (!is_name_char(*at) && !add_entry(module, at))
            result = ABI_CU_INVALID_PTX;
    }
    free(text);
    return result;
}

/* ---- modules -------------------------------------------------------------------------- */

static bool is_module(abi_cu_module module)
{
    return module && module->magic == MODULE_MAGIC;
}

static void module_free(abi_cu_module module)
{
    for (size_t i = 0; i < module->count; i++)
        module->functions[i].magic = 0;
    module->magic = 0;
    free(module->functions);
    free(module);
}

/* Takes the module out of the list and frees it. */
static void module_remove(abi_cu_module module)
{
    pthread_mutex_lock(&sim.lock);
    for (abi_cu_module *link = &sim.modules; *link; link = &(*link)->next)
        if (*link == module) {
            *link = module->next;
            break;
        }
    pthread_mutex_unlock(&sim.lock);
    module_free(module);
}

void sim_module_drop_context(abi_cu_context context)
{
    abi_cu_module module;

    do {
        pthread_mutex_lock(&sim.lock);
        for (module = sim.modules; module && module->context != context;)
            module = module->next;
        pthread_mutex_unlock(&sim.lock);
        if (module)
            module_remove(module);
    } while (module);
}

static abi_cu_result load(const void *image, abi_cu_context context, abi_cu_module *out)
{
    static const unsigned char elf[] = {0x7f, 'E', 'L', 'F'}, fat[] = {0x50, 0xed, 0x55, 0xba};

    if (!image || !out)
        return ABI_CU_INVALID_VALUE;
    if (memcmp(image, elf, sizeof(elf)) == 0 || memcmp(image, fat, sizeof(fat)) == 0)
        return NO_BINARY_FOR_GPU;
    abi_cu_module module = calloc(1, sizeof(*module));
    if (!module)
        return ABI_CU_OUT_OF_MEMORY;
    module->magic = MODULE_MAGIC;
    module->context = context;
    abi_cu_result result = read_ptx(module, image);
    if (result != ABI_CU_SUCCESS) {
        module_free(module);
        return result;
    }
    pthread_mutex_lock(&sim.lock);
    module->next = sim.modules;
    sim.modules = module;
    pthread_mutex_unlock(&sim.lock);
    *out = module;
    sim_call_resource(ABI_RESOURCE_MODULE_LOADED, context, NULL);
    return ABI_CU_SUCCESS;
}

static abi_cu_result load_file(const char *path, abi_cu_context context, abi_cu_module *out)
{
    if (!path || !out)
        return ABI_CU_INVALID_VALUE;
    FILE *file = fopen(path, "re");
    if (!file)
        return ABI_CU_FILE_NOT_FOUND;
    char *text = NULL;
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    abi_cu_result result = ABI_CU_INVALID_IMAGE;
    if (size > 0 && (uint64_t)size <= FILE_BYTES_MAX)
        text = calloc(1, (size_t)size + 1);
    if (text && fseek(file, 0, SEEK_SET) == 0 && fread(text, 1, (size_t)size, file) == (size_t)size)
        result = load(text, context, out);
    free(text);
    fclose(file);
    return result;
}

abi_cu_result do_cuModuleLoadData(struct sim_call *call, abi_cu_module *module, const void *image)
{
    abi_cu_context context;
    abi_cu_result result = sim_context_need(&context);
    return result == ABI_CU_SUCCESS ? load(image, context, module) : result;
}

abi_cu_result do_cuModuleLoadDataEx(struct sim_call *call, abi_cu_module *module, const void *image,
                                    unsigned count, int *options, void **values)
{
    return do_cuModuleLoadData(call, module, image);
}

abi_cu_result do_cuModuleLoad(struct sim_call *call, abi_cu_module *module, const char *path)
{
    abi_cu_context context;
    abi_cu_result result = sim_context_need(&context);
    return result == ABI_CU_SUCCESS ? load_file(path, context, module) : result;
}

abi_cu_result do_cuModuleUnload(struct sim_call *call, abi_cu_module module)
{
    if (!is_module(module))
        return ABI_CU_INVALID_HANDLE;
    sim_call_resource(ABI_RESOURCE_MODULE_UNLOAD_STARTING, module->context, NULL);
    module_remove(module);
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuModuleGetFunction(struct sim_call *call, abi_cu_function *function,
                                     abi_cu_module module, const char *name)
{
    if (!function || !name)
        return ABI_CU_INVALID_VALUE;
    if (!is_module(module))
        return ABI_CU_INVALID_HANDLE;
    for (size_t i = 0; i < module->count; i++)
        if (strcmp(module->functions[i].name, name) == 0) {
            *function = &module->functions[i];
            return ABI_CU_SUCCESS;
        }
    return ABI_CU_NOT_FOUND;
}

abi_cu_result do_cuModuleGetGlobal_v2(struct sim_call *call, abi_cu_ptr *dptr, size_t *bytes,
                                      abi_cu_module module, const char *name)
{
    return is_module(module) ? ABI_CU_NOT_FOUND : ABI_CU_INVALID_HANDLE;
}

abi_cu_result do_cuModuleGetFunctionCount(struct sim_call *call, unsigned *count,
                                          abi_cu_module module)
{
    if (!count)
        return ABI_CU_INVALID_VALUE;
    if (!is_module(module))
        return ABI_CU_INVALID_HANDLE;
    *count = (unsigned)module->count;
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuModuleGetLoadingMode(struct sim_call *call, int *mode)
{
    if (!mode)
        return ABI_CU_INVALID_VALUE;
    *mode = 2; /* lazy */
    return ABI_CU_SUCCESS;
}

/* ---- libraries ---------------------------------------------------------------------------- */

abi_cu_result do_cuLibraryLoadData(struct sim_call *call, abi_cu_module *library, const void *code,
                                   int *jit_options, void **jit_values, unsigned jit_count,
                                   int *options, void **values, unsigned count)
{
    return load(code, NULL, library);
}

abi_cu_result do_cuLibraryLoadFromFile(struct sim_call *call, abi_cu_module *library,
                                       const char *path, int *jit_options, void **jit_values,
                                       unsigned jit_count, int *options, void **values,
                                       unsigned count)
{
    return load_file(path, NULL, library);
}

abi_cu_result do_cuLibraryUnload(struct sim_call *call, abi_cu_module library)
{
    return do_cuModuleUnload(call, library);
}

abi_cu_result do_cuLibraryGetKernel(struct sim_call *call, abi_cu_function *kernel,
                                    abi_cu_module library, const char *name)
{
    return do_cuModuleGetFunction(call, kernel, library, name);
}

abi_cu_result do_cuLibraryGetModule(struct sim_call *call, abi_cu_module *module,
                                    abi_cu_module library)
{
    if (!module)
        return ABI_CU_INVALID_VALUE;
    if (!is_module(library))
        return ABI_CU_INVALID_HANDLE;
    *module = library;
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuLibraryGetKernelCount(struct sim_call *call, unsigned *count,
                                         abi_cu_module library)
{
    return do_cuModuleGetFunctionCount(call, count, library);
}

/* ---- functions ------------------------------------------------------------------------------ */

static bool is_function(abi_cu_function function)
{
    return function && function->magic == FUNCTION_MAGIC;
}

const char *sim_function_name(abi_cu_function function)
{
    return is_function(function) ? function->name : NULL;
}

abi_cu_result do_cuFuncGetName(struct sim_call *call, const char **name, abi_cu_function function)
{
    if (!name)
        return ABI_CU_INVALID_VALUE;
    if (!is_function(function))
        return ABI_CU_INVALID_HANDLE;
    *name = function->name;
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuKernelGetName(struct sim_call *call, const char **name, abi_cu_function kernel)
{
    return do_cuFuncGetName(call, name, kernel);
}

abi_cu_result do_cuKernelGetFunction(struct sim_call *call, abi_cu_function *function,
                                     abi_cu_function kernel)
{
    if (!function)
        return ABI_CU_INVALID_VALUE;
    if (!is_function(kernel))
        return ABI_CU_INVALID_HANDLE;
    *function = kernel;
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuFuncGetModule(struct sim_call *call, abi_cu_module *module,
                                 abi_cu_function function)
{
    if (!module)
        return ABI_CU_INVALID_VALUE;
    if (!is_function(function))
        return ABI_CU_INVALID_HANDLE;
    *module = function->module;
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuFuncGetAttribute(struct sim_call *call, int *value, int attribute,
                                    abi_cu_function function)
{
    /* In the order of CUfunction_attribute: threads per block, shared, constant and local bytes,
     * registers, PTX version, binary version, cache mode, dynamic shared bytes, carveout, ... */
    static const int values[] = {1024, 0, 0, 0, 16, 80, 90, 0, 49152, -1, 0, 0, 0, 0, 0, 0};

    if (!value || attribute < 0 || attribute >= (int)(sizeof(values) / sizeof(*values)))
        return ABI_CU_INVALID_VALUE;
    if (!is_function(function))
        return ABI_CU_INVALID_HANDLE;
    *value = values[attribute];
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuFuncSetAttribute(struct sim_call *call, abi_cu_function function, int attribute,
                                    int value)
{
    return is_function(function) ? ABI_CU_SUCCESS : ABI_CU_INVALID_HANDLE;
}

abi_cu_result do_cuFuncSetCacheConfig(struct sim_call *call, abi_cu_function function, int config)
{
    return is_function(function) ? ABI_CU_SUCCESS : ABI_CU_INVALID_HANDLE;
}

abi_cu_result do_cuOccupancyMaxActiveBlocksPerMultiprocessor(struct sim_call *call, int *blocks,
                                                             abi_cu_function function,
                                                             int block_size, size_t shared_bytes)
{
    enum { THREADS = 2048, BLOCKS = 32 };

    if (!blocks || block_size <= 0)
        return ABI_CU_INVALID_VALUE;
    if (!is_function(function))
        return ABI_CU_INVALID_HANDLE;
    *blocks = THREADS / block_size < BLOCKS ? THREADS / block_size : BLOCKS;
    return ABI_CU_SUCCESS;
}
