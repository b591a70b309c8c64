/*
 * The world in which a lock is tried: clients, messages, servers, time and faults.
 *
 * Source: docs/model.md ("Who is in the world", "Time", "The switches", "Properties").
 * Nothing here is taken from lockproof's own code.
 *
 * A lock's file defines its sizes, its commands and its program, and includes this file last:
 *
 *   CLIENTS NODES SLOTS THREADS   sizes; SLOTS is a client's room for messages
 *   KEYS                          keys of the lock on each server
 *   start_acquire(c), start_release(c)      the operations, up to their first command
 *   on_reply(c, t, ok, v)         thread t of c reads v, or an error (ok is 0)
 *   on_wake(c, t)                 thread t of c has slept enough
 *   execute(c, n, cmd, a)         server n runs a command; sets `reply` and `wrote`
 *
 * One move is one d_step, so the depth of SPIN's breadth-first search counts moves. What a
 * client does between two waits is part of the move that woke it, as docs/model.md has it.
 * `ready` is set by the first step, which reads the case's parameters and is no move.
 */

#define ME	(_pid - CLIENTS * SLOTS)
#define IT	(_pid - CLIENTS * SLOTS - CLIENTS)
#define OF(m)	((m) / SLOTS)
#define TH(c, t)	((c) * THREADS + (t))

/* What a client is doing. */
#define IDLE	0
#define ACQ	1
#define HELD	2
#define REL	3
#define DEAD	4

/* Where a message is. HOLD: decided on, and not yet sent by a client that stands still. */
#define FREE	0
#define REQ	1
#define REP	2
#define BROKEN	3
#define HOLD	4

#define NEVER	255

#define LEASE_TICKS	3
#define PAUSE_TICKS	(LEASE_TICKS + 1)
#define DELAY_TICKS	(LEASE_TICKS + 1)

bit ready;
byte life;		/* ticks after which a key of one lease is gone */
byte patience;		/* ticks after which a command gives up */
byte many_crash, many_pause, many_overrun, many_delay, many_loss;
byte many_restart, many_flush, many_failover, many_drift;

byte phase[CLIENTS];
bit believes[CLIENTS];
byte holds[CLIENTS];
byte lease[CLIENTS];	/* ticks left of the validity, on the client's clock */
bit overruns[CLIENTS];
byte paused[CLIENTS];	/* 0, or 1 + ticks that the pause may still last */
byte gen[CLIENTS];	/* which of its tokens the client has now */
byte quiet[CLIENTS];	/* ticks since the last operation ended, up to `life` */
byte effect[CLIENTS];	/* the servers on which this operation is known to have written */
bit written[CLIENTS];	/* has used its one write to the guarded counter */
bit stale[CLIENTS];	/* somebody has written since it read the counter */

byte pc[CLIENTS * THREADS];
byte timer[CLIENTS * THREADS];
bit awaits[CLIENTS * THREADS];	/* the timer is a command's time-out, not a sleep */

byte mst[CLIENTS * SLOTS];
byte mfor[CLIENTS * SLOTS];	/* 1 + the thread that waits for it; 0: given up */
byte mcmd[CLIENTS * SLOTS];
byte mnode[CLIENTS * SLOTS];
byte marg[CLIENTS * SLOTS];
byte mlate[CLIENTS * SLOTS];	/* ticks that it may still be late */
bit mwrote[CLIENTS * SLOTS];

#define ALLKEYS	(NODES * KEYS)
#define KEY(n, k)	((n) * KEYS + (k))
byte kown[ALLKEYS];	/* 0: no such key; else 1 + who wrote it last (its ghost) */
byte kval[ALLKEYS];
byte klife[ALLKEYS];	/* ticks until it is gone; NEVER: no expiry */

#ifdef REPLICA
/* What the servers held before their last write. */
byte hown[ALLKEYS];
byte hval[ALLKEYS];
byte hlife[ALLKEYS];
#endif

#ifdef NESTS
byte anew[CLIENTS];	/* `lease` for a nested acquire, if it succeeds */
#endif

#ifdef MODES
bit reads[CLIENTS];	/* holds, or tries to hold, for reading */
#endif

/* Scratch: 0 between moves. */
byte x_i, x_k, x_m, x_n, sent, reply, x_a, x_b, x_t, x_v, actor;
bit wrote, x_ok;
#ifdef REPLICA
byte sown[ALLKEYS];
byte sval[ALLKEYS];
byte slife[ALLKEYS];
#endif

c_code {
	extern long depth;
	static int seen[16];
	static FILE *graph;
	static unsigned long long pre;
	static int kind, who;

	static unsigned long long
	fingerprint(void)
	{	const unsigned char *p = (const unsigned char *) &now;
		const unsigned char *end = (const unsigned char *) &now.sv;
		unsigned long long h = 14695981039346656037ULL;
		for ( ; p < end; p++)
			h = (h ^ *p) * 1099511628211ULL;
		return h ^ (h >> 29);
	}

	static int
	parameter(const char *name, int otherwise)
	{	const char *text = getenv(name);
		return text ? atoi(text) : otherwise;
	}

	/* What questions about paths ask of the state after a move. */
	static int
	facts(void)
	{	int i, others_quiet = 1, other_idle = 0, found = who << 8;
		for (i = 0; i < CLIENTS; i++)
		{	if (now.phase[i] == DEAD)
				found |= 1 << (16 + i);
			if (i == who)
				continue;
			if (now.believes[i])
				others_quiet = 0;
			if (now.phase[i] == IDLE && now.paused[i] == 0)
				other_idle = 1;
		}
		for (i = 0; i < ALLKEYS; i++)
			if (now.kown[i] != 0 && now.kown[i] != who + 1)
				others_quiet = 0;
		if (others_quiet && other_idle)
			found |= 1 << 10;
		return found;
	}

	static void
	before(void)
	{	kind = who = 0;
		if (graph)
			pre = fingerprint();
	}

	static void
	after(void)
	{	if (graph)
		{	unsigned long long row[3];
			row[0] = pre;
			row[1] = fingerprint();
			row[2] = kind | facts();
			fwrite(row, sizeof row, 1, graph);
		}
	}

	static void
	violates(int property)
	{	if (!seen[property])
		{	seen[property] = 1;
			printf("VIOLATED %d MOVES %ld\n", property, depth);
		}
	}
};

/* The properties, in the order of PROPERTIES in run.py. */
#define BELIEF	0
#define VALIDITY	1
#define EFFECT	2
#define OWNER	3
#define LEASE	4
#define ORPHAN	5
#define HONEST	6
#define RWX	7
#define REENTRANT	8

/* Labels of moves, for questions about paths: see run.py. */
#define IS_FAULT	c_code { kind |= 1; }
#define IS_SUCCESS	c_code { kind |= 2; }
#define IS_TICK	c_code { kind |= 4; }
#define IS_IN_VAIN	c_code { kind |= 8; }
#define IS_RELEASE	c_code { kind |= 16; }
#define IS_READING	c_code { kind |= 32; }

#ifdef STATES_VALIDITY
#define VALID(c)	(believes[c] && lease[c] > 0)
#else
#define VALID(c)	believes[c]
#endif

#define RUNS(c)	(phase[c] != DEAD && paused[c] == 0)

/* --- servers ------------------------------------------------------------------------- */

/* c takes away, or changes the expiry of, what stands in key i. */
#ifndef OWN_TOUCH
inline touch(c, i)
{
	if
	:: kown[i] != 0 && kown[i] != (c) + 1 && VALID((kown[i] - 1)) -> c_code { violates(OWNER); }
	:: else
	fi
}
#endif

inline key_del(c, i)
{
	if
	:: kown[i] != 0 ->
		touch(c, i);
		kown[i] = 0; kval[i] = 0; klife[i] = 0; wrote = 1
	:: else
	fi
}

inline key_set(c, i, v, ticks)
{
	kown[i] = (c) + 1; kval[i] = v; klife[i] = ticks; wrote = 1
}

inline key_expire(c, i, ticks)
{
	if
	:: kown[i] != 0 ->
		touch(c, i);
		klife[i] = ticks; wrote = 1
	:: else
	fi
}

/* --- messages ------------------------------------------------------------------------ */

/* Thread t of c sends a command to server n, and waits. */
inline send(c, t, n, cmd, a)
{
	x_m = 0;
	do
	:: x_m < SLOTS && mst[(c) * SLOTS + x_m] != FREE -> x_m++
	:: else -> break
	od;
	assert(x_m < SLOTS);	/* room for messages: no verdict without it */
	x_m = (c) * SLOTS + x_m;
	mst[x_m] = REQ; mfor[x_m] = (t) + 1; mcmd[x_m] = cmd; mnode[x_m] = n; marg[x_m] = a;
	timer[TH(c, t)] = patience; awaits[TH(c, t)] = 1;
	sent = x_m + 1;
	x_m = 0
}

inline clear(m)
{
	mst[m] = FREE; mfor[m] = 0; mcmd[m] = 0; mnode[m] = 0; marg[m] = 0; mlate[m] = 0; mwrote[m] = 0
}

/* Thread t of c gives up the command that it waits for, if it waits for one. A reply that
 * nobody waits for changes nothing, and is dropped at once. */
inline give_up(c, t)
{
	x_m = 0;
	do
	:: x_m < SLOTS ->
		if
		:: mfor[(c) * SLOTS + x_m] == (t) + 1 ->
			mfor[(c) * SLOTS + x_m] = 0;
			if
			:: mst[(c) * SLOTS + x_m] != REQ -> clear((c) * SLOTS + x_m)
			:: else
			fi
		:: else
		fi;
		x_m++
	:: else -> break
	od;
	x_m = 0;
	timer[TH(c, t)] = NEVER; awaits[TH(c, t)] = 0
}

/* All connections to server n break: who waits hears of it, and does not know what became
 * of its command. */
inline break_off(n)
{
	x_m = 0;
	do
	:: x_m < CLIENTS * SLOTS ->
		if
		:: mnode[x_m] == n && (mst[x_m] == REQ || mst[x_m] == REP) ->
			if
			:: mfor[x_m] != 0 ->
				mst[x_m] = BROKEN; mcmd[x_m] = 0; marg[x_m] = 0; mlate[x_m] = 0; mwrote[x_m] = 0
			:: else -> clear(x_m)
			fi
		:: else
		fi;
		x_m++
	:: else -> break
	od;
	x_m = 0
}

/* --- outcomes ------------------------------------------------------------------------ */

/* On how many servers does the lock stand as c's, with an expiry within the lease? */
#ifndef STANDS
#define STANDS(c, n)	(kown[KEY(n, 0)] == (c) + 1 && klife[KEY(n, 0)] <= life)
#endif

/* acquire reports success. */
inline succeed(c)
{
	actor = c;
	if
	:: !believes[c] -> believes[c] = 1; written[c] = 0; stale[c] = 0
	:: else
#ifdef NESTS
		-> lease[c] = anew[c]
#endif
	fi;
#ifdef NESTS
	anew[c] = 0;
#endif
	holds[c]++;
	phase[c] = HELD;
	x_n = 0; x_a = 0; x_b = 0;
	do
	:: x_n < NODES ->
		if
		:: STANDS(c, x_n) -> x_a++; x_b++
		:: else ->
			if
			:: (effect[c] >> x_n) & 1 -> x_b++
			:: else
			fi
		fi;
		x_n++
	:: else -> break
	od;
	if
	:: x_a * 2 <= NODES && VALID(c) -> c_code { violates(LEASE); }
	:: else
	fi;
	if
	:: x_b * 2 <= NODES -> c_code { violates(HONEST); }
	:: else
	fi;
#ifdef STATES_VALIDITY
	if
	:: lease[c] == 0 -> c_code { violates(HONEST); }
	:: else
	fi;
#endif
	x_n = 0; x_a = 0; x_b = 0;
	effect[c] = 0;
#ifdef MODES
	if
	:: !reads[c] -> IS_SUCCESS
	:: else
	fi
#else
	IS_SUCCESS
#endif
}

/* acquire reports that somebody else has the lock, or that it failed. */
inline fail(c)
{
	actor = c;
	effect[c] = 0;
#ifdef NESTS
	anew[c] = 0;
#endif
	if
	:: believes[c] -> phase[c] = HELD
	:: else -> phase[c] = IDLE; quiet[c] = 0; lease[c] = 0; IS_IN_VAIN
	fi
}

/* What release says of itself. */
#define FAILED	0
#define SILENT	1
#define FALSE	2
#define TRUE	3

/* release ends; last: it gives the last hold back. */
inline finish_release(c, says, last)
{
	actor = c;
	if
	:: (says == TRUE || says == SILENT) && (last) -> IS_RELEASE
	:: else
	fi;
	if
	:: says == TRUE && (last) ->
		x_n = 0; x_a = 0;
		do
		:: x_n < NODES ->
			x_a = x_a + ((effect[c] >> x_n) & 1); x_n++
		:: else -> break
		od;
		if
		:: x_a * 2 <= NODES -> c_code { violates(HONEST); }
		:: else
		fi;
		x_n = 0; x_a = 0
	:: else
	fi;
	effect[c] = 0;
	if
	:: believes[c] -> phase[c] = HELD
	:: else -> phase[c] = IDLE; quiet[c] = 0
	fi
}

