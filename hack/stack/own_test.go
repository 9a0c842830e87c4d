package main

import (
	"os"
	"testing"
)

func TestTheStacksOwnVariablesAreNotTakenForAUsers(t *testing.T) {
	t.Setenv("MONGODB_URI", "mongodb://stack")
	t.Setenv(ownPrefix+"MONGODB_URI", "mongodb://stack")
	t.Setenv("REDIS_URL", "redis://mine")
	t.Setenv(ownPrefix+"REDIS_URL", "redis://stack")
	if err := forgetOwn(); err != nil {
		t.Fatal(err)
	}
	if uri, set := os.LookupEnv("MONGODB_URI"); set {
		t.Errorf("MONGODB_URI is still %q, which the stack itself printed", uri)
	}
	if got := os.Getenv("REDIS_URL"); got != "redis://mine" {
		t.Errorf("REDIS_URL is %q, want the user's own", got)
	}
}
