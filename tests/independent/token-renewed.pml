/*
 * token-renewed: SET NX PX with a token; a second thread of the client renews it until the release.
 *
 * Source: "使用Redis作为分布式锁的详细方案" (2022), the background thread and its script (get == token, then
 * expire). The article leaves open how often: here three times in a lease, as libraries do.
 * Nobody reads what a renewal replies. The work may take any time (docs/lock-files.md, `renews`).
 */
#define CLIENTS 2
#define NODES 1
#define SLOTS 3
#define THREADS 2
#define KEYS 1
#define REPLICA
#define RENEWS
#include "state.pml"
#include "token.inc.pml"

#define SET_NX_PX	1
#define DEL_IF_OWN	2
#define EXPIRE_IF_OWN	3

#define PERIOD	1

inline start_acquire(c)
{
	fresh_token(c);
	send(c, 0, 0, SET_NX_PX, gen[c])
}

inline start_release(c)
{
	give_up(c, 1);	/* the renewal ends, also while it waits */
	send(c, 0, 0, DEL_IF_OWN, gen[c])
}

inline on_reply(c, t, ok, v)
{
	if
	:: t == 1 -> timer[TH(c, 1)] = PERIOD
	:: t == 0 && phase[c] == ACQ && ok && v == 1 -> succeed(c); timer[TH(c, 1)] = PERIOD
	:: t == 0 && phase[c] == ACQ && !(ok && v == 1) -> gen[c] = 0; fail(c)
	:: t == 0 && phase[c] == REL -> gen[c] = 0; finish_release(c, (ok && v == 1 -> TRUE : FALSE), 1)
	fi
}

inline on_wake(c, t)
{
	send(c, 1, 0, EXPIRE_IF_OWN, gen[c])
}

inline execute(c, n, cmd, a)
{
	if
	:: cmd == SET_NX_PX && kown[0] == 0 -> key_set(c, 0, a, life); reply = 1
	:: cmd == DEL_IF_OWN && kown[0] == (c) + 1 && kval[0] == a -> key_del(c, 0); reply = 1
	:: cmd == EXPIRE_IF_OWN && kown[0] == (c) + 1 && kval[0] == a -> key_expire(c, 0, life)
	:: else
	fi
}

inline forget(c) { skip }
inline age() { skip }

#include "moves.pml"
