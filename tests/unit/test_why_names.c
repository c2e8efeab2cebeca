/* SPDX-License-Identifier: Apache-2.0 */
/* Names of places and people get placeholders, the same one everywhere; what is none stays. */
#include "cli/why_names.h"

#include "test.h"

static char *alone(const char *text)
{
	struct names n CLEANUP(names_release) = { 0 };

	names_learn(&n, text);
	return names_hide(&n, text);
}

static void each_kind_has_a_placeholder(void)
{
	static const struct {
		const char *text, *want;
	} t[] = {
		{ "connect to 10.20.30.40:29500", "connect to <ip-1>:29500" },
		{ "peer [fe80::a1b2:3ff:fe04:5]", "peer [<ip-1>]" },
		{ "at 2001:db8:0:1:2:3:4:5 port 1", "at <ip-1> port 1" },
		{ "at 2001:db8::17, and", "at <ip-1>, and" },
		{ "link/ether 02:42:ac:11:00:02 brd", "link/ether <mac-1> brd" },
		{ "ib 00:11:22:33:44:55:66:77", "ib <mac-1>" },
		{ "UUID: GPU-4f3c9a10-1b2c-3d4e-5f60-718293a4b5c6)", "UUID: GPU-<uuid-1>)" },
		{ "Serial Number   : 1650522003820", "Serial Number   : <serial-1>" },
		{ "\"serial\": \"PNX-77123A\"", "\"serial\": \"<serial-1>\"" },
		{ "Unique ID: 0x5d9a8c7b6e4f3a21", "Unique ID: <serial-1>" },
		{ "GET http://llm7.dc.bigcorp.example:8000/v1", "GET http://<host-1>:8000/v1" },
		{ "/home/asmith/venv/lib", "/home/<user-1>/venv/lib" },
		{ "mail to a.smith@bigcorp.example now", "mail to <mail-1> now" },
		{ "gpunode17:4711:4790 [0] NCCL INFO cuda",
		  "<host-1>:4711:4790 [0] NCCL INFO cuda" },
		{ "[gpunode17:4711] mca", "[<host-1>:4711] mca" },
		{ "Dec  1 14:05:41 gpunode17 kernel: NVRM: Xid",
		  "Dec  1 14:05:41 <host-1> kernel: NVRM: Xid" },
		{ "MASTER_ADDR=gpunode17", "MASTER_ADDR=<host-1>" },
		{ "\"hostname\": \"zeus\"", "\"hostname\": \"<host-1>\"" },
		{ "via store.prod.svc.cluster.local", "via <host-1>" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		AUTO_FREE char *got = alone(t[i].text);

		CHECK_STR(got, t[i].want);
	}
}

static void what_is_no_name_stays(void)
{
	static const char *const t[] = {
		"listening on 127.0.0.1:8000, 0.0.0.0 and [::1], localhost",
		"cudnn==9.1.0.70 libcudnn.so.9.1.0 driver 550.54.15 torch 2.4.1",
		"std::vector<c10::Error> at::add c10::add 12:34:56.789 2026-12-01T14:05:41Z",
		"0000:3b:00.0 sda: PCI 00:1f.6 0x7f3a2b1c4d5e6f70",
		"see https://github.com/vllm-project/vllm/issues/1 and https://docs.nvidia.com/x",
		"[socket.cpp:663] [rank0:12] /root/x sha256 1f2e3d4c5b6a7988",
		"host memory 12 GiB; node_rank: 3; RuntimeError: x",
		"workload: {name: chat, kind: inference, unit: request}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		AUTO_FREE char *got = alone(t[i]);

		CHECK_STR(got, t[i]);
	}
}

static void the_same_name_is_the_same_in_all_texts(void)
{
	static const char *const a =
		"gpunode17:1:2 [0] NCCL INFO\ngpunode18:1:2 [0] NCCL\nto 10.0.0.8\n";
	static const char *const b =
		"rank 3 on gpunode18.dc.lan at 10.0.0.8; GPUNODE17, gpunode178\n";
	struct names n CLEANUP(names_release) = { 0 };

	names_keep(&n, "12.4.127.1");
	names_learn(&n, a);
	names_learn(&n, b);
	AUTO_FREE char *x = names_hide(&n, a), *y = names_hide(&n, b);
	AUTO_FREE char *kept = names_hide(&n, "cuda 12.4.127.1, 12.4.127.2");

	CHECK_STR(x, "<host-1>:1:2 [0] NCCL INFO\n<host-2>:1:2 [0] NCCL\nto <ip-1>\n");
	CHECK_STR(y, "rank 3 on <host-3> at <ip-1>; <host-1>, gpunode178\n");
	CHECK_STR(kept, "cuda 12.4.127.1, <ip-2>");
}

TEST_MAIN(TEST(each_kind_has_a_placeholder), TEST(what_is_no_name_stays),
	  TEST(the_same_name_is_the_same_in_all_texts))
