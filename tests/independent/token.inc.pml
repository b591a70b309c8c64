/*
 * Tokens: a text that no other attempt has. Of a token only one thing matters: which other
 * tokens are the same. So a client's tokens are numbered, and a number is used again as soon as
 * nothing in the world has it any more.
 */

/* c takes a token that nothing in the world has. */
inline fresh_token(c)
{
	gen[c] = 0;
	x_n = 0;
	do
	:: x_n == gen[c] ->	/* this number is in use: look again from the next */
		gen[c] = gen[c] + 1;
		x_k = 0;
		do
		:: x_k < SLOTS ->
			if
			:: mst[(c) * SLOTS + x_k] != FREE && marg[(c) * SLOTS + x_k] == gen[c] -> x_n = gen[c]
			:: else
			fi;
			x_k++
		:: else -> break
		od;
		x_k = 0;
		do
		:: x_k < ALLKEYS ->
			if
			:: kown[x_k] == (c) + 1 && kval[x_k] == gen[c] -> x_n = gen[c]
			:: else
			fi;
#ifdef REPLICA
			if
			:: hown[x_k] == (c) + 1 && hval[x_k] == gen[c] -> x_n = gen[c]
			:: else
			fi;
#endif
			x_k++
		:: else -> break
		od;
		x_k = 0
	:: else -> break
	od;
	x_n = 0
}
