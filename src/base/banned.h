/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that don't compile here, and what to use in their place. Included last by defs.h, after
 * the system headers that declare them.
 */
#pragma once

#include <locale.h>
#include <signal.h>
#include <time.h>

/* glibc and fortified headers define some of them as macros. */
#undef strcpy
#undef strcat
#undef strncpy
#undef sprintf
#undef vsprintf
#undef strtok
#undef atoi
#undef atol
#undef strtol
#undef strtoll
#undef strtoul
#undef strtoull
#undef localtime
#undef ctime
#undef system
#undef popen
#undef rand
#undef random
#undef signal
#undef setlocale
#define strcpy    banned_use_struct_str
#define strcat    banned_use_struct_str
#define strncpy   banned_use_xstrndup
#define sprintf   banned_use_str_addf
#define vsprintf  banned_use_str_addf
#define strtok    banned_use_sv_split
#define atoi      banned_use_sv_to_i64
#define atol      banned_use_sv_to_i64
#define strtol    banned_use_sv_to_i64
#define strtoll   banned_use_sv_to_i64
#define strtoul   banned_use_sv_to_i64
#define strtoull  banned_use_sv_to_i64
#define localtime banned_use_time_utc
#define ctime     banned_use_time_utc
#define system    banned_use_proc_run
#define popen     banned_use_proc_run
#define rand      banned_use_rng
#define random    banned_use_rng
#define signal    banned_use_sigaction
#define setlocale banned_the_locale_stays_C
