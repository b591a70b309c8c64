/*
 * redlock: the same key and token on three independent servers, one after the other; a majority
 * and what is left of the lease decide. Who fails, and who releases, deletes its token everywhere.
 *
 * Source: "Redis系列(十三)应用之分布式锁" (2020), the five steps of RedLock. The article's time-out of each server
 * (5 to 50 ms of a lease of 10 s) is one tick, the shortest that the model has.
 */
#define CLIENTS 2
#define NODES 3
#define SLOTS 3
#define THREADS 1
#define KEYS 1
#define STATES_VALIDITY
#include "state.pml"
#include "token.inc.pml"

#define SET_NX_PX	1
#define DEL_IF_OWN	2

/* pc: the server that the client waits for, and UNDO while a failed acquire deletes its token */
#define UNDO	4
byte votes[CLIENTS];	/* servers that have said yes: to SET, or to the deletion in a release */

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
	:: ok && v == 1 && pc[c] < UNDO -> votes[c]++
	:: else
	fi;
	pc[c]++;
	if
	:: pc[c] < NODES -> send(c, 0, pc[c], (phase[c] == ACQ -> SET_NX_PX : DEL_IF_OWN), gen[c])
	:: pc[c] == NODES && phase[c] == ACQ && votes[c] * 2 > NODES && lease[c] > 0 ->
		pc[c] = 0; votes[c] = 0; succeed(c)
	:: pc[c] == NODES && phase[c] == ACQ && !(votes[c] * 2 > NODES && lease[c] > 0) ->
		pc[c] = UNDO; votes[c] = 0; send(c, 0, 0, DEL_IF_OWN, gen[c])
	:: pc[c] == NODES && phase[c] == REL ->
		pc[c] = 0; gen[c] = 0;
		finish_release(c, (votes[c] * 2 > NODES -> TRUE : FALSE), 1);
		votes[c] = 0
	:: pc[c] > UNDO && pc[c] < UNDO + NODES -> send(c, 0, pc[c] - UNDO, DEL_IF_OWN, gen[c])
	:: pc[c] == UNDO + NODES -> pc[c] = 0; gen[c] = 0; fail(c)
	fi
}

inline execute(c, n, cmd, a)
{
	if
	:: cmd == SET_NX_PX && kown[n] == 0 -> key_set(c, n, a, life); reply = 1
	:: cmd == DEL_IF_OWN && kown[n] == (c) + 1 && kval[n] == a -> key_del(c, n); reply = 1
	:: else
	fi
}

inline on_wake(c, t) { skip }
inline forget(c) { votes[c] = 0 }
inline age() { skip }

#include "moves.pml"
