/* SPDX-License-Identifier: MIT */
/* A library to be named by CUDA_INJECTION64_PATH: leaves a file that tells of it. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int InitializeInjection(void);
int InitializeInjection(void)
{
    const char *path = getenv("SIM_INJECTION_PROOF");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL, 0600) : -1;

    if (fd >= 0)
        close(fd);
    return 1;
}
