/* SPDX-License-Identifier: MIT */
/* Pickles and JSON of the flight recorder, of RAS and Inspector: any bytes are refused or become facts. */
#include "fuzz.h"

#include "import/flight.h"
#include "import/inspector.h"
#include "import/pickle.h"
#include "import/ras.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int on_fact(void *arg, const struct fact *f)
{
    (void)arg;
    if (!f->kind || !f->subject || !f->name || !f->unit || !f->source ||
        (!f->text && !isfinite(f->number)))
        abort();
    return 0;
}

static void compare(const struct value *dump)
{
    struct error e = {0};
    struct flight *f = flight_new();
    int status = flight_add(f, dump, 0, "x", &e);
    if (!status)
        status = flight_add(f, dump, -1, "y", &e);
    if (status && (!e.text[0] || strchr(e.text, '\n')))
        abort();
    if (flight_facts(f, on_fact, NULL, NULL))
        abort();
    flight_free(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct values v = {0};
    struct error e = {0};
    const char *text = (const char *)data;
    bool pickle = pickle_recognise(text, size);
    flight_is_json(text, size);
    ras_is_json(text, size);
    const struct value *dump =
        pickle ? pickle_read(&v, text, size, "x", &e) : value_parse(&v, text, size);
    if (pickle && !dump && (!e.text[0] || strchr(e.text, '\n')))
        abort();
    if (dump) {
        struct inspector *p = inspector_new();
        compare(dump);
        ras_facts(dump, "x", on_fact, NULL, &e);
        inspector_line(p, dump);
        if (inspector_facts(p, on_fact, NULL, &e))
            abort();
        inspector_free(p);
    }
    values_clear(&v);
    return 0;
}
