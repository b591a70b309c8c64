/*
 * exists-set: EXISTS, then SET in a second command, no expiry; a plain DEL.
 *
 * Source: "Redis系列(十三)应用之分布式锁" (2020), the simple idea (简单思路).
 */
#define CLIENTS 2
#define NODES 1
#define SLOTS 3
#define THREADS 1
#define KEYS 1
#define REPLICA
#include "state.pml"

#define EXISTS	1
#define SET	2
#define DEL	3

/* pc: 0 waits for EXISTS or DEL, 1 for SET */

inline start_acquire(c)
{
	send(c, 0, 0, EXISTS, 0);
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
	:: phase[c] == ACQ && pc[c] == 0 && ok && v == 0 ->
		pc[c] = 1;
		send(c, 0, 0, SET, 0);
		lease[c] = LEASE_TICKS
	:: phase[c] == ACQ && pc[c] == 0 && !(ok && v == 0) -> fail(c)
	:: phase[c] == ACQ && pc[c] == 1 && ok -> pc[c] = 0; succeed(c)
	:: phase[c] == ACQ && pc[c] == 1 && !ok -> pc[c] = 0; fail(c)
	fi
}

inline execute(c, n, cmd, a)
{
	if
	:: cmd == EXISTS -> reply = (kown[0] != 0)
	:: cmd == SET -> key_set(c, 0, 0, NEVER)
	:: cmd == DEL -> key_del(c, 0)
	fi
}

inline on_wake(c, t) { skip }
inline forget(c) { skip }
inline age() { skip }

#include "moves.pml"
