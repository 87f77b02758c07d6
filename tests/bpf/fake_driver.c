/* SPDX-License-Identifier: MIT */
/* Entry points of a driver that take a known time: something for uprobes to sit on. */
#include <time.h>

int cuLaunchKernel(void);
int cuCtxSynchronize(void);
int cuMemcpy(void);

static int nap(long ms)
{
    struct timespec t = {0, ms * 1000000L};
    nanosleep(&t, NULL);
    return 0;
}

int cuLaunchKernel(void)
{
    return nap(5);
}

int cuCtxSynchronize(void)
{
    return nap(20);
}

/* Calls inside calls are part of the outer one. */
int cuMemcpy(void)
{
    cuCtxSynchronize();
    return nap(10);
}
