/* SPDX-License-Identifier: MIT */
/* Network interfaces, by netdevice(7). */
#include "fix/knob.h"

#include "base/str.h"

#include <errno.h>
#include <linux/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static bool may(const char *target, const char *value)
{
    return *target && strlen(target) < IFNAMSIZ && !strchr(target, '/') &&
           (!strcmp(value, "up") || !strcmp(value, "down"));
}

/* Reads the flags, and writes them with IFF_UP as told if `up` >= 0. */
static int flags(const char *target, int up, short *ret, struct error *e)
{
    struct ifreq r = {0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_errno(e, "cannot look at interface \"%s\"", target);
    str_copy(r.ifr_name, sizeof(r.ifr_name), target);
    int rc = ioctl(fd, SIOCGIFFLAGS, &r);
    if (!rc && up >= 0) {
        r.ifr_flags = (short)(up ? r.ifr_flags | IFF_UP : r.ifr_flags & ~IFF_UP);
        rc = ioctl(fd, SIOCSIFFLAGS, &r);
    }
    int why = errno;
    close(fd);
    *ret = r.ifr_flags;
    if (!rc)
        return STATUS_OK;
    errno = why == ENODEV ? ENOENT : why;
    return error_errno(e, "interface \"%s\"", target);
}

static int get(const char *root, const char *target, char value[KNOB_VALUE], struct error *e)
{
    short f;
    if (root && *root)
        return error_set(e, STATUS_MISSING, "a dump has no interface to set");
    int status = flags(target, -1, &f, e);
    if (!status)
        str_copy(value, KNOB_VALUE, f & IFF_UP ? "up" : "down");
    return status;
}

static int set(const char *root, const char *target, const char *value, struct error *e)
{
    short f;
    return flags(target, !strcmp(value, "up"), &f, e);
}

const struct knob knob_link = {"link", may, get, set, NULL};
