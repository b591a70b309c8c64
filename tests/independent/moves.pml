/* Does key i belong to c? */
#ifndef OWNS
#define OWNS(c, i)	(kown[i] == (c) + 1)
#endif

/* --- the end of each move ------------------------------------------------------------ */

inline watch()
{
	/* never two with B, or V; readers may share */
	x_i = 0;
	do
	:: x_i < CLIENTS ->
		x_k = x_i + 1;
		do
		:: x_k < CLIENTS ->
			if
			:: believes[x_i] && believes[x_k] ->
#ifdef MODES
				if
				:: reads[x_i] && reads[x_k]
				:: else ->
#endif
				c_code { violates(BELIEF); };
				if
				:: VALID(x_i) && VALID(x_k) ->
					c_code { violates(VALIDITY); };
#ifdef MODES
					c_code { violates(RWX); }
#endif
				:: else
				fi
#ifdef MODES
				fi
#endif
			:: else
			fi;
			x_k++
		:: else -> break
		od;
		/* nothing is left of a client that is gone; what a dead one leaves has an expiry */
		if
		:: phase[x_i] == IDLE || phase[x_i] == DEAD ->
			x_k = 0; x_a = 0;
			do
			:: x_k < SLOTS -> x_a = x_a + (mst[x_i * SLOTS + x_k] != FREE); x_k++
			:: else -> break
			od;
			x_k = 0;
			do
			:: x_k < ALLKEYS ->
				if
				:: OWNS(x_i, x_k) && quiet[x_i] >= life -> c_code { violates(ORPHAN); }
				:: OWNS(x_i, x_k) && phase[x_i] == DEAD && klife[x_k] == NEVER && x_a == 0 ->
					c_code { violates(ORPHAN); }
				:: else
				fi;
				x_k++
			:: else -> break
			od;
			x_a = 0
		:: else
		fi;
		x_i++
	:: else -> break
	od;
	x_i = 0; x_k = 0
}

#define BEGIN	c_code { before(); }
#define END	watch(); sent = 0; reply = 0; wrote = 0; c_code { who = now.actor; }; actor = 0; c_code { after(); }

/* What c sends last stays behind: c stands still before it has sent it. */
inline hold_back(c)
{
	if
	:: sent != 0 ->
		mst[sent - 1] = HOLD;
		stand_still(c)
	:: else
	fi
}

inline stand_still(c)
{
	many_pause--;
	paused[c] = 1 + PAUSE_TICKS;
	IS_FAULT
}

/* --- messages move ------------------------------------------------------------------- */

inline run_command(m)
{
	x_m = mnode[m];
#ifdef REPLICA
	if
	:: many_failover != 0 ->
		x_k = 0;
		do
		:: x_k < ALLKEYS -> sown[x_k] = kown[x_k]; sval[x_k] = kval[x_k]; slife[x_k] = klife[x_k]; x_k++
		:: else -> break
		od;
		x_k = 0
	:: else
	fi;
#endif
	execute(OF(m), mnode[m], mcmd[m], marg[m]);
#ifdef REPLICA
	if
	:: many_failover != 0 ->
		x_k = 0;
		do
		:: x_k < ALLKEYS ->
			if
			:: wrote && x_k / KEYS == mnode[m] ->
				hown[x_k] = sown[x_k]; hval[x_k] = sval[x_k]; hlife[x_k] = slife[x_k]
			:: else
			fi;
			sown[x_k] = 0; sval[x_k] = 0; slife[x_k] = 0;
			x_k++
		:: else -> break
		od;
		x_k = 0
	:: else
	fi;
#endif
	if
	:: mfor[m] == 0 -> clear(m)	/* nobody will read the reply */
	:: else -> mst[m] = REP; mcmd[m] = 0; marg[m] = reply; mlate[m] = 0; mwrote[m] = wrote
	fi;
	x_m = 0
}

inline reach_client(m)
{
	x_t = mfor[m] - 1; x_ok = (mst[m] == REP); x_v = marg[m];
	if
	:: mwrote[m] -> effect[OF(m)] = effect[OF(m)] | (1 << mnode[m])
	:: else
	fi;
	clear(m);
	timer[TH(OF(m), x_t)] = NEVER; awaits[TH(OF(m), x_t)] = 0;
	on_reply(OF(m), x_t, x_ok, x_v);
	x_t = 0; x_ok = 0; x_v = 0
}

active [CLIENTS * SLOTS] proctype message()
{
	do
	:: d_step { ready && mst[_pid] == REQ -> BEGIN; run_command(_pid); END }
	:: d_step { ready && (mst[_pid] == REP || mst[_pid] == BROKEN) && paused[OF(_pid)] == 0 ->
		BEGIN; reach_client(_pid); END }
	:: d_step { ready && many_pause != 0 && (mst[_pid] == REP || mst[_pid] == BROKEN) && RUNS(OF(_pid)) ->
		 BEGIN; reach_client(_pid); hold_back(OF(_pid)); END }
	:: d_step { ready && many_loss != 0 && (mst[_pid] == REQ || mst[_pid] == REP) ->
		BEGIN; IS_FAULT; many_loss--; clear(_pid); END }
	:: d_step { ready && many_delay != 0 && mlate[_pid] == 0 && (mst[_pid] == REQ || mst[_pid] == REP) ->
		BEGIN; IS_FAULT; many_delay--; mlate[_pid] = DELAY_TICKS; END }
	od
}

/* --- clients move -------------------------------------------------------------------- */

#ifndef MAX_HOLDS
#define MAX_HOLDS	1
#endif

inline call_acquire(c)
{
	phase[c] = ACQ; quiet[c] = 0; effect[c] = 0;
	start_acquire(c)
}

inline call_release(c)
{
	phase[c] = REL; effect[c] = 0;
	holds[c]--;
	if
	:: holds[c] == 0 -> believes[c] = 0; overruns[c] = 0; lease[c] = 0; written[c] = 0; stale[c] = 0
	:: else
	fi;
	start_release(c)
}

inline wake(c, t)
{
	if
	:: awaits[TH(c, t)] -> give_up(c, t); on_reply(c, t, 0, 0)
	:: else -> timer[TH(c, t)] = NEVER; on_wake(c, t)
	fi
}

inline write(c)
{
	if
	:: stale[c] -> c_code { violates(EFFECT); }
	:: else
	fi;
	written[c] = 1;
	x_i = 0;
	do
	:: x_i < CLIENTS ->
		if
		:: x_i != (c) && believes[x_i] && !written[x_i] -> stale[x_i] = 1
		:: else
		fi;
		x_i++
	:: else -> break
	od;
	x_i = 0
}

inline die(c)
{
	phase[c] = DEAD; believes[c] = 0; holds[c] = 0; lease[c] = 0; overruns[c] = 0; gen[c] = 0;
	quiet[c] = 0; effect[c] = 0; written[c] = 0; stale[c] = 0; paused[c] = 0;
	x_i = 0;
	do
	:: x_i < SLOTS ->
		mfor[(c) * SLOTS + x_i] = 0;
		if
		:: mst[(c) * SLOTS + x_i] != FREE && mst[(c) * SLOTS + x_i] != REQ -> clear((c) * SLOTS + x_i)
		:: else
		fi;
		x_i++
	:: else -> break
	od;
	x_i = 0;
	do
	:: x_i < THREADS -> pc[TH(c, x_i)] = 0; timer[TH(c, x_i)] = NEVER; awaits[TH(c, x_i)] = 0; x_i++
	:: else -> break
	od;
	x_i = 0;
	forget(c)
}

inline go_on(c)
{
	paused[c] = 0;
	x_i = 0;
	do
	:: x_i < SLOTS ->
		if
		:: mst[(c) * SLOTS + x_i] == HOLD -> mst[(c) * SLOTS + x_i] = REQ
		:: else
		fi;
		x_i++
	:: else -> break
	od;
	x_i = 0
}

#ifdef MODES
#define FOR_READING	:: d_step { ready && RUNS(ME) && phase[ME] == IDLE -> \
		BEGIN; reads[ME] = 1; IS_READING; call_acquire(ME); END } \
	:: d_step { ready && many_pause != 0 && RUNS(ME) && phase[ME] == IDLE -> \
		BEGIN; reads[ME] = 1; IS_READING; call_acquire(ME); hold_back(ME); END }
#define MAY_WRITE(c)	(believes[c] && !written[c] && !reads[c])
#else
#define FOR_READING
#define MAY_WRITE(c)	(believes[c] && !written[c])
#endif

#if THREADS == 2
#define SECOND_THREAD	:: d_step { ready && RUNS(ME) && timer[TH(ME, 1)] == 0 -> BEGIN; wake(ME, 1); END } \
	:: d_step { ready && many_pause != 0 && RUNS(ME) && timer[TH(ME, 1)] == 0 -> \
		BEGIN; wake(ME, 1); hold_back(ME); END }
#else
#define SECOND_THREAD
#endif

active [CLIENTS] proctype client()
{
	do
	:: d_step { ready && RUNS(ME) && (phase[ME] == IDLE || (phase[ME] == HELD && holds[ME] < MAX_HOLDS)) ->
		BEGIN; call_acquire(ME); END }
	:: d_step { ready && many_pause != 0 && RUNS(ME) &&
		(phase[ME] == IDLE || (phase[ME] == HELD && holds[ME] < MAX_HOLDS)) ->
		BEGIN; call_acquire(ME); hold_back(ME); END }
	FOR_READING
	:: d_step { ready && RUNS(ME) && phase[ME] == HELD -> BEGIN; call_release(ME); END }
	:: d_step { ready && many_pause != 0 && RUNS(ME) && phase[ME] == HELD ->
		BEGIN; call_release(ME); hold_back(ME); END }
	:: d_step { ready && RUNS(ME) && timer[TH(ME, 0)] == 0 -> BEGIN; wake(ME, 0); END }
	:: d_step { ready && many_pause != 0 && RUNS(ME) && timer[TH(ME, 0)] == 0 ->
		BEGIN; wake(ME, 0); hold_back(ME); END }
	SECOND_THREAD
	:: d_step { ready && RUNS(ME) && phase[ME] == HELD && MAY_WRITE(ME) -> BEGIN; write(ME); END }
	:: d_step { ready && many_crash != 0 && phase[ME] != DEAD -> BEGIN; IS_FAULT; many_crash--; die(ME); END }
	:: d_step { ready && many_pause != 0 && RUNS(ME) -> BEGIN; stand_still(ME); END }
	:: d_step { ready && paused[ME] != 0 -> BEGIN; go_on(ME); END }
	:: d_step { ready && many_overrun != 0 && RUNS(ME) && believes[ME] && !overruns[ME] ->
		BEGIN; IS_FAULT; many_overrun--; overruns[ME] = 1; END }
	od
}

/* --- servers fail -------------------------------------------------------------------- */

inline wipe(n)
{
	x_k = 0;
	do
	:: x_k < KEYS -> kown[KEY(n, x_k)] = 0; kval[KEY(n, x_k)] = 0; klife[KEY(n, x_k)] = 0; x_k++
	:: else -> break
	od;
	x_k = 0
}

#ifdef REPLICA
/* The replica takes over; it may lack the last write. */
inline promote(n, lacks)
{
	many_failover--;
	x_k = 0;
	do
	:: x_k < ALLKEYS ->
		if
		:: lacks && x_k / KEYS == n ->
			kown[x_k] = hown[x_k]; kval[x_k] = hval[x_k]; klife[x_k] = hlife[x_k]
		:: else
		fi;
		x_k++
	:: else -> break
	od;
	if
	:: many_failover == 0 ->	/* no replica will be asked any more */
		x_k = 0;
		do
		:: x_k < ALLKEYS -> hown[x_k] = 0; hval[x_k] = 0; hlife[x_k] = 0; x_k++
		:: else -> break
		od
	:: else
	fi;
	x_k = 0;
	break_off(n)
}
#endif

active [NODES] proctype node()
{
	do
	:: d_step { ready && many_restart != 0 -> BEGIN; IS_FAULT; many_restart--; wipe(IT); break_off(IT); END }
	:: d_step { ready && many_flush != 0 -> BEGIN; IS_FAULT; many_flush--; wipe(IT); END }
#ifdef REPLICA
	:: d_step { ready && many_failover != 0 -> BEGIN; IS_FAULT; promote(IT, 0); END }
	:: d_step { ready && many_failover != 0 -> BEGIN; IS_FAULT; promote(IT, 1); END }
#endif
	od
}

/* --- time ---------------------------------------------------------------------------- */

/* Must something happen before the next tick? */
#define URGENT_MESSAGE(m) \
	(mlate[m] == 0 && (mst[m] == REQ || ((mst[m] == REP || mst[m] == BROKEN) && paused[OF(m)] == 0)))
#ifdef RENEWS
#define URGENT_RELEASE(c)	0
#define URGENT_TWICE(c)	0
#else
#define URGENT_RELEASE(c)	(RUNS(c) && phase[c] == HELD && !overruns[c] && lease[c] <= 1)
#define URGENT_TWICE(c)	(RUNS(c) && phase[c] == HELD && !overruns[c] && lease[c] <= 2)
#endif
#define URGENT_CLIENT(c)	(URGENT_RELEASE(c) || paused[c] == 1 || \
	(RUNS(c) && (timer[TH(c, 0)] == 0 || timer[TH(c, THREADS - 1)] == 0)))

#if SLOTS == 3
#define OF_CLIENT(c)	(URGENT_CLIENT(c) || URGENT_MESSAGE((c) * 3) || URGENT_MESSAGE((c) * 3 + 1) || \
	URGENT_MESSAGE((c) * 3 + 2))
#endif
#if CLIENTS == 2
#define URGENT	(OF_CLIENT(0) || OF_CLIENT(1))
#else
#define URGENT	(OF_CLIENT(0) || OF_CLIENT(1) || OF_CLIENT(2))
#endif

#define LESS(x, by)	((x) > (by) -> (x) - (by) : 0)

/* All clocks go on by one tick; that of client who (if it is one) by ticks. */
inline pass(who, ticks)
{
	x_i = 0;
	do
	:: x_i < CLIENTS ->
		x_a = (x_i == (who) -> ticks : 1);
		lease[x_i] = LESS(lease[x_i], x_a);
#ifdef NESTS
		anew[x_i] = LESS(anew[x_i], x_a);
#endif
		if
		:: (phase[x_i] == IDLE || phase[x_i] == DEAD) && quiet[x_i] < life -> quiet[x_i]++
		:: else
		fi;
		if
		:: paused[x_i] > 1 -> paused[x_i]--
		:: else
		fi;
		x_k = 0;
		do
		:: x_k < THREADS ->
			if
			:: timer[TH(x_i, x_k)] != NEVER -> timer[TH(x_i, x_k)] = LESS(timer[TH(x_i, x_k)], x_a)
			:: else
			fi;
			x_k++
		:: else -> break
		od;
		x_k = 0;
		x_i++
	:: else -> break
	od;
	x_i = 0; x_a = 0;
	do
	:: x_i < CLIENTS * SLOTS ->
		if
		:: mlate[x_i] != 0 -> mlate[x_i]--
		:: else
		fi;
		x_i++
	:: else -> break
	od;
	x_i = 0;
	do
	:: x_i < ALLKEYS ->
		if
		:: kown[x_i] != 0 && klife[x_i] != NEVER ->
			klife[x_i]--;
			if
			:: klife[x_i] == 0 -> kown[x_i] = 0; kval[x_i] = 0
			:: else
			fi
		:: else
		fi;
#ifdef REPLICA
		if
		:: hown[x_i] != 0 && hlife[x_i] != NEVER ->
			hlife[x_i]--;
			if
			:: hlife[x_i] == 0 -> hown[x_i] = 0; hval[x_i] = 0
			:: else
			fi
		:: else
		fi;
#endif
		x_i++
	:: else -> break
	od;
	x_i = 0;
	age();
	IS_TICK
}

#define DRIFTS(c)	:: d_step { ready && many_drift != 0 && phase[c] != DEAD && !(URGENT) -> \
		BEGIN; IS_FAULT; many_drift--; pass(c, 0); END } \
	:: d_step { ready && many_drift != 0 && phase[c] != DEAD && !(URGENT) && !URGENT_TWICE(c) -> \
		BEGIN; IS_FAULT; many_drift--; pass(c, 2); END }

active proctype clock()
{
	d_step {
		c_code {
			now.life = parameter("LIFE", 3);
			now.patience = parameter("PATIENCE", 1);
			now.many_crash = parameter("CRASH", 0);
			now.many_pause = parameter("PAUSE", 0);
			now.many_overrun = parameter("OVERRUN", 0);
			now.many_delay = parameter("DELAY", 0);
			now.many_loss = parameter("LOSS", 0);
			now.many_restart = parameter("RESTART", 0);
			now.many_flush = parameter("FLUSH", 0);
			now.many_failover = parameter("FAILOVER", 0);
			now.many_drift = parameter("DRIFT", 0);
			if (getenv("GRAPH"))
				graph = fopen(getenv("GRAPH"), "wb");
		};
		x_i = 0;
		do
		:: x_i < CLIENTS * THREADS -> timer[x_i] = NEVER; x_i++
		:: else -> break
		od;
		x_i = 0;
		do
		:: x_i < CLIENTS -> quiet[x_i] = life; x_i++
		:: else -> break
		od;
		x_i = 0;
		c_code { if (graph) { now.ready = 1; before(); after(); } };
		ready = 1
	};
	do
	:: d_step { ready && !(URGENT) -> BEGIN; pass(NEVER, 1); END }
	DRIFTS(0)
	DRIFTS(1)
#if CLIENTS == 3
	DRIFTS(2)
#endif
	od
}
