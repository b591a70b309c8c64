/*
 * setnx-del: SETNX, no expiry; a plain DEL.
 *
 * Source: "使用Redis作为分布式锁的详细方案" (2022), its first form; "Redis系列(十三)应用之分布式锁"
 * (2020), after the section on atomicity (原子性).
 */
#define CLIENTS 2
#define NODES 1
#define SLOTS 3
#define THREADS 1
#define KEYS 1
#define REPLICA
#include "state.pml"

#define SETNX	1
#define DEL	2

inline start_acquire(c)
{
	send(c, 0, 0, SETNX, 0);
	lease[c] = LEASE_TICKS
}

inline start_release(c)
{
	send(c, 0, 0, DEL, 0)
}

inline on_reply(c, t, ok, v)
{
	if
	:: phase[c] == ACQ && ok && v == 1 -> succeed(c)
	:: phase[c] == ACQ && !(ok && v == 1) -> fail(c)
	:: else -> finish_release(c, (ok -> SILENT : FAILED), 1)
	fi
}

inline execute(c, n, cmd, a)
{
	if
	:: cmd == SETNX && kown[0] == 0 -> key_set(c, 0, 0, NEVER); reply = 1
	:: cmd == DEL -> key_del(c, 0)
	:: else
	fi
}

inline on_wake(c, t) { skip }
inline forget(c) { skip }
inline age() { skip }

#include "moves.pml"
