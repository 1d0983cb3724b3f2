/* A reader of JSON, as far as a scenario needs it: a document becomes a tree of nodes. */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_TEXT, JSON_LIST, JSON_OBJECT };

struct json {
    enum json_kind kind;
    char *name;        /* of an object's member */
    unsigned long key; /* of its name: names that differ mostly differ here, too */
    char *text;        /* of a text, its bytes; of a number, its digits; of a bool, "1" or "0" */
    struct json *item; /* the first of a list or an object */
    struct json *next;
};

/* NULL for what is no JSON; to be given back to json_free. */
struct json *json_parse(const char *text);
void json_free(struct json *node);

/* NULL where there is none; a NULL node has no members. */
const struct json *json_member(const struct json *node, const char *name);
const struct json *json_item(const struct json *node, size_t index);
size_t json_length(const struct json *node);

/* Of a number or a bool. */
unsigned long long json_bits(const struct json *node);
double json_double(const struct json *node);

#endif
