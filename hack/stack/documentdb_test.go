package main

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestTheMirrorIsDebiansOwnArchive(t *testing.T) {
	g := NewWithT(t)
	g.Expect(mirrorIn("|vendor|https://packages.vendor.example/apt\nDebian|Debian-Security|http://mirror.example/debian-security\nDebian|Debian|http://mirror.example/debian\n")).
		To(Equal("http://mirror.example/debian"))
	g.Expect(mirrorIn("Ubuntu|Ubuntu|http://mirror.example/ubuntu\n")).To(BeEmpty())
	g.Expect(mirrorIn("Debian|Debian|cdrom://disc\n")).To(BeEmpty())
	g.Expect(mirrorIn("")).To(BeEmpty())
}
