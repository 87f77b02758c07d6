# SPDX-License-Identifier: MIT
"""The few calls of the CUDA driver API that the scenario jobs make, through ctypes.

Works the same on the simulated and on a real libcuda.so.1. `Device` holds one
context; `spin` kernels run for the nanoseconds that they are told.
"""
import ctypes
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p

# Waits in %globaltimer nanoseconds; the simulated device knows the name `spin`.
SPIN_PTX = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry spin(.param .u64 spin_param_0)
{
    .reg .pred %p<2>;
    .reg .u64 %rd<6>;
    ld.param.u64 %rd1, [spin_param_0];
    mov.u64 %rd2, %globaltimer;
LOOP:
    mov.u64 %rd3, %globaltimer;
    sub.s64 %rd4, %rd3, %rd2;
    setp.lt.u64 %p1, %rd4, %rd1;
    @%p1 bra LOOP;
    ret;
}
"""


class CudaError(RuntimeError):
    pass


class Device:
    """A context on one device, a stream, and the kernel `spin`."""

    def __init__(self, ordinal):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", c_uint(0))
        device = c_int()
        self.call("cuDeviceGet", byref(device), c_int(ordinal))
        self.context = c_void_p()
        self.call("cuCtxCreate_v2", byref(self.context), c_uint(0), device)
        self.module = c_void_p()
        self.call("cuModuleLoadData", byref(self.module), c_char_p(SPIN_PTX))
        self.function = c_void_p()
        self.call("cuModuleGetFunction", byref(self.function), self.module, c_char_p(b"spin"))
        self.stream = c_void_p()
        self.call("cuStreamCreate", byref(self.stream), c_uint(1))
        self._count = c_uint64()
        self._params = (c_void_p * 1)(ctypes.addressof(self._count))
        self._launch = self.lib.cuLaunchKernel
        one, zero = c_uint(1), c_uint(0)
        self._launch_args = (self.function, one, one, one, one, one, one, zero, self.stream,
                             self._params, None)

    def call(self, name, *args):
        rc = getattr(self.lib, name)(*args)
        if rc:
            raise CudaError(f"{name} answered {rc}")

    def spin(self, ns):
        self._count.value = ns
        rc = self._launch(*self._launch_args)
        if rc:
            raise CudaError(f"cuLaunchKernel answered {rc}")

    def synchronize(self):
        self.call("cuStreamSynchronize", self.stream)

    def alloc(self, size):
        at = c_uint64()
        self.call("cuMemAlloc_v2", byref(at), c_size_t(size))
        return at

    def host_buffer(self, size, pinned):
        """Address of host memory, pinned or pageable, and what keeps it alive."""
        if pinned:
            at = c_void_p()
            self.call("cuMemAllocHost_v2", byref(at), c_size_t(size))
            return at, None
        memory = ctypes.create_string_buffer(size)
        ctypes.memset(memory, 1, size)
        return c_void_p(ctypes.addressof(memory)), memory

    def copy_in(self, to, host, size, pinned):
        """From host to device; pinned memory need not be waited for."""
        if pinned:
            self.call("cuMemcpyHtoDAsync_v2", to, host, c_size_t(size), self.stream)
        else:
            self.call("cuMemcpyHtoD_v2", to, host, c_size_t(size))

    def close(self):
        self.call("cuCtxDestroy_v2", self.context)
