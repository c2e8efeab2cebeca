/* SPDX-License-Identifier: Apache-2.0 */
/* Network adapters, RDMA devices, and the modules that let GPUs talk to them directly. */
#include "capture/probes.h"
#include "capture/tally.h"

#define IB  "/sys/class/infiniband"
#define NET "/sys/class/net"

static void put_rdma(struct source *s)
{
	struct strs names CLEANUP(strs_release) = { 0 };
	struct tally kinds CLEANUP(tally_release) = { 0 };
	struct tally fw CLEANUP(tally_release) = { 0 };
	AUTO_FREE char *text = NULL;
	AUTO_FREE char *fw_text = NULL;

	if (!src_list(s, IB, &names) && !src_absent(s, IB)) {
		put(s, CL_COMMLIB, "rdma", NULL, IB);
		return;
	}
	for (size_t i = 0; i < names.n; i++) {
		static const char *const files[] = { "hca_type", "ports/1/link_layer",
						     "ports/1/rate", "ports/1/state" };
		struct str one CLEANUP(str_release) = { 0 };
		AUTO_FREE char *path = xasprintf(IB "/%s/fw_ver", names.v[i]);
		AUTO_FREE char *version = src_line(s, path);

		for (size_t k = 0; k < ARRAY_SIZE(files); k++) {
			AUTO_FREE char *file = xasprintf(IB "/%s/%s", names.v[i], files[k]);
			AUTO_FREE char *line = src_line(s, file);

			if (line && line[0])
				str_addf(&one, "%s%s", one.n ? ", " : "", line);
		}
		tally_add(&kinds, one.n ? str_text(&one) : NULL);
		tally_add(&fw, version);
	}
	text = tally_counted(&kinds);
	fw_text = tally_text(&fw);
	put(s, CL_COMMLIB, "rdma", text ? text : NONE_FOUND, IB);
	if (fw_text)
		put(s, CL_FIRMWARE, "rdma", streq(fw_text, "unknown") ? NULL : fw_text,
		    IB "/*/fw_ver");
}

/* A driver from outside the kernel tree says its own version; others are the kernel's. */
static void put_nic(struct source *s, const char *driver, size_t n)
{
	AUTO_FREE char *name = xasprintf("nic.%s", driver);
	AUTO_FREE char *path = xasprintf("/sys/module/%s/version", driver);
	AUTO_FREE char *version = src_line(s, path);

	putf(s, CL_DRIVER, name, path, "%zu x %s", n, version ? version : "in-tree");
}

static void put_nics(struct source *s)
{
	struct strs names CLEANUP(strs_release) = { 0 };
	struct tally drivers CLEANUP(tally_release) = { 0 };

	if (!src_list(s, NET, &names)) {
		put(s, CL_DRIVER, "nic", src_absent(s, NET) ? NONE_FOUND : NULL, NET);
		return;
	}
	for (size_t i = 0; i < names.n; i++) {
		AUTO_FREE char *path = xasprintf(NET "/%s/device/driver", names.v[i]);
		AUTO_FREE char *driver = src_link(s, path);

		if (driver)
			tally_add(&drivers, driver);
	}
	for (size_t i = 0; i < drivers.n; i++)
		put_nic(s, drivers.v[i].text, drivers.v[i].n);
	if (!drivers.n)
		put(s, CL_DRIVER, "nic", NONE_FOUND, NET);
}

static void put_gpudirect(struct source *s)
{
	static const char *const modules[] = { "nvidia_peermem", "gdrdrv", "nvidia_fs",
					       "ib_peer_mem",    "amdp2p", "efa_nv_peermem" };
	struct str all CLEANUP(str_release) = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(modules); i++) {
		AUTO_FREE char *dir = xasprintf("/sys/module/%s", modules[i]);
		AUTO_FREE char *file = NULL;
		AUTO_FREE char *version = NULL;

		if (!src_there(s, dir))
			continue;
		file = xasprintf("%s/version", dir);
		version = src_line(s, file);
		str_addf(&all, "%s%s%s%s", all.n ? ", " : "", modules[i], version ? " " : "",
			 version ? version : "");
	}
	src_why(s, "no /sys");
	put(s, CL_COMMLIB, "gpudirect",
	    all.n                  ? str_text(&all)
	    : src_there(s, "/sys") ? NONE_FOUND
				   : NULL,
	    "/sys/module");
}

static void net_run(struct source *s)
{
	put_rdma(s);
	put_nics(s);
	put_gpudirect(s);
}

const struct probe probe_net = { "net", "network adapters, RDMA devices, GPU-direct modules", false,
				 net_run };
