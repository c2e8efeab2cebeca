/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/clock.h"
#include "base/defs.h"

/* Requests by libcurl, `at_once` at a time; gives how many succeeded. */
size_t bench_curl(const char *url, size_t at_once, size_t count, bool post);
