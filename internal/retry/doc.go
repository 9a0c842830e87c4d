// Package retry carries retries through Redis: a list that anyone may push to,
// and a list of dead letters for people.
//
// A retry is one RPUSH of a JSON object (Entry) to the retry list. A consumer
// takes what is due under a lease; what is not due yet is parked in a sorted set
// by its due time and comes back when it is due. An entry is a hint: what is to
// be done about it comes from elsewhere, so that delivering one twice is wasted
// work and no more.
//
// What the package promises:
//
//   - Delivery is at least once. An entry is at every moment in the list, parked
//     or leased: wherever it goes, the destination is written before the source
//     is removed, and both in one script. A holder that dies, or a reply that is
//     lost, delays an entry by the lease and no more.
//   - While an entry waits or is in hand, pushing the same bytes again adds
//     nothing. Entry.Encode is deterministic for that reason.
//   - What is not due is never leased. Due times are judged by the Redis
//     server's clock alone.
//   - A pass costs what is new and what is due, whatever is waiting, and is
//     bounded in entries and bytes.
//   - An entry that can't be decoded goes to the dead letters with its bytes and
//     the reason, once, and blocks nothing.
//   - There is one dead letter a job, and none is ever trimmed away.
//   - A server that is full still lets its entries be taken, given back and
//     buried; only new ones are refused, with an error that says so.
//   - Every call but Wait, which is given its time, has a time-out. Its error
//     says what was tried, on what and where, and never quotes a password.
//
// What it never does: decide whether a job may run; touch a key that doesn't
// start with one of the two names; expire a key; walk over everything that
// waits; work against a lane that belongs to another cluster.
package retry
