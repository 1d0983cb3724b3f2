/* The public header, under the names that the library exports. A definition that differs does not compile. */
#ifndef PUBLIC_H
#define PUBLIC_H

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#pragma GCC visibility push(default)
#include <nvml.h>
#pragma GCC visibility pop
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#endif
