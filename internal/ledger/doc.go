// Package ledger keeps the books of billable jobs in MongoDB.
//
// The collection jobs holds one document a job and all of its state. The
// collection ledger is append-only and holds the rows. One principle runs
// through the package: the document decides, and the rows follow. The rows of a
// job are a pure function of its document, so anyone may write them again at any
// time, and a crash or a lost reply between the two is a delay and nothing more.
//
// What the package promises:
//
//   - Every change of a document is one conditional write (see the table in
//     edges.go). Of any number of writers that want the same edge, one is told
//     Won and the others AlreadyThere.
//   - A call returns without an error only after the rows that the document
//     demands were acknowledged by a majority, in the journal.
//   - A call may be repeated with the same arguments after any error, a lost
//     reply included. The repetition books nothing twice and comes out as a
//     success if the first call was one.
//   - A call that loses writes nothing but rows that the document demands
//     already and that were missing.
//   - A document returned by a call is the document as it was at some moment
//     during the call, never a mixture of two moments.
//   - The sum of a job's rows is 0 or -cost, and -cost for ever once it is
//     delivered. A job that costs 0 has rows like any other.
//   - The number of the current attempt never falls, and an attempt fails at
//     most once, however many signals say so.
//   - Credits are whole and 64-bit. A sum that doesn't fit is an error.
//   - Every call has a time-out, and its error says what was tried, on what
//     and where.
//
// What it never does: update or delete a row; overwrite what contradicts it
// (that is a ConflictError); read anything that decides from a secondary; use
// transactions or change streams, so that a standalone server is enough; ask
// the clock (moments come in from the caller, recorded_at from the server).
package ledger
