/* SPDX-License-Identifier: Apache-2.0 */
/* A library that answers like those of the vendors. FAKE_GPU says how: "ok" (the default), "error"
 * (every
 * call fails), "hang", "crash". */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

static int mood(int ok)
{
	const char *how = getenv("FAKE_GPU");

	if (how && strcmp(how, "hang") == 0)
		sleep(100);
	if (how && strcmp(how, "crash") == 0)
		abort();
	return how && strcmp(how, "error") == 0 ? 100 : ok;
}

PUBLIC int hipRuntimeGetVersion(int *v);
PUBLIC int hipGetDeviceCount(int *n);
PUBLIC int ncclGetVersion(int *v);
PUBLIC int nvmlInit_v2(void);
PUBLIC int nvmlDeviceGetCount_v2(unsigned *n);
PUBLIC int nvmlSystemGetDriverVersion(char *text, unsigned room);
PUBLIC int amdsmi_init(uint64_t flags);

int hipRuntimeGetVersion(int *v)
{
	*v = 60342131;
	return mood(0);
}

int hipGetDeviceCount(int *n)
{
	*n = 8;
	return mood(0);
}

int ncclGetVersion(int *v)
{
	*v = 22203;
	return mood(0);
}

int nvmlInit_v2(void)
{
	return mood(0);
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
	*n = 2;
	return 0;
}

int nvmlSystemGetDriverVersion(char *text, unsigned room)
{
	(void)snprintf(text, room, "570.133.20");
	return 0;
}

int amdsmi_init(uint64_t flags)
{
	return flags == 2 ? mood(0) : 1;
}
