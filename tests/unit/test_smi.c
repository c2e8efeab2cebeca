/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "readers/readers.h"
#include "test.h"

static void a_table_with_units_and_gaps(void)
{
	struct smi_csv t CLEANUP(smi_csv_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(smi_csv_read(SV("name, power.limit [W], ecc.mode.current, x\r\n"
				 "NVIDIA H100, 700.00 W, [N/A], 1\r\n"
				 "NVIDIA H100, 650.00 W, Enabled\r\n\r\n"),
			      &t, &err),
		 err);
	CHECK_INT(t.rows, 2);
	CHECK_INT(smi_csv_column(&t, "power.limit"), 1);
	CHECK_INT(smi_csv_column(&t, "power"), -1);
	CHECK_STR(smi_csv_at(&t, 0, 1), "700.00 W");
	CHECK(!smi_csv_at(&t, 0, 2));
	CHECK_STR(smi_csv_at(&t, 1, 2), "Enabled");
	CHECK(!smi_csv_at(&t, 1, 3));
	CHECK(!smi_csv_at(&t, 2, 0));
}

static void messages_are_no_tables(void)
{
	struct smi_csv t CLEANUP(smi_csv_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_INT(smi_csv_read(SV("NVIDIA-SMI has failed because it couldn't communicate\n"), &t,
			       &err),
		  -ERR_PARSE);
	CHECK_INT(smi_csv_read(SV("No devices were found\n"), &t, &err), -ERR_PARSE);
	CHECK_INT(smi_csv_read(SV("name, power.limit [W]\n"), &t, &err), -ERR_PARSE);
	CHECK_STR(err.msg, "no row");
	CHECK_INT(smi_csv_read(SV(""), &t, &err), -ERR_PARSE);
}

static void reads_version(const char *text, const char *tool, const char *lib, const char *rocm,
			  const char *driver)
{
	struct amd_smi_version v CLEANUP(amd_smi_version_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(amd_smi_version_read(sv_of(text), &v, &err), err);
	CHECK_STR(v.tool, tool);
	CHECK_STR(v.library, lib);
	CHECK(streq(v.rocm, rocm));
	CHECK(streq(v.driver, driver));
}

static void every_form_of_amd_smis_version(void)
{
	struct amd_smi_version v CLEANUP(amd_smi_version_release) = { 0 };
	struct err err = ERR_INIT;

	reads_version("AMDSMI Tool: 23.4.2+505b858 | AMDSMI Library version: 24.2.0.0 | "
		      "ROCm version: 6.1.0\n",
		      "23.4.2+505b858", "24.2.0.0", "6.1.0", NULL);
	reads_version(
		"WARNING: x\nAMDSMI Tool: 24.7.1+b446d6c | AMDSMI Library version: 24.7.2.0 | "
		"ROCm version: N/A | amdgpu version: 6.10.10 | amd_hsmp version: 2.2\n",
		"24.7.1+b446d6c", "24.7.2.0", NULL, "6.10.10");
	reads_version(
		"AMDSMI Tool: 26.0.2+3 | AMDSMI Library version: 26.0.2 | ROCm version: 7.0.2 | "
		"amdgpu version: Linuxversion6.17.0(u@u)(gcc) | amd_hsmp version: N/A\n",
		"26.0.2+3", "26.0.2", "7.0.2", NULL);
	CHECK_INT(amd_smi_version_read(SV("usage: amd-smi\n"), &v, &err), -ERR_PARSE);
}

TEST_MAIN(TEST(a_table_with_units_and_gaps), TEST(messages_are_no_tables),
	  TEST(every_form_of_amd_smis_version))
