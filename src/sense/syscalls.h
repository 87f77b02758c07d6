/* SPDX-License-Identifier: MIT */
/*
 * syscalls: what a system call waits for, by its number on this machine.
 *
 * One table serves the BPF side (how to find the file) and the sampler.
 */
#ifndef GPUFEED_SENSE_SYSCALLS_H
#define GPUFEED_SENSE_SYSCALLS_H

#include <stdint.h>

enum syscall_kind {
    SYSCALL_UNKNOWN,
    SYSCALL_READ,   /* on the descriptor in argument 0: read, recv, accept, getdents, fstat */
    SYSCALL_WRITE,  /* write, send, connect, truncate, fsync */
    SYSCALL_PATH,   /* open, stat, readlink: looks up a path */
    SYSCALL_CHANGE, /* rename, unlink, mkdir: changes folders */
    SYSCALL_POLL,   /* poll, select, epoll_wait */
    SYSCALL_FUTEX,
    SYSCALL_LOCK,  /* file and System V locks: freed by another thread */
    SYSCALL_QUEUE, /* message queues */
    SYSCALL_SLEEP,
    SYSCALL_SIGNAL, /* pause, sigsuspend, sigwait */
    SYSCALL_CHILD,
    SYSCALL_MEMORY, /* mmap, munmap, brk: the address space's lock, or memory */
    SYSCALL_IOCTL,
};

enum syscall_kind syscall_kind(long number);
/* enum bpf_syscall_class of bpf/wait.h. */
uint8_t syscall_class(long number);
/* The system call that does what this request of io_uring does; 0: none, or it waits for no file. */
uint16_t syscall_of_uring(unsigned opcode);

#endif
