/* From a staged answer to what a caller's pointer points at. */
#ifndef FILL_H
#define FILL_H

#include "scenario.h"

enum kind { BYTES, TEXT, U16, U32, I32, U64, I64 };

/* A value's kind; an array's is its elements'. */
#define KIND(value)                                                                                                    \
    _Generic((value),                                                                                                  \
        unsigned char: BYTES, unsigned char *: BYTES, char: TEXT, char *: TEXT,                                        \
        unsigned short: U16, unsigned int: U32, unsigned int *: U32, int: I32, int *: I32,                             \
        unsigned long: U64, unsigned long *: U64, unsigned long long: U64, unsigned long long *: U64, long long: I64)

struct field {
    const char *path; /* `perfProfilesMask.mask` */
    enum kind kind;
    size_t offset, size;
};

/* Of every field but `version`. */
#define FIELD(type, member) {#member, KIND(((type *)0)->member), offsetof(type, member), sizeof(((type *)0)->member)}

/* Numbers into whatever they are, a list into an array, a text into characters or bytes. What is not told is zero.
   Returns NVML_SUCCESS. */
nvmlReturn_t fill(const struct json *value, enum kind kind, void *to, size_t size);

void fill_fields(const struct json *value, const struct field *fields, size_t count, void *to);

/* Whether the answer tells every field: else it is one of an older form of the struct. */
bool tells(const struct json *value, const struct field *fields, size_t count);

/* A text with its end; INSUFFICIENT_SIZE where there is no room. */
nvmlReturn_t fill_text(const struct json *value, char *to, size_t size);

/* A field value as nvml.h's union, its type by the number: `{"type": 3, "value": 7}` names another. */
void fill_union(const struct json *value, nvmlFieldValue_t *to);

#endif
