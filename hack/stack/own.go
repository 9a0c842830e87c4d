package main

import "os"

// ownPrefix marks, in a shell that took the stack's variables over, which values were the stack's own.
const ownPrefix = "RECOUP_OWN_"

// replacing are the variables that name a server or programs to use in place of the stack's.
var replacing = []string{"MONGODB_URI", "REDIS_URL", "KUBEBUILDER_ASSETS"}

// forgetOwn drops the variables that `env` once printed: they point at a stack, and taken for the user's own servers they
// would make the stack stop what they point at.
func forgetOwn() error {
	for _, name := range replacing {
		if own := os.Getenv(ownPrefix + name); own != "" && own == os.Getenv(name) {
			if err := os.Unsetenv(name); err != nil {
				return err
			}
		}
	}
	return nil
}
