/* SPDX-License-Identifier: MIT */
#include "sense/syscalls.h"

#include "bpf/wait.h"

#include <linux/io_uring.h>
#include <stddef.h>
#include <sys/syscall.h>

struct syscall_row {
    uint8_t kind, class;
};

/* Calls that only some architectures have are left out where they do not exist. */
#define ROW(name, kind, class) [SYS_##name] = {SYSCALL_##kind, BPF_SYSCALL_##class},

/* clang-format off */
static const struct syscall_row rows[BPF_SYSCALLS] = {
    ROW(read, READ, FD)
    ROW(pread64, READ, FD)
    ROW(readv, READ, FD)
    ROW(preadv, READ, FD)
    ROW(preadv2, READ, FD)
    ROW(recvfrom, READ, FD)
    ROW(recvmsg, READ, FD)
    ROW(recvmmsg, READ, FD)
    ROW(accept, READ, FD)
    ROW(accept4, READ, FD)
    ROW(getdents64, READ, FD)
    ROW(fstat, READ, FD)
    ROW(fstatfs, READ, FD)
    ROW(lseek, READ, FD)
    ROW(readahead, READ, FD)
    ROW(fadvise64, READ, FD)
    ROW(fgetxattr, READ, FD)
    ROW(close, READ, FD)
    ROW(splice, READ, FD)
    ROW(tee, READ, FD)
    ROW(copy_file_range, READ, FD)
    ROW(write, WRITE, FD)
    ROW(pwrite64, WRITE, FD)
    ROW(writev, WRITE, FD)
    ROW(pwritev, WRITE, FD)
    ROW(pwritev2, WRITE, FD)
    ROW(vmsplice, WRITE, FD)
    ROW(sendfile, WRITE, FD)
    ROW(sendto, WRITE, FD)
    ROW(sendmsg, WRITE, FD)
    ROW(sendmmsg, WRITE, FD)
    ROW(connect, WRITE, FD)
    ROW(shutdown, WRITE, FD)
    ROW(ftruncate, WRITE, FD)
    ROW(fallocate, WRITE, FD)
    ROW(fsync, WRITE, FD)
    ROW(fdatasync, WRITE, FD)
    ROW(sync_file_range, WRITE, FD)
    ROW(syncfs, WRITE, FD)
    ROW(fchmod, WRITE, FD)
    ROW(fchown, WRITE, FD)
    ROW(sync, WRITE, NONE)
    ROW(msync, WRITE, NONE)
    ROW(openat, PATH, PATH)
    ROW(openat2, PATH, PATH)
    ROW(newfstatat, PATH, PATH)
    ROW(statx, PATH, PATH)
    ROW(faccessat, PATH, PATH)
    ROW(faccessat2, PATH, PATH)
    ROW(readlinkat, PATH, PATH)
    ROW(statfs, PATH, PATH)
    ROW(chdir, PATH, PATH)
    ROW(execve, PATH, PATH)
    ROW(execveat, PATH, PATH)
    ROW(getxattr, PATH, PATH)
    ROW(lgetxattr, PATH, PATH)
    ROW(name_to_handle_at, PATH, PATH)
    ROW(truncate, CHANGE, PATH)
    ROW(mkdirat, CHANGE, PATH)
    ROW(unlinkat, CHANGE, PATH)
    ROW(renameat2, CHANGE, PATH)
    ROW(linkat, CHANGE, PATH)
    ROW(symlinkat, CHANGE, PATH)
    ROW(fchmodat, CHANGE, PATH)
    ROW(utimensat, CHANGE, PATH)
    ROW(ppoll, POLL, POLL)
    ROW(pselect6, POLL, SELECT)
    ROW(epoll_pwait, POLL, EPOLL)
#ifdef SYS_epoll_pwait2
    ROW(epoll_pwait2, POLL, EPOLL)
#endif
#ifdef SYS_open /* the older calls of x86-64 */
    ROW(open, PATH, PATH)
    ROW(creat, PATH, PATH)
    ROW(stat, PATH, PATH)
    ROW(lstat, PATH, PATH)
    ROW(access, PATH, PATH)
    ROW(readlink, PATH, PATH)
    ROW(mkdir, CHANGE, PATH)
    ROW(rmdir, CHANGE, PATH)
    ROW(unlink, CHANGE, PATH)
    ROW(rename, CHANGE, PATH)
    ROW(renameat, CHANGE, PATH)
    ROW(link, CHANGE, PATH)
    ROW(symlink, CHANGE, PATH)
    ROW(getdents, READ, FD)
    ROW(poll, POLL, POLL)
    ROW(select, POLL, SELECT)
    ROW(epoll_wait, POLL, EPOLL)
    ROW(pause, SIGNAL, NONE)
    ROW(vfork, CHILD, NONE)
#endif
    ROW(futex, FUTEX, FUTEX)
#ifdef SYS_futex_waitv
    ROW(futex_waitv, FUTEX, NONE)
#endif
    ROW(flock, LOCK, FD)
    ROW(fcntl, LOCK, FD)
    ROW(semop, LOCK, NONE)
    ROW(semtimedop, LOCK, NONE)
    ROW(msgrcv, QUEUE, NONE)
    ROW(msgsnd, QUEUE, NONE)
    ROW(mq_timedreceive, QUEUE, NONE)
    ROW(mq_timedsend, QUEUE, NONE)
    ROW(nanosleep, SLEEP, NONE)
    ROW(clock_nanosleep, SLEEP, NONE)
    ROW(rt_sigtimedwait, SIGNAL, NONE)
    ROW(rt_sigsuspend, SIGNAL, NONE)
    ROW(wait4, CHILD, NONE)
    ROW(waitid, CHILD, NONE)
    ROW(mmap, MEMORY, NONE)
    ROW(munmap, MEMORY, NONE)
    ROW(mremap, MEMORY, NONE)
    ROW(mprotect, MEMORY, NONE)
    ROW(madvise, MEMORY, NONE)
    ROW(mlock, MEMORY, NONE)
    ROW(mlock2, MEMORY, NONE)
    ROW(brk, MEMORY, NONE)
    ROW(ioctl, IOCTL, FD)
    ROW(io_uring_enter, UNKNOWN, URING)
};
/* clang-format on */

static const uint16_t uring_calls[BPF_URING_CALLS] = {
    [IORING_OP_READV] = SYS_readv,
    [IORING_OP_WRITEV] = SYS_writev,
    [IORING_OP_FSYNC] = SYS_fsync,
    [IORING_OP_READ_FIXED] = SYS_pread64, /* read is number 0 on x86-64 */
    [IORING_OP_WRITE_FIXED] = SYS_pwrite64,
    [IORING_OP_POLL_ADD] = SYS_ppoll,
    [IORING_OP_SYNC_FILE_RANGE] = SYS_sync_file_range,
    [IORING_OP_SENDMSG] = SYS_sendmsg,
    [IORING_OP_RECVMSG] = SYS_recvmsg,
    [IORING_OP_ACCEPT] = SYS_accept4,
    [IORING_OP_CONNECT] = SYS_connect,
    [IORING_OP_FALLOCATE] = SYS_fallocate,
    [IORING_OP_READ] = SYS_pread64,
    [IORING_OP_WRITE] = SYS_pwrite64,
    [IORING_OP_SEND] = SYS_sendto,
    [IORING_OP_RECV] = SYS_recvfrom,
    [IORING_OP_SPLICE] = SYS_splice,
};

static const struct syscall_row *row_of(long number)
{
    static const struct syscall_row none = {SYSCALL_UNKNOWN, BPF_SYSCALL_NONE};
    return number >= 0 && number < BPF_SYSCALLS ? &rows[number] : &none;
}

enum syscall_kind syscall_kind(long number)
{
    return row_of(number)->kind;
}

uint8_t syscall_class(long number)
{
    return row_of(number)->class;
}

uint16_t syscall_of_uring(unsigned opcode)
{
    return opcode < BPF_URING_CALLS ? uring_calls[opcode] : 0;
}
