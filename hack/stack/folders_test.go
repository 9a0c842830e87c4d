package main

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestStacksOfOtherCheckoutsAndNamesLiveElsewhere(t *testing.T) {
	g := NewWithT(t)
	here := stackFolder("/cache", "/src/a/recoup", "dev")
	g.Expect(here).To(MatchRegexp(`^/cache/stacks/recoup-[0-9a-f]{8}/dev$`))
	g.Expect(stackFolder("/cache", "/src/b/recoup", "dev")).NotTo(Equal(here))
	g.Expect(stackFolder("/cache", "/src/a/recoup", "test")).NotTo(Equal(here))
}

func TestNamesThatCouldLeaveTheFolderAreRefused(t *testing.T) {
	g := NewWithT(t)
	for _, name := range []string{"dev", "test-2"} {
		g.Expect(validName(name)).To(Succeed(), name)
	}
	for _, name := range []string{"", "..", "a/b", "-x", "Dev", "a b"} {
		g.Expect(validName(name)).NotTo(Succeed(), name)
	}
}
