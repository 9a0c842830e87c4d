// Package e2e runs the real binary, with the rights of its real service account, against a real control plane with
// scheduler, job controller and garbage collector, on nodes whose pods run, fail or hang as their annotations say.
package e2e
