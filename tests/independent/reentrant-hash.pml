/*
 * reentrant-hash: a hash whose field is the owner and whose value counts its holds.
 *
 * Source: the notes "分布式锁-By Redis", both scripts of the reentrant lock (可重入锁). Whoever has the hash
 * has its one field: nobody adds another one while it exists. So a key with a count is enough.
 */
#define CLIENTS 2
#define NODES 1
#define SLOTS 3
#define THREADS 1
#define KEYS 1
#define REPLICA
#define NESTS
#define MAX_HOLDS 2
#include "state.pml"

#define LOCK	1
#define UNLOCK	2

inline start_acquire(c)
{
	send(c, 0, 0, LOCK, 0);
	if
	:: believes[c] -> anew[c] = LEASE_TICKS
	:: else -> lease[c] = LEASE_TICKS
	fi
}

inline start_release(c)
{
	send(c, 0, 0, UNLOCK, 0)
}

/* UNLOCK replies nil (not the owner), 1 (the key is gone) or 0 (holds are left): here 0, 1, 2. */
inline on_reply(c, t, ok, v)
{
	if
	:: phase[c] == ACQ && ok && v == 1 -> succeed(c)
	:: phase[c] == ACQ && !(ok && v == 1) ->
		/* a holder that acquires again is not told that somebody else has the lock */
		if
		:: ok && VALID(c) -> c_code { violates(REENTRANT); }
		:: else
		fi;
		fail(c)
	:: else ->
		/* after the last release no entry is left; before it, there is one */
		if
		:: ok && v != 0 && !believes[c] && kown[0] == (c) + 1 -> c_code { violates(REENTRANT); }
		:: VALID(c) && kown[0] != (c) + 1 -> c_code { violates(REENTRANT); }
		:: else
		fi;
		finish_release(c, (!ok -> FAILED : (v == 0 -> FALSE : TRUE)), !believes[c])
	fi
}

inline execute(c, n, cmd, a)
{
	if
	:: cmd == LOCK && (kown[0] == 0 || kown[0] == (c) + 1) ->
		assert(kval[0] < 6);
		kown[0] = (c) + 1; kval[0] = kval[0] + 1; klife[0] = life;
		wrote = 1; reply = 1
	:: cmd == UNLOCK && kown[0] == (c) + 1 ->
		kval[0] = kval[0] - 1;
		wrote = 1;
		if
		:: kval[0] == 0 -> key_del(c, 0); reply = 1
		:: else -> reply = 2
		fi
	:: else
	fi
}

inline on_wake(c, t) { skip }
inline forget(c) { anew[c] = 0 }
inline age() { skip }

#include "moves.pml"
