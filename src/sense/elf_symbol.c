/* SPDX-License-Identifier: MIT */
#include "sense/elf_symbol.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct image {
    const unsigned char *data;
    uint64_t size;
};

/* A part of the file, or NULL where it would reach beyond. */
static const void *part(const struct image *f, uint64_t offset, uint64_t bytes)
{
    return offset <= f->size && bytes <= f->size - offset ? f->data + offset : NULL;
}

static const Elf64_Ehdr *header_of(const struct image *f)
{
    const Elf64_Ehdr *h = part(f, 0, sizeof(*h));
    if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 ||
        h->e_shentsize != sizeof(Elf64_Shdr) || h->e_phentsize != sizeof(Elf64_Phdr))
        return NULL;
    return h;
}

/* From an address of the loaded library to an offset in its file; 0 where no segment holds it. */
static uint64_t offset_of(const struct image *f, const Elf64_Ehdr *h, uint64_t address)
{
    const Elf64_Phdr *p = part(f, h->e_phoff, (uint64_t)h->e_phnum * sizeof(*p));
    for (unsigned i = 0; p && i < h->e_phnum; i++)
        if (p[i].p_type == PT_LOAD && address >= p[i].p_vaddr &&
            address - p[i].p_vaddr < p[i].p_filesz)
            return address - p[i].p_vaddr + p[i].p_offset;
    return 0;
}

static int match(const char *name, size_t room, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(names[i]);
        if (length < room && memcmp(name, names[i], length + 1) == 0)
            return (int)i;
    }
    return -1;
}

static int scan(const struct image *f, const Elf64_Ehdr *h, const Elf64_Shdr *symbols,
                const Elf64_Shdr *texts, const char *const *names, uint64_t *offsets, size_t count)
{
    const Elf64_Sym *s = part(f, symbols->sh_offset, symbols->sh_size);
    const char *text = part(f, texts->sh_offset, texts->sh_size);
    int found = 0;
    if (!s || !text)
        return 0;
    for (uint64_t i = 0; i < symbols->sh_size / sizeof(*s); i++) {
        if (ELF64_ST_TYPE(s[i].st_info) != STT_FUNC || !s[i].st_value ||
            s[i].st_name >= texts->sh_size)
            continue;
        int at = match(text + s[i].st_name, texts->sh_size - s[i].st_name, names, count);
        if (at >= 0 && !offsets[at]) {
            offsets[at] = offset_of(f, h, s[i].st_value);
            found += offsets[at] != 0;
        }
    }
    return found;
}

static int search(const struct image *f, const char *const *names, uint64_t *offsets, size_t count)
{
    const Elf64_Ehdr *h = header_of(f);
    if (!h)
        return STATUS_INPUT;
    const Elf64_Shdr *s = part(f, h->e_shoff, (uint64_t)h->e_shnum * sizeof(*s));
    int found = 0;
    for (unsigned i = 0; s && i < h->e_shnum; i++)
        if (s[i].sh_type == SHT_DYNSYM && s[i].sh_link < h->e_shnum)
            found += scan(f, h, &s[i], &s[s[i].sh_link], names, offsets, count);
    return found;
}

int elf_symbol_offsets(const char *path, const char *const *names, uint64_t *offsets, size_t count,
                       struct error *e)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_errno(e, "cannot open \"%s\"", path);
    void *data = MAP_FAILED;
    if (fstat(fd, &st) == 0 && st.st_size > 0)
        data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (data == MAP_FAILED)
        return error_errno(e, "cannot map \"%s\"", path);
    memset(offsets, 0, count * sizeof(*offsets));
    struct image f = {data, (uint64_t)st.st_size};
    int found = search(&f, names, offsets, count);
    munmap(data, (size_t)st.st_size);
    if (found == STATUS_INPUT)
        return error_set(e, STATUS_INPUT, "\"%s\" is not a 64-bit ELF library", path);
    return found;
}
