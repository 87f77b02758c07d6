/* SPDX-License-Identifier: MIT */
#include "import/formats.h"

#include "import/formats_list.h"

static const struct format *const formats[] = {
    &format_nsys,      &format_kineto, &format_flight, &format_ras,
    &format_inspector, &format_nccl,   &format_prom,
};
#define FORMATS (sizeof(formats) / sizeof(formats[0]))

const struct format *format_of(const char *head, size_t size)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (formats[i]->recognise(head, size))
            return formats[i];
    return NULL;
}

const struct format *format_at(size_t i)
{
    return i < FORMATS ? formats[i] : NULL;
}
