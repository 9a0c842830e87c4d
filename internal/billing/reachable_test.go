package billing

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// world is a model of everything around the rule book: books with guards, workloads, a lane and a clock. It exists to walk
// every state that signals can lead to.
type world struct {
	order    Order
	books    *Books
	rows     []string
	reported Reported
	attempts map[int]Attempt
	signals  Signals
	now      time.Time
	due      bool
	finished bool
	inLane   int
	dead     int
	// everSucceeded tells that an attempt succeeded, or that a signal said so, while the order still stood.
	everSucceeded bool
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newWorld(referenced, keep bool) *world {
	w := &world{
		order: Order{Templated: true, MaxRetries: 1, Deadline: time.Hour, Keep: keep, Referenced: referenced},
		now:   epoch, attempts: map[int]Attempt{},
	}
	if referenced {
		w.attempts[0] = Attempt{Number: 0, Exists: true, Referenced: true, Phase: Pending}
	}
	return w
}

func (w *world) clone() *world {
	c := *w
	if w.books != nil {
		b := *w.books
		c.books = &b
	}
	c.rows = slices.Clone(w.rows)
	c.attempts = map[int]Attempt{}
	for n, a := range w.attempts {
		c.attempts[n] = a
	}
	return &c
}

func (w *world) key() string {
	var b strings.Builder
	if w.books != nil {
		books := *w.books
		books.ChargedAt, books.RefundedAt, books.DeliveredAt = time.Time{}, time.Time{}, time.Time{}
		books.NotBefore = time.Time{}
		fmt.Fprintf(&b, "%+v retry=%t", books, w.books.IsRetry())
	}
	for n := range 6 {
		if a, ok := w.attempts[n]; ok {
			fmt.Fprintf(&b, "|%d %t %t %t %t %t %s %t %t", n, a.Exists, a.Vanished, a.Held, a.Deleting, a.Gone, a.Phase,
				a.Clock.RunningSince.IsZero(), a.Clock.expiry(time.Hour).After(w.now))
		}
	}
	fmt.Fprintf(&b, "|%+v|%v|%d|%d|%t%t|%t", w.signals, w.rows, w.inLane, w.dead, w.order.Cancel, w.order.Deleting, w.finished)
	return b.String()
}

func (w *world) input() *Input {
	in := &Input{
		Now: w.now, LaneNow: w.now, Order: w.order, Books: w.books, Reported: w.reported, Signals: w.signals, Due: w.due, TriedOut: true,
	}
	for _, a := range w.attempts {
		in.Attempts = append(in.Attempts, a)
	}
	return in
}

// settle lets the shell work until the rule book waits, and then reports.
func (w *world) settle(t *testing.T) {
	t.Helper()
	for range 40 {
		in := w.input()
		in.RowsProven = true
		d := Decide(in)
		if d.Verb == Wait {
			w.report()
			return
		}
		w.apply(t, d)
		if w.finished {
			return
		}
	}
	t.Fatalf("never comes to rest: %s", w.key())
}

func (w *world) report() {
	if b := w.books; b != nil {
		w.reported = Reported{
			Charged: true, Refunded: b.Refunded, Reclaimed: b.Reclaimed, Delivered: b.Delivered,
			DeadLettered: b.DeadLettered, Announced: b.IsRetry() && !b.DeadLettered,
		}
		for n, a := range w.attempts {
			if n < b.Attempt {
				a.Settled = true
				w.attempts[n] = a
			}
		}
	}
}

func (w *world) apply(t *testing.T, d Decision) {
	t.Helper()
	b := w.books
	switch d.Verb {
	case Hold:
		w.order.Held = true
	case Claim, Adopt:
		a := w.attempts[d.Attempt]
		a.Held = true
		w.attempts[d.Attempt] = a
	case Charge:
		w.books = &Books{Mine: true, ChargedAt: w.now}
		w.rows = append(w.rows, "charge")
	case Deliver:
		if b.Refunded || b.Delivered {
			t.Fatalf("deliver proposed against its guard: %s", w.key())
		}
		b.Delivered, b.DeliveredAt = true, w.now
	case Reclaim:
		if !b.Refunded || b.Reclaimed {
			t.Fatalf("reclaim proposed against its guard: %s", w.key())
		}
		b.Reclaimed, b.Delivered, b.DeliveredAt = true, true, w.now
		w.rows = append(w.rows, "reclaim")
	case Refund, FailAgain:
		if b.Delivered || b.DeadLettered || b.Refunded != (d.Verb == FailAgain) || b.Attempt != d.Attempt {
			t.Fatalf("%s of attempt %d proposed against its guard: %s", d.Verb, d.Attempt, w.key())
		}
		if d.Verb == Refund {
			b.Refunded, b.RefundedAt = true, w.now
			w.rows = append(w.rows, "refund")
		}
		b.LatestFailure = ""
		switch d.Then {
		case ThenRetry:
			b.Attempt, b.Retries, b.NotBefore = b.Attempt+1, b.Retries+1, w.now.Add(time.Minute)
			w.reported.Announced = false
		case ThenDeadLetter:
			b.DeadLettered = true
			w.reported.DeadLettered = false
		}
	case Redrive:
		b.DeadLettered, b.Attempt, b.Retries, b.Redrives, b.NotBefore = false, b.Attempt+1, 0, b.Redrives+1, w.now
		w.reported.Announced = false
	case Push, PushAgain:
		w.inLane = b.Attempt
		w.reported.Announced = true
	case DeadLetter:
		w.dead++
		w.reported.DeadLettered = true
	case Stop:
		a := w.attempts[d.Attempt]
		a.Deleting, a.Gone = true, true
		w.attempts[d.Attempt] = a
	case Start:
		if b == nil || b.Delivered || b.DeadLettered || w.order.Cancel || w.order.Deleting {
			t.Fatalf("start proposed for a job that is over: %s", w.key())
		}
		for n, a := range w.attempts {
			if n < d.Attempt && !a.ended() {
				t.Fatalf("attempt %d started beside attempt %d: %s", d.Attempt, n, w.key())
			}
		}
		if _, ok := w.attempts[d.Attempt]; ok {
			t.Fatalf("attempt %d started twice: %s", d.Attempt, w.key())
		}
		w.attempts[d.Attempt] = Attempt{Number: d.Attempt, Exists: true, Held: true, Phase: Pending, CreatedAt: w.now}
	case Finish, Expire:
		w.finished = true
	default:
		t.Fatalf("unexpected %s", d.Verb)
	}
}

// signalsOf are all that can happen to the world, each with whether it can happen now.
func signalsOf(w *world) map[string]func(*world) {
	m := map[string]func(*world){}
	if w.finished {
		return m
	}
	for n, a := range w.attempts {
		if !a.Exists || a.Phase.Ended() {
			continue
		}
		m[fmt.Sprintf("run %d", n)] = func(w *world) {
			a.Phase = Running
			a.Clock = a.Clock.Advance(Observed{Phase: Running, Ready: true}, w.now)
			w.attempts[n] = a
		}
		m[fmt.Sprintf("fail %d", n)] = func(w *world) { a.Phase, a.Reason = Failed, "BackoffLimitExceeded"; w.attempts[n] = a }
		m[fmt.Sprintf("succeed %d", n)] = func(w *world) { a.Phase = Succeeded; w.attempts[n] = a; w.everSucceeded = true }
		m[fmt.Sprintf("delete %d", n)] = func(w *world) { a.Deleting, a.Gone = true, true; w.attempts[n] = a }
		m[fmt.Sprintf("lose sight of %d", n)] = func(w *world) { a.Phase = Unknown; w.attempts[n] = a }
		if a.Phase == Running {
			m["deadline"] = func(w *world) { w.now = w.now.Add(2 * time.Hour) }
		}
	}
	if b := w.books; b != nil {
		m["failed-at"] = func(w *world) { w.signals.Failed, w.signals.FailedAttempt = true, w.books.Attempt }
		m["delivered-at"] = func(w *world) { w.signals.Delivered = true; w.everSucceeded = true }
		if b.IsRetry() {
			m["due"] = func(w *world) { w.now = w.now.Add(10 * time.Minute); w.due = true }
		}
		if b.DeadLettered {
			m["redrive"] = func(w *world) { w.signals.Redrive, w.signals.Redrives = true, w.books.Redrives }
		}
	}
	m["cancel"] = func(w *world) { w.order.Cancel = true }
	m["delete order"] = func(w *world) { w.order.Deleting = true }
	return m
}

func (w *world) check(t *testing.T, path []string) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("after %v: %s\n%s", path, fmt.Sprintf(format, args...), w.key())
	}
	b := w.books
	if b == nil {
		return
	}
	switch rows := strings.Join(w.rows, " "); rows {
	case "charge":
		if b.Refunded || b.Net() != -1 {
			fail("one row, but the flags say otherwise")
		}
	case "charge refund":
		if !b.Refunded || b.Reclaimed || b.Delivered || b.Net() != 0 {
			fail("two rows, but the flags say otherwise")
		}
	case "charge refund reclaim":
		if !b.Refunded || !b.Reclaimed || !b.Delivered || b.Net() != -1 {
			fail("three rows, but the flags say otherwise")
		}
	default:
		fail("no legal ledger has the rows %q", rows)
	}
	if w.everSucceeded && !b.Delivered {
		fail("a success was not delivered")
	}
	if b.Delivered && !w.everSucceeded {
		fail("delivered without a success")
	}
}

// TestEveryReachableState walks all sequences of signals, up to a depth, and asserts after each of them what must always
// hold. The number of states is asserted so that the walk can't shrink unnoticed.
func TestEveryReachableState(t *testing.T) {
	const depth = 6
	seen := map[string]int{}
	var walk func(w *world, path []string)
	walk = func(w *world, path []string) {
		w.settle(t)
		w.check(t, path)
		w.due = false
		key := fmt.Sprintf("%t%t", w.order.Referenced, w.order.Keep) + w.key()
		if at, ok := seen[key]; ok && at <= len(path) {
			return
		}
		seen[key] = len(path)
		if len(path) == depth {
			return
		}
		possible := signalsOf(w)
		for _, name := range sortedKeys(possible) {
			next := w.clone()
			possible[name](next)
			walk(next, append(slices.Clone(path), name))
		}
	}
	for _, referenced := range []bool{false, true} {
		for _, keep := range []bool{false, true} {
			walk(newWorld(referenced, keep), nil)
		}
	}
	t.Logf("%d states", len(seen))
	if want := reachableStates; len(seen) != want {
		t.Errorf("the walk covered %d states, not %d: if the rules changed on purpose, correct the number", len(seen), want)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// reachableStates is how many states the walk covers.
const reachableStates = 10244
