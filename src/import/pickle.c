/* SPDX-License-Identifier: MIT */
#include "import/pickle.h"

#include "base/map.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Instructions, from Python's Lib/pickletools.py. */
enum opcode {
    MARK = '(',
    STOP = '.',
    POP = '0',
    POP_MARK = '1',
    DUP = '2',
    BINFLOAT = 'G',
    BININT = 'J',
    BININT1 = 'K',
    BININT2 = 'M',
    NONE = 'N',
    REDUCE = 'R',
    BINSTRING = 'T',
    SHORT_BINSTRING = 'U',
    BINUNICODE = 'X',
    APPEND = 'a',
    BUILD = 'b',
    GLOBAL = 'c',
    DICT = 'd',
    EMPTY_DICT = '}',
    APPENDS = 'e',
    BINGET = 'h',
    LONG_BINGET = 'j',
    LIST = 'l',
    EMPTY_LIST = ']',
    BINPUT = 'q',
    LONG_BINPUT = 'r',
    SETITEM = 's',
    TUPLE = 't',
    EMPTY_TUPLE = ')',
    SETITEMS = 'u',
    BINBYTES = 'B',
    SHORT_BINBYTES = 'C',
    PROTO = 0x80,
    TUPLE1 = 0x85,
    TUPLE2 = 0x86,
    TUPLE3 = 0x87,
    NEWTRUE = 0x88,
    NEWFALSE = 0x89,
    LONG1 = 0x8a,
    LONG4 = 0x8b,
    SHORT_BINUNICODE = 0x8c,
    BINUNICODE8 = 0x8d,
    STACK_GLOBAL = 0x93,
    MEMOIZE = 0x94,
    FRAME = 0x95,
};

#define STACK_MAX ((size_t)1 << 22)
#define MEMO_MAX ((size_t)1 << 24)

/* A value's mark: a list maker, which REDUCE takes away. */
enum { PLAIN, MAKER };

struct reader {
    struct values *v;
    const unsigned char *bytes, *at, *end;
    struct value **stack;
    size_t depth, stack_cap;
    size_t *marks;
    size_t mark_count, mark_cap;
    struct map memo; /* number -> value */
    uint64_t memo_next;
    const char *wrong; /* why it was given up; NULL: all is well */
    bool done;
};

static void give_up(struct reader *r, const char *why)
{
    if (!r->wrong)
        r->wrong = why;
}

static void push(struct reader *r, struct value *p)
{
    if (!p || r->depth >= STACK_MAX ||
        !mem_grow((void **)&r->stack, &r->stack_cap, r->depth + 1, sizeof(*r->stack)))
        give_up(r, "it is too large");
    else
        r->stack[r->depth++] = p;
}

static struct value *top(struct reader *r)
{
    if (!r->depth || (r->mark_count && r->marks[r->mark_count - 1] >= r->depth)) {
        give_up(r, "it takes a value that is not there");
        return NULL;
    }
    return r->stack[r->depth - 1];
}

static struct value *pop(struct reader *r)
{
    struct value *p = top(r);
    r->depth -= p != NULL;
    return p;
}

/* n bytes of the pickle; NULL: it ends before. */
static const unsigned char *bytes_of(struct reader *r, uint64_t n)
{
    const unsigned char *p = r->at;
    if (n > (uint64_t)(r->end - r->at)) {
        give_up(r, "it ends in the middle of a value");
        return NULL;
    }
    r->at += n;
    return p;
}

/* An unsigned number of n bytes, little end first. */
static uint64_t number_of(struct reader *r, int n)
{
    uint64_t v = 0;
    const unsigned char *p = bytes_of(r, (uint64_t)n);
    for (int i = n - 1; p && i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

static void push_int(struct reader *r, int64_t n)
{
    struct value *p = value_new(r->v, VALUE_INT);
    if (p)
        p->integer = n;
    push(r, p);
}

/* Two's complement, little end first; what no int64 holds becomes a number. */
static void push_long(struct reader *r, uint64_t n)
{
    const unsigned char *p = bytes_of(r, n);
    uint64_t v = p && n && p[n - 1] & 0x80 ? UINT64_MAX : 0;
    if (!p)
        return;
    if (n > 8) {
        give_up(r, "it holds an integer of more than 64 bits");
        return;
    }
    for (uint64_t i = n; i-- > 0;)
        v = v << 8 | p[i];
    push_int(r, (int64_t)v);
}

static void push_float(struct reader *r)
{
    const unsigned char *p = bytes_of(r, 8);
    struct value *v = value_new(r->v, VALUE_NUMBER);
    uint64_t bits = 0;
    for (int i = 0; p && i < 8; i++)
        bits = bits << 8 | p[i];
    if (v)
        memcpy(&v->number, &bits, sizeof(bits));
    push(r, v);
}

static void push_text(struct reader *r, uint64_t n)
{
    const unsigned char *p = bytes_of(r, n);
    if (!p)
        return;
    struct value *v = value_new(r->v, VALUE_TEXT);
    const char *copy = v ? value_copy(r->v, (const char *)p, (size_t)n) : NULL;
    if (copy)
        v->text = copy;
    push(r, copy ? v : NULL);
}

static void push_bool(struct reader *r, bool b)
{
    struct value *p = value_new(r->v, VALUE_BOOL);
    if (p)
        p->integer = b;
    push(r, p);
}

static void mark(struct reader *r)
{
    if (r->mark_count >= STACK_MAX ||
        !mem_grow((void **)&r->marks, &r->mark_cap, r->mark_count + 1, sizeof(*r->marks)))
        give_up(r, "it is too large");
    else
        r->marks[r->mark_count++] = r->depth;
}

/* Where the values since the last mark begin. */
static size_t since_mark(struct reader *r)
{
    if (!r->mark_count) {
        give_up(r, "it goes back to a mark that is not there");
        return r->depth;
    }
    return r->marks[--r->mark_count];
}

static void add(struct reader *r, struct value *list, struct value *item)
{
    if (item->mark == MAKER)
        give_up(r, "it holds what is no plain data");
    else if (!value_add(r->v, list, item))
        give_up(r, "it is too large");
}

/* All from `from` on go into `list`, and from the stack. */
static void add_all(struct reader *r, struct value *list, size_t from)
{
    for (size_t i = from; i < r->depth && !r->wrong; i++)
        add(r, list, r->stack[i]);
    r->depth = from < r->depth ? from : r->depth;
}

static void make(struct reader *r, enum value_kind kind, size_t from)
{
    struct value *list = value_new(r->v, kind);
    if (r->wrong || !list) {
        give_up(r, "it is too large");
        return;
    }
    add_all(r, list, from);
    push(r, list);
}

static void make_tuple(struct reader *r, size_t n)
{
    size_t least = r->mark_count ? r->marks[r->mark_count - 1] : 0;
    if (r->depth < least + n)
        give_up(r, "it takes a value that is not there");
    else
        make(r, VALUE_LIST, r->depth - n);
}

/* The values since the mark, or the last `n`, into the list or dict below them. */
static void extend(struct reader *r, enum value_kind kind, size_t n)
{
    size_t from = n ? (r->depth >= n ? r->depth - n : 0) : since_mark(r);
    if (r->wrong)
        return;
    if (!from || from > r->depth || r->stack[from - 1]->kind != kind ||
        (kind == VALUE_DICT && (r->depth - from) % 2)) {
        give_up(r, "it adds to what is no list or dict");
        return;
    }
    add_all(r, r->stack[from - 1], from);
}

static void put(struct reader *r, uint64_t n)
{
    struct value *p = top(r);
    if (p && (r->memo.count >= MEMO_MAX || !map_put(&r->memo, n, (uint64_t)(uintptr_t)p)))
        give_up(r, "it is too large");
}

static void get(struct reader *r, uint64_t n)
{
    uint64_t p;
    if (!map_get(&r->memo, n, &p))
        give_up(r, "it names a value that is not there");
    else
        push(r, (struct value *)(uintptr_t)p);
}

/* "module\nname\n": only the list makers of torch are known. */
static void global(struct reader *r)
{
    static const char *const known[] = {
        "torch.jit._pickle\nbuild_intlist\n", "torch.jit._pickle\nbuild_doublelist\n",
        "torch.jit._pickle\nbuild_boollist\n", "torch.jit._pickle\nrestore_type_tag\n"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        size_t n = strlen(known[i]);
        if ((size_t)(r->end - r->at) < n || memcmp(r->at, known[i], n))
            continue;
        struct value *p = value_new(r->v, VALUE_NULL);
        r->at += n;
        if (p)
            p->mark = MAKER;
        push(r, p);
        return;
    }
    give_up(r, "it would import and run code, which is never done");
}

/* MAKER((list, ...)) is that list. */
static void reduce(struct reader *r)
{
    struct value *arguments = pop(r), *maker = arguments ? pop(r) : NULL;
    if (!maker)
        return;
    if (maker->mark != MAKER || arguments->kind != VALUE_LIST || !arguments->count)
        give_up(r, "it would import and run code, which is never done");
    else
        push(r, arguments->items[0]);
}

/* Constants and numbers. */
static void step_number(struct reader *r, int op)
{
    switch (op) {
    case NONE:
        push(r, value_new(r->v, VALUE_NULL));
        break;
    case NEWTRUE:
        push_bool(r, true);
        break;
    case NEWFALSE:
        push_bool(r, false);
        break;
    case BININT:
        push_int(r, (int32_t)number_of(r, 4));
        break;
    case BININT1:
        push_int(r, (int64_t)number_of(r, 1));
        break;
    case BININT2:
        push_int(r, (int64_t)number_of(r, 2));
        break;
    case LONG1:
        push_long(r, number_of(r, 1));
        break;
    case LONG4:
        push_long(r, number_of(r, 4));
        break;
    case BINFLOAT:
        push_float(r);
        break;
    default:
        give_up(r, "it has an instruction that no dump has");
        break;
    }
}

/* Texts, and what would be objects. */
static void step_data(struct reader *r, int op)
{
    switch (op) {
    case SHORT_BINSTRING:
    case SHORT_BINBYTES:
    case SHORT_BINUNICODE:
        push_text(r, number_of(r, 1));
        break;
    case BINSTRING:
    case BINBYTES:
    case BINUNICODE:
        push_text(r, number_of(r, 4));
        break;
    case BINUNICODE8:
        push_text(r, number_of(r, 8));
        break;
    case GLOBAL:
        global(r);
        break;
    case REDUCE:
        reduce(r);
        break;
    case STACK_GLOBAL:
    case BUILD:
        give_up(r, "it would import and run code, which is never done");
        break;
    default:
        step_number(r, op);
        break;
    }
}

/* Lists, tuples and dictionaries. */
static void step_many(struct reader *r, int op)
{
    switch (op) {
    case EMPTY_DICT:
        push(r, value_new(r->v, VALUE_DICT));
        break;
    case EMPTY_LIST:
    case EMPTY_TUPLE:
        push(r, value_new(r->v, VALUE_LIST));
        break;
    case TUPLE1:
        make_tuple(r, 1);
        break;
    case TUPLE2:
        make_tuple(r, 2);
        break;
    case TUPLE3:
        make_tuple(r, 3);
        break;
    case TUPLE:
    case LIST:
        make(r, VALUE_LIST, since_mark(r));
        break;
    case DICT:
        make(r, VALUE_DICT, since_mark(r));
        break;
    case APPEND:
        extend(r, VALUE_LIST, 1);
        break;
    case APPENDS:
        extend(r, VALUE_LIST, 0);
        break;
    case SETITEM:
        extend(r, VALUE_DICT, 2);
        break;
    case SETITEMS:
        extend(r, VALUE_DICT, 0);
        break;
    default:
        step_data(r, op);
        break;
    }
}

/* The frame, the stack and the memo; each of these hands on what it does not know. */
static void step(struct reader *r, int op)
{
    switch (op) {
    case PROTO:
        number_of(r, 1);
        break;
    case FRAME:
        number_of(r, 8);
        break;
    case MARK:
        mark(r);
        break;
    case POP:
        pop(r);
        break;
    case POP_MARK:
        r->depth = since_mark(r);
        break;
    case DUP:
        push(r, top(r));
        break;
    case BINPUT:
        put(r, number_of(r, 1));
        break;
    case LONG_BINPUT:
        put(r, number_of(r, 4));
        break;
    case MEMOIZE:
        put(r, r->memo_next++);
        break;
    case BINGET:
        get(r, number_of(r, 1));
        break;
    case LONG_BINGET:
        get(r, number_of(r, 4));
        break;
    case STOP:
        r->done = true;
        break;
    default:
        step_many(r, op);
        break;
    }
}

bool pickle_recognise(const char *head, size_t size)
{
    return size >= 3 && (unsigned char)head[0] == PROTO && head[1] >= 2 && head[1] <= 5;
}

const struct value *pickle_read(struct values *v, const char *bytes, size_t size, const char *path,
                                struct error *e)
{
    const unsigned char *start = (const unsigned char *)bytes, *instruction = start;
    struct reader r = {.v = v, .bytes = start, .at = start, .end = start + size};
    while (!r.done && !r.wrong && r.at < r.end) {
        instruction = r.at;
        step(&r, *r.at++);
    }
    if (!r.done)
        give_up(&r, "it ends before its end mark");
    if (r.depth != 1)
        give_up(&r, "it does not leave one value");
    else if (r.stack[0]->mark == MAKER)
        give_up(&r, "it holds what is no plain data");
    const struct value *root = r.wrong ? NULL : r.stack[0];
    if (r.wrong)
        error_set(e, STATUS_INPUT, "\"%s\": the pickle is not read from byte %td on: %s", path,
                  instruction - start, r.wrong);
    free(r.stack);
    free(r.marks);
    map_clear(&r.memo);
    return root;
}
