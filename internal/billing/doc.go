// Package billing is the rule book: a pure function from what was observed (the order, its job document, its attempts,
// signals, the clock) to the one thing to do next.
//
// What it promises:
//
//   - Decide has no client, reads no clock and keeps no state. The same Input gives the same Decision.
//   - The rules stand in one ordered chain, in rules.go. The first one that has something to say decides, and there is no
//     second copy of a rule anywhere else.
//   - Nothing is started before it was charged, success of any attempt delivers, an attempt fails at most once, and what is
//     unknown moves no credits.
//   - A decision to move credits is a proposal: the books' guards have the last word. Whoever loses a guard looks again and
//     calls Decide again.
package billing
