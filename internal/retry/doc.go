// Package retry is the lane that brings failed jobs back: a Redis list that anyone may append to, a sorted set in which
// entries wait for their due time, and a list of dead letters for people.
//
// What it promises:
//
//   - Delivery is at least once. An entry in hand is under a lease, and returns when the lease ends.
//   - What is not due is never under a lease, and due times are judged by the Redis server's clock alone.
//   - Inside a script a destination is written before its source is removed.
//   - An entry that can't be decoded never blocks the lane: it is set aside with its bytes and the reason.
//   - A pass costs what is new and what is due, however much is waiting.
//
// It knows nothing of credits or workloads: an entry is a hint, and whoever takes it looks at the books.
package retry
