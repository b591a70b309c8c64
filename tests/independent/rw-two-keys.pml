/*
 * rw-two-keys: a read-write lock of two keys, one for readers and one for the writer; a plain DEL.
 *
 * Source: "Redis 分布式读写锁", section 1 (单机版), both scripts. Release deletes the key of the mode.
 *
 * Key 0 is the readers', key 1 the writer's. The readers' key has no single ghost: it belongs to
 * all readers who have written it and have not released since (docs/model.md, "Properties"). So
 * its `kown` is 1 or 0, and its `kval` a bit for each of them.
 */
#define CLIENTS 2
#define NODES 1
#define SLOTS 3
#define THREADS 1
#define KEYS 2
#define REPLICA
#define MODES
#define OWN_TOUCH
#define OWNS(c, i)	((i) == 0 -> (kval[0] >> (c)) & 1 : kown[1] == (c) + 1)
#define STANDS(c, n) \
	(reads[c] -> kown[0] != 0 && ((kval[0] >> (c)) & 1) && klife[0] <= life : kown[1] == (c) + 1 && klife[1] <= life)
#include "state.pml"

#define READ	1
#define WRITE	2
#define DEL_READ	3
#define DEL_WRITE	4

/* Another client's entry, while that client has V; whoever reads is harmed as a reader too. */
inline touch(c, i)
{
	x_n = 0;
	do
	:: x_n < CLIENTS ->
		if
		:: x_n != (c) && kown[i] != 0 && OWNS(x_n, i) && VALID(x_n) ->
			c_code { violates(OWNER); };
			if
			:: reads[x_n] -> c_code { violates(RWX); }
			:: else
			fi
		:: else
		fi;
		x_n++
	:: else -> break
	od;
	x_n = 0
}

inline start_acquire(c)
{
	send(c, 0, 0, (reads[c] -> READ : WRITE), 0);
	lease[c] = LEASE_TICKS
}

inline start_release(c)
{
	if
	:: reads[c] -> disown(c); send(c, 0, 0, DEL_READ, 0)
	:: else -> send(c, 0, 0, DEL_WRITE, 0)
	fi
}

/* The reader has released: what it wrote is no longer its own. */
inline disown(c)
{
	kval[0] = kval[0] & (255 - (1 << (c)))
#ifdef REPLICA
	; hval[0] = hval[0] & (255 - (1 << (c)))
#endif
}

inline on_reply(c, t, ok, v)
{
	if
	:: phase[c] == ACQ && ok && v == 1 -> succeed(c)
	:: phase[c] == ACQ && !(ok && v == 1) -> reads[c] = 0; fail(c)
	:: else -> reads[c] = 0; finish_release(c, (ok -> SILENT : FAILED), 1)
	fi
}

inline execute(c, n, cmd, a)
{
	if
	:: cmd == READ && kown[1] == 0 ->
		kown[0] = 1; kval[0] = kval[0] | (1 << (c)); klife[0] = life;
		wrote = 1; reply = 1
	:: cmd == WRITE && kown[0] == 0 && kown[1] == 0 -> key_set(c, 1, 0, life); reply = 1
	:: cmd == DEL_READ -> key_del(c, 0)
	:: cmd == DEL_WRITE -> key_del(c, 1)
	:: else
	fi
}

inline on_wake(c, t) { skip }
inline forget(c) { reads[c] = 0 }
inline age() { skip }

#include "moves.pml"
