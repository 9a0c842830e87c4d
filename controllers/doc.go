// Package controllers is the imperative shell around the rule book of internal/billing: it observes, asks for the one
// thing to do next, does it, and says in the BillableJob's status what was booked.
//
// What it promises:
//
//   - The job document decides. The status, the lane and the workloads follow it, and each can be made again from it.
//   - A transition shows in the status, in an event or in a metric only after its rows were acknowledged.
//   - A pass that has nothing to do writes nothing: not to the API server, not to the books, not to the lane.
//   - It is right with a stale cache, beside a second active manager and after a restart at any line.
package controllers
