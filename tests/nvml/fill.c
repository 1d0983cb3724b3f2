#include "fill.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t sizes[] = {[BYTES] = 1, [TEXT] = 1, [U16] = 2, [U32] = 4, [I32] = 4, [U64] = 8, [I64] = 8};

/* The product writes a byte that is no UTF-8 as `\xNN`. */
static void fill_bytes(const char *from, unsigned char *to, size_t size)
{
    for (size_t at = 0; *from && at < size; at++) {
        unsigned int byte;

        if (sscanf(from, "\\x%2x", &byte) == 1) {
            to[at] = (unsigned char)byte;
            from += 4;
        } else {
            to[at] = (unsigned char)*from++;
        }
    }
}

static void fill_number(const struct json *value, void *to, size_t size)
{
    unsigned long long bits = value->kind == JSON_NULL ? UINT64_MAX : json_bits(value);

    memcpy(to, &bits, size); /* little-endian, as every host of an NVIDIA driver is */
}

nvmlReturn_t fill(const struct json *value, enum kind kind, void *to, size_t size)
{
    size_t each = sizes[kind], at = 0;

    memset(to, 0, size);
    if (value && value->kind == JSON_TEXT)
        fill_bytes(value->text, to, size);
    else if (value && value->kind != JSON_LIST)
        fill_number(value, to, each);
    else
        for (const struct json *item = json_item(value, 0); item && at + each <= size; item = item->next, at += each)
            fill_number(item, (char *)to + at, each);
    return NVML_SUCCESS;
}

static const struct json *at_path(const struct json *value, const char *path)
{
    char names[64], *rest = names;

    snprintf(names, sizeof names, "%s", path);
    for (const char *name; value && (name = strsep(&rest, "."));)
        value = json_member(value, name);
    return value;
}

void fill_fields(const struct json *value, const struct field *fields, size_t count, void *to)
{
    for (const struct field *field = fields; field < fields + count; field++)
        fill(at_path(value, field->path), field->kind, (char *)to + field->offset, field->size);
}

bool tells(const struct json *value, const struct field *fields, size_t count)
{
    for (const struct field *field = fields; field < fields + count; field++)
        if (!at_path(value, field->path))
            return false;
    return true;
}

nvmlReturn_t fill_text(const struct json *value, char *to, size_t size)
{
    const char *text = value->text ? value->text : "";

    if (!to)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (strlen(text) >= size)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    strcpy(to, text);
    return NVML_SUCCESS;
}

static nvmlValueType_t type_of(const struct json *value)
{
    if (value->text && strpbrk(value->text, ".eE"))
        return NVML_VALUE_TYPE_DOUBLE;
    if (value->text && *value->text == '-')
        return (long long)json_bits(value) < INT32_MIN ? NVML_VALUE_TYPE_SIGNED_LONG_LONG : NVML_VALUE_TYPE_SIGNED_INT;
    return json_bits(value) > UINT32_MAX ? NVML_VALUE_TYPE_UNSIGNED_LONG_LONG : NVML_VALUE_TYPE_UNSIGNED_INT;
}

void fill_union(const struct json *value, nvmlFieldValue_t *to)
{
    const struct json *type = json_member(value, "type");
    const struct json *number = type ? json_member(value, "value") : value;
    unsigned long long bits = json_bits(number);
    double real = json_double(number);

    to->valueType = type ? (nvmlValueType_t)json_bits(type) : type_of(number);
    memset(&to->value, 0, sizeof to->value);
    switch (to->valueType) {
    case NVML_VALUE_TYPE_DOUBLE:
        memcpy(&to->value, &real, sizeof real);
        break;
    case NVML_VALUE_TYPE_UNSIGNED_SHORT:
        to->value.usVal = (unsigned short)bits;
        break;
    case NVML_VALUE_TYPE_UNSIGNED_INT:
    case NVML_VALUE_TYPE_SIGNED_INT:
        to->value.uiVal = (unsigned int)bits;
        break;
    default:
        to->value.ullVal = bits;
    }
}
