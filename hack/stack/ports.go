package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are taken from below the range that the kernel hands out for outgoing connections, so that a port stays free while
// the server that owns it restarts.
const (
	portsFrom = 20000
	portsTo   = 32000
)

// ports remembers which port belongs to whom, so that an address survives a restart.
type ports map[string]int

// of returns owner's port, choosing one that nobody listens on the first time.
func (p ports) of(owner string) (int, error) {
	if port := p[owner]; port != 0 {
		return port, nil
	}
	taken := map[int]bool{}
	for _, port := range p {
		taken[port] = true
	}
	for range 200 {
		port := portsFrom + rand.IntN(portsTo-portsFrom)
		if taken[port] || !portFree(port) {
			continue
		}
		p[owner] = port
		return port, nil
	}
	return 0, fmt.Errorf("no free loopback port for %s between %d and %d", owner, portsFrom, portsTo)
}

func portFree(port int) bool {
	l, err := net.Listen("tcp", loopback(port))
	if err != nil {
		return false
	}
	l.Close()
	return true
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
