/*
 * setnx-expire: SETNX, then EXPIRE in a second command; a plain DEL.
 *
 * Source: "使用Redis实现分布式锁及其优化" (2017), tryLock of its first sketch; "Redis系列(十三)应用之分布式锁"
 * (2020), the section on crashed services (服务宕机).
 */
#define CLIENTS 2
#define NODES 1
#define SLOTS 3
#define THREADS 1
#define KEYS 1
#define REPLICA
#include "state.pml"

#define SETNX	1
#define EXPIRE	2
#define DEL	3

/* pc: 0 waits for SETNX or DEL, 1 for EXPIRE */

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
	:: phase[c] == REL -> finish_release(c, (ok -> SILENT : FAILED), 1)
	:: phase[c] == ACQ && pc[c] == 0 && ok && v == 1 -> pc[c] = 1; send(c, 0, 0, EXPIRE, 0)
	:: phase[c] == ACQ && pc[c] == 0 && !(ok && v == 1) -> fail(c)
	/* what EXPIRE replies is not read */
	:: phase[c] == ACQ && pc[c] == 1 && ok -> pc[c] = 0; succeed(c)
	:: phase[c] == ACQ && pc[c] == 1 && !ok -> pc[c] = 0; fail(c)
	fi
}

inline execute(c, n, cmd, a)
{
	if
	:: cmd == SETNX && kown[0] == 0 -> key_set(c, 0, 0, NEVER); reply = 1
	:: cmd == EXPIRE -> key_expire(c, 0, life)
	:: cmd == DEL -> key_del(c, 0)
	:: else
	fi
}

inline on_wake(c, t) { skip }
inline forget(c) { skip }
inline age() { skip }

#include "moves.pml"
