/* SPDX-License-Identifier: MIT */
/*
 * probe_cost: what the probe costs per launch, in alternating pairs.
 *
 *     probe_cost PROBE.so SIM-FOLDER CUDA-JOB [PAIRS [LAUNCHES]]
 *
 * Runs `cuda_job storm` bare and with the probe, SIM-FOLDER "" for a real GPU,
 * and prints the medians of ns inside cuLaunchKernel and their difference. On
 * the simulator the difference includes the simulated CUPTI.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAIRS_MAX 100

static double one(const char *environment, const char *job, const char *launches)
{
    char command[4096];
    double ns = -1;

    snprintf(command, sizeof(command), "%s '%s' storm %s", environment, job, launches);
    FILE *out = popen(command, "r");
    if (!out || fscanf(out, "%lf", &ns) != 1 || ns < 0) {
        fprintf(stderr, "probe_cost: \"%s\" failed\n", command);
        exit(3);
    }
    pclose(out);
    return ns;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(*values), by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

int main(int argc, char **argv)
{
    double bare[PAIRS_MAX], probed[PAIRS_MAX];
    char dir[] = "/tmp/gpufeed-cost-XXXXXX", sim[1024] = "", with[3072];

    if (argc < 4 || !mkdtemp(dir)) {
        fprintf(stderr, "usage: probe_cost PROBE.so SIM-FOLDER CUDA-JOB [PAIRS [LAUNCHES]]\n");
        return 2;
    }
    int pairs = argc > 4 ? atoi(argv[4]) : 10;
    const char *launches = argc > 5 ? argv[5] : "50000";
    pairs = pairs < 1 ? 1 : pairs > PAIRS_MAX ? PAIRS_MAX : pairs;
    if (argv[2][0])
        snprintf(sim, sizeof(sim),
                 "LD_LIBRARY_PATH='%s' GPUFEED_SIM_LIBDIR='%s' GPUFEED_SIM_DIR='%s' "
                 "GPUFEED_SIMULATE=1",
                 argv[2], argv[2], dir);
    snprintf(with, sizeof(with), "%s CUDA_INJECTION64_PATH='%s' GPUFEED_RING_DIR='%s'", sim,
             argv[1], dir);
    for (int i = 0; i < pairs; i++) {
        bare[i] = one(sim, argv[3], launches);
        probed[i] = one(with, argv[3], launches);
    }
    double a = median(bare, pairs), b = median(probed, pairs);
    printf("ns per launch: bare %.0f, with the probe %.0f, difference %.0f (medians of %d pairs)\n",
           a, b, b - a, pairs);
    snprintf(with, sizeof(with), "rm -rf '%s'", dir);
    return system(with) == 0 ? 0 : 3;
}
