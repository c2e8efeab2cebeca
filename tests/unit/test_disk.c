/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/inner.h"
#include "ledger_scene.h"
#include <fcntl.h>
#include <sys/file.h>

static void network_file_systems_are_known_by_their_number_and_name(void)
{
	CHECK(disk_type_is_network(0x6969) && disk_type_is_network((long)0xfe534d42) &&
	      disk_type_is_network((long)(int)0xff534d42));
	CHECK(!disk_type_is_network(0xef53) && !disk_type_is_network(0x01021994));
	CHECK(disk_name_is_network("fuse.sshfs") && !disk_name_is_network("ext4"));
}

static void the_test_s_own_folder_is_local(void)
{
	struct err err = ERR_INIT;

	CHECK_OK(disk_is_local(test_dir(), &err), err);
	CHECK_INT(disk_is_local(scene_path("none"), &err), -ERR_IO);
}

static void writers_wait_for_each_other(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	int fd = open(scene_path("l/lock"), O_RDWR), ready[2];
	struct err err = ERR_INIT;
	uint64_t size = 0;
	pid_t pid;
	char c;

	CHECK_INT(flock(fd, LOCK_EX), 0);
	CHECK_INT(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		/* A lock belongs to the open file: the child has to let go of what it was given. */
		struct ledger *own = NULL;

		close(fd);
		CHECK_INT(write(ready[1], "x", 1), 1);
		own = scene_open(scene_path("l"));
		scene_add(own, "cost", "{}");
		ledger_close(own);
		_exit(0);
	}
	CHECK_INT(read(ready[0], &c, 1), 1);
	for (int i = 0; i < 20; i++) {
		CHECK_OK(ledger_size(l, &size, NULL, &err), err);
		CHECK_INT(size, 1);
		CHECK_INT(waitpid(pid, &(int){ 0 }, WNOHANG), 0);
	}
	CHECK_INT(flock(fd, LOCK_UN), 0);
	CHECK_INT(waitpid(pid, &(int){ 0 }, 0), pid);
	CHECK_OK(ledger_size(l, &size, NULL, &err), err);
	CHECK_INT(size, 2);
	close(fd);
	ledger_close(l);
}

TEST_MAIN(TEST(network_file_systems_are_known_by_their_number_and_name),
	  TEST(the_test_s_own_folder_is_local), TEST(writers_wait_for_each_other))
