/* SPDX-License-Identifier: MIT */
#include "sense/environment.h"

#include <string.h>

/* A name, or the beginning of names when it ends in '*'. */
static const char *const wanted[] = {
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "GOMP_CPU_AFFINITY",
    "KMP_AFFINITY",
    "NCCL_*",
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "MASTER_ADDR",
    "MASTER_PORT",
    "PYTORCH_*",
    "TORCH_NCCL_*",
    "TORCH_CUDNN_*",
    "GLOO_*",
    "UCX_*",
    "FI_*",
    "RCCL_*",
    "NVSHMEM_*",
    "OFI_NCCL_*",
    "MC_*",
    "NIXL_*",
    "HSA_*",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "TF_DATA_*",
    "SLURM_JOB_ID",
    "SLURM_JOB_NAME",
    "SLURM_NTASKS",
    "SLURM_CPUS_PER_TASK",
    "SLURM_GPUS_ON_NODE",
    "SLURM_NNODES",
    "SLURM_PROCID",
    "KUBERNETES_SERVICE_HOST",
    "TOKENIZERS_PARALLELISM",
    "MALLOC_ARENA_MAX",
    "LD_PRELOAD",
    "HF_DATASETS_OFFLINE",
    /* where caches of data and of compiled code lie */
    "HF_HOME",
    "HF_DATASETS_CACHE",
    "HF_HUB_CACHE",
    "TRANSFORMERS_CACHE",
    "TORCH_HOME",
    "XDG_CACHE_HOME",
    "TRITON_CACHE_DIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "TORCH_EXTENSIONS_DIR",
    "WANDB_DIR",
    "TMPDIR",
    "AZUREML_RUN_ID",
    "MPI_LOCALNRANKS",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
};

bool environment_wanted(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        size_t n = strlen(wanted[i]);
        bool head = wanted[i][n - 1] == '*';
        if (head ? len >= n - 1 && !memcmp(name, wanted[i], n - 1)
                 : len == n && !memcmp(name, wanted[i], n))
            return true;
    }
    return false;
}
