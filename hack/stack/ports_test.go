package main

import (
	"net"
	"testing"

	. "github.com/onsi/gomega"
)

func TestPortsAreStableAndDistinct(t *testing.T) {
	g := NewWithT(t)
	p := ports{}
	seen := map[int]bool{}
	for _, owner := range []string{"etcd", "etcd-peer", "redis", "mongodb"} {
		port, err := p.of(owner)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(port).To(And(BeNumerically(">=", 20000), BeNumerically("<", 32000)))
		g.Expect(seen).NotTo(HaveKey(port))
		seen[port] = true
		g.Expect(p.of(owner)).To(Equal(port))
	}
}

func TestAPortInUseIsNotFree(t *testing.T) {
	g := NewWithT(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	port := l.Addr().(*net.TCPAddr).Port
	g.Expect(portFree(port)).To(BeFalse())
	g.Expect(l.Close()).To(Succeed())
	g.Expect(portFree(port)).To(BeTrue())
}
