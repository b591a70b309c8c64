/*
 * token: SET NX PX with a token; a script compares and deletes. It states a validity: the lease,
 * counted from before the request.
 *
 * Source: "使用Redis作为分布式锁的详细方案" (2022) and "Redis系列(十三)应用之分布式锁" (2020), the scripts of
 * release; the validity as Redlock counts it, in the last section of the second.
 */
#define CLIENTS 2
#define NODES 1
#define SLOTS 3
#define THREADS 1
#define KEYS 1
#define REPLICA
#define STATES_VALIDITY
#include "state.pml"
#include "token.inc.pml"

#define SET_NX_PX	1
#define DEL_IF_OWN	2

inline start_acquire(c)
{
	fresh_token(c);
	send(c, 0, 0, SET_NX_PX, gen[c]);
	lease[c] = LEASE_TICKS
}

inline start_release(c)
{
	send(c, 0, 0, DEL_IF_OWN, gen[c])
}

inline on_reply(c, t, ok, v)
{
	if
	:: phase[c] == ACQ && ok && v == 1 -> succeed(c)
	:: phase[c] == ACQ && !(ok && v == 1) -> gen[c] = 0; fail(c)
	:: else -> gen[c] = 0; finish_release(c, (ok && v == 1 -> TRUE : FALSE), 1)
	fi
}

inline execute(c, n, cmd, a)
{
	if
	:: cmd == SET_NX_PX && kown[0] == 0 -> key_set(c, 0, a, life); reply = 1
	:: cmd == DEL_IF_OWN && kown[0] == (c) + 1 && kval[0] == a -> key_del(c, 0); reply = 1
	:: else
	fi
}

inline on_wake(c, t) { skip }
inline forget(c) { skip }
inline age() { skip }

#include "moves.pml"
