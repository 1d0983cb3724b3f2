/* How a function of the library asks the scenario. */
#ifndef CALLS_H
#define CALLS_H

#include "fill.h"

/* The call `name` with its arguments, as "%u" has them; other: the name under which it is staged too, or NULL. */
__attribute__((format(printf, 4, 5))) struct call call_of(nvmlDevice_t device, const char *name, const char *other,
                                                          const char *arguments, ...);

/* Declares `value`, the staged answer; returns from the function where there is none. */
#define ASK(device, other, ...)                                                                                        \
    const struct call call = call_of(device, __func__, other, __VA_ARGS__);                                            \
    const struct json *value = NULL;                                                                                   \
    const nvmlReturn_t code = ask(&call, &value);                                                                      \
    if (code != NVML_SUCCESS)                                                                                          \
    return code

#define REFUSE_UNLESS(valid)                                                                                           \
    if (!(valid))                                                                                                      \
    return NVML_ERROR_INVALID_ARGUMENT

#define REFUSE_VERSION(to, expected)                                                                                   \
    if ((to)->version != (expected))                                                                                   \
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH

#define PUT(value, to) fill(value, KIND(*(to)), to, sizeof *(to))
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Getters by their shape: one value; a current and a pending one; one of a choice; a text. */
#define VALUE_AS(name, other, type)                                                                                    \
    nvmlReturn_t name(nvmlDevice_t device, type *to)                                                                   \
    {                                                                                                                  \
        REFUSE_UNLESS(device &&to);                                                                                    \
        ASK(device, other, "%s", "");                                                                                  \
        return PUT(value, to);                                                                                         \
    }
#define VALUE(name, type) VALUE_AS(name, NULL, type)

#define TWO_AS(name, other, type)                                                                                      \
    nvmlReturn_t name(nvmlDevice_t device, type *one, type *two)                                                       \
    {                                                                                                                  \
        REFUSE_UNLESS(device &&one &&two);                                                                             \
        ASK(device, other, "%s", "");                                                                                  \
        PUT(json_item(value, 0), one);                                                                                 \
        return PUT(json_item(value, 1), two);                                                                          \
    }
#define TWO(name, type) TWO_AS(name, NULL, type)

#define CHOICE_AS(name, other, chosen, count, type)                                                                    \
    nvmlReturn_t name(nvmlDevice_t device, chosen choice, type *to)                                                    \
    {                                                                                                                  \
        REFUSE_UNLESS(device &&to && (unsigned int)choice < (unsigned int)(count));                                    \
        ASK(device, other, "(%u)", (unsigned int)choice);                                                              \
        return PUT(value, to);                                                                                         \
    }
#define CHOICE(name, chosen, count, type) CHOICE_AS(name, NULL, chosen, count, type)

#define WORDS(name)                                                                                                    \
    nvmlReturn_t name(nvmlDevice_t device, char *to, unsigned int length)                                              \
    {                                                                                                                  \
        REFUSE_UNLESS(device &&to);                                                                                    \
        ASK(device, NULL, "%s", "");                                                                                   \
        return fill_text(value, to, length);                                                                           \
    }

/* A struct of the fields of `table`; VERSIONED: which must say that it is this version. */
#define STRUCT_AS(name, other, type, table)                                                                            \
    nvmlReturn_t name(nvmlDevice_t device, type *to)                                                                   \
    {                                                                                                                  \
        REFUSE_UNLESS(device &&to);                                                                                    \
        ASK(device, other, "%s", "");                                                                                  \
        fill_fields(value, table, COUNT_OF(table), to);                                                                \
        return NVML_SUCCESS;                                                                                           \
    }
#define STRUCT(name, type, table) STRUCT_AS(name, NULL, type, table)

#define VERSIONED_AS(name, other, type, expected, table)                                                               \
    nvmlReturn_t name(nvmlDevice_t device, type *to)                                                                   \
    {                                                                                                                  \
        REFUSE_UNLESS(device &&to);                                                                                    \
        REFUSE_VERSION(to, expected);                                                                                  \
        ASK(device, other, "%s", "");                                                                                  \
        fill_fields(value, table, COUNT_OF(table), to);                                                                \
        return NVML_SUCCESS;                                                                                           \
    }
#define VERSIONED(name, type, expected, table) VERSIONED_AS(name, NULL, type, expected, table)

/* A versioned struct of which the product's answer is one field, or a list of them. */
#define VERSIONED_VALUE(name, type, expected, member)                                                                  \
    nvmlReturn_t name(nvmlDevice_t device, type *to)                                                                   \
    {                                                                                                                  \
        REFUSE_UNLESS(device &&to);                                                                                    \
        REFUSE_VERSION(to, expected);                                                                                  \
        ASK(device, NULL, "%s", "");                                                                                   \
        return PUT(value, &to->member);                                                                                \
    }

#endif
