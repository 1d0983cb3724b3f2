#include "json.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    const char *at;
    bool failed;
};

static struct json *read_value(struct reader *reader);

static void skip_space(struct reader *reader)
{
    while (isspace((unsigned char)*reader->at))
        reader->at++;
}

static bool take(struct reader *reader, const char *word)
{
    size_t length = strlen(word);

    skip_space(reader);
    if (strncmp(reader->at, word, length))
        return false;
    reader->at += length;
    return true;
}

static void expect(struct reader *reader, const char *word)
{
    if (!take(reader, word))
        reader->failed = true;
}

static char *copy(const char *from, size_t length)
{
    char *text = calloc(1, length + 1);

    return memcpy(text, from, length);
}

/* The writer escapes whatever is not ASCII, and stages nothing beyond Latin-1. */
static char read_escape(struct reader *reader)
{
    static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
    char letter = *reader->at++, digits[5] = "";
    const char *found = strchr(letters, letter);

    if (letter != 'u')
        return found && letter ? meant[found - letters] : letter;
    strncpy(digits, reader->at, 4);
    reader->at += strlen(digits);
    return (char)strtoul(digits, NULL, 16);
}

static size_t text_length(const char *from)
{
    size_t length = 0;

    while (from[length] && from[length] != '"')
        length += from[length] == '\\' && from[length + 1] ? 2 : 1;
    return length;
}

static char *read_text(struct reader *reader)
{
    char *text, *to;
    const char *end;

    expect(reader, "\"");
    end = reader->at + text_length(reader->at);
    text = to = calloc(1, (size_t)(end - reader->at) + 1);
    while (reader->at < end)
        *to++ = *reader->at == '\\' ? (reader->at++, read_escape(reader)) : *reader->at++;
    *to = 0;
    expect(reader, "\"");
    return text;
}

static unsigned long key_of(const char *name)
{
    unsigned long key = 5381;

    while (*name)
        key = key * 33 + (unsigned char)*name++;
    return key;
}

static void read_items(struct reader *reader, struct json *node, const char *end)
{
    struct json **last = &node->item;

    if (take(reader, end))
        return;
    do {
        char *name = node->kind == JSON_OBJECT ? read_text(reader) : NULL;

        if (name)
            expect(reader, ":");
        *last = read_value(reader);
        (*last)->name = name;
        (*last)->key = name ? key_of(name) : 0;
        last = &(*last)->next;
    } while (!reader->failed && take(reader, ","));
    expect(reader, end);
}

static void read_number(struct reader *reader, struct json *node)
{
    size_t length = strspn(reader->at, "+-.0123456789eEINafinty"); /* Python writes NaN and Infinity too */

    reader->failed |= !length;
    node->kind = JSON_NUMBER;
    node->text = copy(reader->at, length);
    reader->at += length;
}

static struct json *read_value(struct reader *reader)
{
    struct json *node = calloc(1, sizeof *node);

    skip_space(reader);
    if (*reader->at == '"') {
        node->kind = JSON_TEXT;
        node->text = read_text(reader);
    } else if (take(reader, "{")) {
        node->kind = JSON_OBJECT;
        read_items(reader, node, "}");
    } else if (take(reader, "[")) {
        node->kind = JSON_LIST;
        read_items(reader, node, "]");
    } else if (take(reader, "true") || take(reader, "false")) {
        node->kind = JSON_BOOL;
        node->text = copy(reader->at[-2] == 'u' ? "1" : "0", 1);
    } else if (!take(reader, "null")) {
        read_number(reader, node);
    }
    return node;
}

struct json *json_parse(const char *text)
{
    struct reader reader = {text, false};
    struct json *node = read_value(&reader);

    skip_space(&reader);
    if (!reader.failed && !*reader.at)
        return node;
    json_free(node);
    return NULL;
}

void json_free(struct json *node)
{
    while (node) {
        struct json *next = node->next;

        json_free(node->item);
        free(node->name);
        free(node->text);
        free(node);
        node = next;
    }
}

const struct json *json_member(const struct json *node, const char *name)
{
    const struct json *item = node && node->kind == JSON_OBJECT ? node->item : NULL;
    unsigned long key = key_of(name);

    while (item && (item->key != key || strcmp(item->name, name)))
        item = item->next;
    return item;
}

const struct json *json_item(const struct json *node, size_t index)
{
    const struct json *item = node ? node->item : NULL;

    while (item && index--)
        item = item->next;
    return item;
}

size_t json_length(const struct json *node)
{
    size_t length = 0;

    for (const struct json *item = node ? node->item : NULL; item; item = item->next)
        length++;
    return length;
}

unsigned long long json_bits(const struct json *node)
{
    if (!node || !node->text || node->kind == JSON_TEXT)
        return 0;
    return *node->text == '-' ? (unsigned long long)strtoll(node->text, NULL, 10) : strtoull(node->text, NULL, 10);
}

double json_double(const struct json *node)
{
    return node && node->text ? strtod(node->text, NULL) : 0;
}
