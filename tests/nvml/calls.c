#include "calls.h"

#include <stdarg.h>
#include <stdio.h>

struct call call_of(nvmlDevice_t device, const char *name, const char *other, const char *arguments, ...)
{
    struct call call = {.device = device};
    char text[96];
    va_list list;

    va_start(list, arguments);
    vsnprintf(text, sizeof text, arguments, list);
    va_end(list);
    snprintf(call.key, sizeof call.key, "%.63s%s", name, text);
    if (other)
        snprintf(call.other, sizeof call.other, "%.63s%s", other, text);
    return call;
}
