// Command porcupine says of histories of lockproof (docs/history.md) whether a
// mutex explains them. It reads one history after the other from its standard
// input, each beginning with its header, and prints a line for each: "legal" or
// "illegal".
//
// The model is that of a lock in the eyes of its clients, as the oracle
// mutual-exclusion-belief asks for it: an acquire that succeeded takes the lock,
// at some time between its call and its end, and can only take it from nobody or
// from its own client. A release gives it back at some time between its call and
// its end, whatever it says. A client that died, or was told that its lock is
// lost, has it no longer. An acquire of unknown outcome may take it or not.
//
// The parser is this file's own. It shares nothing with lockproof.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

// A line of a history.
type line struct {
	Schema    string          `json:"schema"`
	Reentrant bool            `json:"reentrant"`
	Time      int64           `json:"time"`
	Process   json.RawMessage `json:"process"`
	Type      string          `json:"type"`
	F         string          `json:"f"`
	Value     struct {
		Key    *string `json:"key"`
		Client *int    `json:"client"`
		Phase  string  `json:"phase"`
	} `json:"value"`
}

// What a client does to the lock of one key.
type step struct {
	client int
	// Its place among all that the client does to this key.
	number int
	kind   kind
}

type kind int

const (
	acquired kind = iota
	perhapsAcquired
	released
	gone
)

// Who has the lock, how often, and what each client has done so far. A string
// for the latter, so that states can be compared.
type state struct {
	holder int
	depth  int
	done   string
}

const nobody = -1

// The number of the next step of this client, and the state after it.
func next(done string, client int) (int, string) {
	counts := strings.Split(done, ",")
	count, _ := strconv.Atoi(counts[client])
	counts[client] = strconv.Itoa(count + 1)
	return count, strings.Join(counts, ",")
}

func mutex(clients int, reentrant bool) porcupine.Model {
	free := func(s state) state { return state{nobody, 0, s.done} }
	taken := func(s state, client int) []interface{} {
		switch {
		case s.holder == nobody:
			return []interface{}{state{client, 1, s.done}}
		case s.holder != client:
			return nil
		case reentrant:
			return []interface{}{state{client, s.depth + 1, s.done}}
		default:
			return []interface{}{s}
		}
	}
	model := porcupine.NondeterministicModel{
		Init: func() []interface{} {
			done := strings.TrimSuffix(strings.Repeat("0,", clients), ",")
			return []interface{}{state{nobody, 0, done}}
		},
		Step: func(before, input, _ interface{}) []interface{} {
			s, it := before.(state), input.(step)
			// A client does one thing after the other, also where times are equal.
			count, done := next(s.done, it.client)
			if count != it.number {
				return nil
			}
			s.done = done
			mine := s.holder == it.client
			switch it.kind {
			case acquired:
				return taken(s, it.client)
			case perhapsAcquired:
				return append(taken(s, it.client), s)
			case released:
				if mine && reentrant && s.depth > 1 {
					return []interface{}{state{s.holder, s.depth - 1, s.done}}
				}
			}
			if mine {
				return []interface{}{free(s)}
			}
			return []interface{}{s}
		},
	}
	return model.ToModel()
}

// A history, as far as it is read.
type history struct {
	reentrant bool
	lines     []line
}

// What a client did, in its own order; a death has no line of its own here.
type event struct {
	time int64
	line *line
}

// The key's name; one without a name is none of the others.
func key(name *string) string {
	if name == nil {
		return "none"
	}
	return "named " + *name
}

// The dead say nothing: a death comes after all that its client says at that
// time, but before what it begins inside of an operation.
func insertDeath(own []event, time int64) []event {
	open := false
	at := len(own)
	for place, it := range own {
		begins := it.line != nil && it.line.Type == "invoke"
		if it.time > time || (it.time == time && begins && open) {
			at = place
			break
		}
		switch {
		case it.line == nil:
			open = false
		case it.line.F == "lost" || it.line.F == "stall":
		default:
			open = begins
		}
	}
	own = append(own, event{})
	copy(own[at+1:], own[at:])
	own[at] = event{time, nil}
	return own
}

// What all clients did, each by its number among them.
func (h *history) clients() [][]event {
	numbers := map[int]int{}
	var all [][]event
	of := func(client int) int {
		if _, known := numbers[client]; !known {
			numbers[client] = len(all)
			all = append(all, nil)
		}
		return numbers[client]
	}
	sort.SliceStable(h.lines, func(a, b int) bool { return h.lines[a].Time < h.lines[b].Time })
	for at := range h.lines {
		it := &h.lines[at]
		if client, err := strconv.Atoi(string(it.Process)); err == nil {
			place := of(client)
			all[place] = append(all[place], event{it.Time, it})
		}
	}
	for _, it := range h.lines {
		if it.F == "crash" && it.Value.Phase != "end" && it.Value.Client != nil {
			place := of(*it.Value.Client)
			all[place] = insertDeath(all[place], it.Time)
		}
	}
	return all
}

// What each client did to each key.
func (h *history) operations() (map[string][]porcupine.Operation, int) {
	byKey := map[string][]porcupine.Operation{}
	keys := map[string]bool{}
	clients := h.clients()
	for _, own := range clients {
		for _, it := range own {
			if it.line != nil && it.line.F == "acquire" {
				keys[key(it.line.Value.Key)] = true
			}
		}
	}
	for client, own := range clients {
		counts := map[string]int{}
		number := func(key string) int {
			counts[key]++
			return counts[key] - 1
		}
		add := func(key string, number int, kind kind, call, end int64) {
			it := step{client, number, kind}
			byKey[key] = append(byKey[key], porcupine.Operation{
				ClientId: client, Input: it, Call: call, Return: end,
			})
		}
		lastKey := "none"
		var open *line
		openKey, toldLost, openNumber := "", false, 0
		end := func(time int64, how string) {
			if open == nil {
				return
			}
			switch {
			case open.F == "release":
				add(openKey, openNumber, released, open.Time, time)
			case open.F != "acquire" || how == "fail":
			case how == "ok" && !toldLost:
				add(openKey, number(openKey), acquired, open.Time, time)
			default:
				add(openKey, number(openKey), perhapsAcquired, open.Time, time)
			}
			open = nil
		}
		for _, it := range own {
			switch {
			case it.line == nil:
				end(it.time, "info")
				for key := range keys {
					add(key, number(key), gone, it.time, it.time)
				}
			case it.line.F == "lost":
				named := it.line.Value.Key
				for key_ := range keys {
					if named == nil || key(named) == key_ {
						add(key_, number(key_), gone, it.time, it.time)
					}
				}
				toldLost = toldLost || named == nil || key(named) == openKey
			case it.line.F == "stall":
			case it.line.Type == "invoke":
				open, toldLost = it.line, false
				openKey = key(it.line.Value.Key)
				if it.line.F == "acquire" {
					lastKey = openKey
				} else if it.line.F == "release" {
					if it.line.Value.Key == nil {
						openKey = lastKey
					}
					// A hold ends with the call, whatever comes before the end.
					openNumber = number(openKey)
				}
			default:
				end(it.time, it.line.Type)
			}
		}
		end(math.MaxInt64, "info")
	}
	return byKey, len(clients)
}

func (h *history) legal() bool {
	byKey, clients := h.operations()
	for _, operations := range byKey {
		if !porcupine.CheckOperations(mutex(clients, h.reentrant), operations) {
			return false
		}
	}
	return true
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 64<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	var current *history
	tell := func() {
		if current == nil {
			return
		}
		if current.legal() {
			fmt.Fprintln(out, "legal")
		} else {
			fmt.Fprintln(out, "illegal")
		}
	}
	for in.Scan() {
		if len(strings.TrimSpace(in.Text())) == 0 {
			continue
		}
		var it line
		if err := json.Unmarshal(in.Bytes(), &it); err != nil {
			fmt.Fprintln(os.Stderr, "not a line of a history:", err)
			os.Exit(1)
		}
		if it.Schema != "" {
			tell()
			current = &history{reentrant: it.Reentrant}
			continue
		}
		if current == nil {
			fmt.Fprintln(os.Stderr, "an event before the first header")
			os.Exit(1)
		}
		current.lines = append(current.lines, it)
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	tell()
}
