/*
 * token-get-del: SET NX EX with a token; release by GET, a comparison in the client, and DEL.
 *
 * Source: "Redis系列(十三)应用之分布式锁" (2020), the section on deleting by mistake (业务超时误删除), before its
 * script. A value that is not the own one gives no DEL, and a release that says so.
 */
#define CLIENTS 2
#define NODES 1
#define SLOTS 3
#define THREADS 1
#define KEYS 1
#define REPLICA
#include "state.pml"
#include "token.inc.pml"

#define SET_NX_EX	1
#define GET	2
#define DEL	3

/* pc: 0 waits for SET or GET, 1 for DEL. GET's reply: is it this client's present token? */

inline start_acquire(c)
{
	fresh_token(c);
	send(c, 0, 0, SET_NX_EX, gen[c]);
	lease[c] = LEASE_TICKS
}

inline start_release(c)
{
	send(c, 0, 0, GET, gen[c])
}

inline on_reply(c, t, ok, v)
{
	if
	:: phase[c] == ACQ && ok && v == 1 -> succeed(c)
	:: phase[c] == ACQ && !(ok && v == 1) -> gen[c] = 0; fail(c)
	:: phase[c] == REL && pc[c] == 0 && ok && v == 1 -> pc[c] = 1; send(c, 0, 0, DEL, 0)
	:: phase[c] == REL && pc[c] == 0 && !(ok && v == 1) ->
		gen[c] = 0; finish_release(c, (ok -> FALSE : FAILED), 1)
	:: phase[c] == REL && pc[c] == 1 ->
		pc[c] = 0; gen[c] = 0; finish_release(c, (ok -> TRUE : FAILED), 1)
	fi
}

inline execute(c, n, cmd, a)
{
	if
	:: cmd == SET_NX_EX && kown[0] == 0 -> key_set(c, 0, a, life); reply = 1
	:: cmd == GET -> reply = (kown[0] == (c) + 1 && kval[0] == a)
	:: cmd == DEL -> key_del(c, 0)
	:: else
	fi
}

inline on_wake(c, t) { skip }
inline forget(c) { skip }
inline age() { skip }

#include "moves.pml"
