/* SPDX-License-Identifier: MIT */
/*
 * make_trace MIB: writes a trace of the PyTorch profiler of about that size to standard output, as a
 * stream: steps of a training loop with its loader, operators that nest, launches, flows, kernels,
 * copies and collectives. Ids and times differ, the pattern repeats. Kineto writes all of the CPU's events
 * before all of the device's; so does this.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define OPS 200     /* of a step */
#define OP_NS 60000 /* from one to the next */
#define LOADER_NS 4000000
#define STEP_NS ((int64_t)OPS * OP_NS + LOADER_NS)
#define START_NS INT64_C(4458677009840015)
#define PID 2910249

static uint64_t written;
static const char *const kernels[] = {
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
    "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, "
    "at::detail::Array<char*, 3>)",
    "ampere_sgemm_128x64_tn",
    "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, "
    "true>(cudnnTensorStruct, "
    "float const*, cudnnTensorStruct, float*, float const*, float const*, float, float)",
    "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
};

static void us(char buf[32], int64_t ns)
{
    snprintf(buf, 32, "%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000));
}

static void begin(const char *cat, const char *name, int64_t pid, int64_t tid, int64_t t,
                  int64_t ns)
{
    char ts[32], dur[32];
    us(ts, t);
    us(dur, ns);
    written += (uint64_t)printf(
        ",\n  {\n    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %" PRId64
        ", \"tid\": %" PRId64 ",\n    \"ts\": %s, \"dur\": %s,\n    \"args\": {\n      ",
        cat, name, pid, tid, ts, dur);
}

static void flow(const char *phase, int64_t id, int64_t pid, int64_t tid, int64_t t)
{
    char ts[32];
    us(ts, t);
    written +=
        (uint64_t)printf(",\n  {\n    \"ph\": \"%s\", \"id\": %" PRId64 ", \"pid\": %" PRId64
                         ", \"tid\": %" PRId64 ", \"ts\": %s,\n    \"cat\": \"ac2g\", \"name\": "
                         "\"ac2g\"%s\n  }",
                         phase, id, pid, tid, ts, *phase == 'f' ? ", \"bp\": \"e\"" : "");
}

static void op(const char *name, int64_t id, int64_t t, int64_t ns)
{
    begin("cpu_op", name, PID, PID, t, ns);
    written += (uint64_t)printf(
        "\"External id\": %" PRId64 ",\"Ev Idx\": %" PRId64
        ", \"Input Dims\": [[64, 256, 56, 56], [256]], \"Input type\": [\"float\", "
        "\"float\"]\n    }\n  }",
        id, id - 1);
}

static void cpu_step(int64_t step)
{
    int64_t t = START_NS + step * STEP_NS;
    begin("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", PID,
          PID, t, LOADER_NS);
    written += (uint64_t)printf("\"External id\": %" PRId64 "\n    }\n  }", step);
    for (int64_t i = 0; i < OPS; i++) {
        int64_t id = step * OPS + i + 1, at = t + LOADER_NS + i * OP_NS;
        op(i % 3 ? "aten::conv2d" : "aten::add_", 2 * id, at, 40000);
        if (i % 3)
            op("aten::cudnn_convolution", 2 * id + 1, at + 3000, 33000);
        begin("cuda_runtime", i % 7 ? "cudaLaunchKernel" : "cudaMemcpyAsync", PID, PID, at + 20000,
              6000);
        written += (uint64_t)printf("\"External id\": %" PRId64
                                    ", \"cbid\": 211, \"correlation\": %" PRId64 "\n    }\n  }",
                                    2 * id, id);
        flow("s", id, PID, PID, at + 20000);
    }
}

static void device_step(int64_t step)
{
    int64_t t = START_NS + step * STEP_NS + LOADER_NS;
    for (int64_t i = 0; i < OPS; i++) {
        int64_t id = step * OPS + i + 1, at = t + i * OP_NS + 30000 + 777 * (i % 5);
        bool copy = i % 7 == 0;
        const char *name = kernels[i % 40 == 39 ? 3 : i % 3];
        begin(copy ? "gpu_memcpy" : "kernel", copy ? "Memcpy HtoD (Pinned -> Device)" : name, 0, 7,
              at, 45000 + i);
        written += (uint64_t)printf(
            "\"External id\": %" PRId64 ", \"queued\": 0, \"device\": 0, \"context\": 1, "
            "\"stream\": 7, \"correlation\": %" PRId64
            ", \"registers per thread\": 32, \"shared memory\": 0, "
            "\"blocks per SM\": 118.518517, \"grid\": [12800, 1, 1], \"block\": [128, 1, 1], "
            "\"bytes\": %d\n    }\n  }",
            2 * id, id, copy ? 4096 : 0);
        flow("f", id, 0, 7, at);
    }
}

int main(int argc, char **argv)
{
    static char buffer[1 << 20];
    uint64_t want = argc > 1 ? strtoull(argv[1], NULL, 10) << 20 : 0;
    int64_t steps = 0;
    if (!want) {
        fputs("usage: make_trace MIB\n", stderr);
        return 2;
    }
    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    printf("{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA "
           "A100\", "
           "\"numSms\": 108}],\n  \"baseTimeNanoseconds\": 1711964646000000000,\n  "
           "\"traceEvents\": [\n  "
           "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, \"args\": {\"name\": "
           "\"python\"}}",
           PID);
    while (written < want / 100 * 57) /* the CPU's part */
        cpu_step(steps++);
    for (int64_t i = 0; i < steps; i++)
        device_step(i);
    printf("\n  ],\n  \"traceName\": \"made up\"\n}\n");
    return fflush(stdout) || ferror(stdout);
}
