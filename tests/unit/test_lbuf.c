/* SPDX-License-Identifier: Apache-2.0 */
#include "load/lbuf.h"
#include "test.h"

static void grows_and_counts_it(void)
{
	struct lbuf_pool p = { 0 };
	struct lbuf *b = NULL;
	char big[3000];

	memset(big, 'x', sizeof(big));
	lbuf_pool_fill(&p, 2);
	CHECK(lbuf_add(&p, &b, "ab", 2, 100));
	CHECK(lbuf_add(&p, &b, "cd", 2, 100));
	CHECK(memcmp(b->p, "abcd", 4) == 0);
	CHECK_INT(p.grown, 0);
	CHECK(lbuf_add(&p, &b, big, sizeof(big), 10000));
	CHECK_INT(lbuf_n(b), 3004);
	CHECK_INT(p.grown, 1);
	lbuf_put(&p, &b);
	CHECK(b == NULL);
	lbuf_pool_release(&p);
}

static void keeps_the_limit(void)
{
	struct lbuf_pool p = { 0 };
	struct lbuf *b = NULL;

	CHECK(lbuf_add(&p, &b, "", 0, 0));
	CHECK(b == NULL);
	CHECK(lbuf_add(&p, &b, "abc", 3, 4));
	CHECK(!lbuf_add(&p, &b, "de", 2, 4));
	CHECK(!lbuf_add(&p, &b, "d", SIZE_MAX, 4));
	CHECK_INT(lbuf_n(b), 3);
	lbuf_put(&p, &b);
	lbuf_pool_release(&p);
}

TEST_MAIN(TEST(grows_and_counts_it), TEST(keeps_the_limit))
