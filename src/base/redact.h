/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets never enter records, blobs, reports or messages. Two nets: names (a variable whose NAME
 * looks like a credential keeps no value), and shapes (values that look like a credential wherever
 * they stand: bearer headers, cloud and API keys, private key blocks, passwords in URLs, .netrc
 * lines, JWTs).
 */
#pragma once

#include "base/str.h"

#define REDACTED "[redacted]"

bool redact_name(struct sv name); /* HF_TOKEN, AWS_SECRET_ACCESS_KEY, db_password, ... */
/* A copy of the text with every secret-looking value replaced by REDACTED; *ret_hits may be NULL.
 */
char *redact_text(struct sv text, size_t *ret_hits) MUST_USE;
