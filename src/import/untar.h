/* SPDX-License-Identifier: MIT */
/*
 * untar: unpacks a tar archive below a folder, to be read as another machine's files. Regular files, folders
 * and links are made; devices, pipes and what else an archive may hold are left out. Nothing is written
 * outside the folder and no link is followed, whatever names and links say.
 *
 * Source of the format: POSIX.1-2017, pax ("ustar", "pax"); GNU tar manual, "Basic Tar Format" (L, K, base-256).
 */
#ifndef GPUFEED_IMPORT_UNTAR_H
#define GPUFEED_IMPORT_UNTAR_H

#include "import/source.h"

#include <stdbool.h>

#define UNTAR_BYTES_MAX ((uint64_t)512 << 20) /* of all files; more is an error */
#define UNTAR_ENTRIES_MAX 1000000

/* Does an archive begin like this? */
bool untar_recognise(const char *head, size_t size);
/* Takes s to its end; folder is there. On an error what was made before stays. */
int untar(struct source *s, const char *folder, struct error *e);

#endif
