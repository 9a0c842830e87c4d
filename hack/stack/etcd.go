package main

import "path/filepath"

const etcdVersion = "3.7.3"

// planEtcd adds the store of the API server.
func (s *stack) planEtcd(binary, version string) (url string, err error) {
	port, err := s.port("etcd")
	if err != nil {
		return "", err
	}
	peer, err := s.port("etcd-peer")
	if err != nil {
		return "", err
	}
	url = "http://" + loopback(port)
	peerURL := "http://" + loopback(peer)
	data := filepath.Join(s.data(), "etcd")
	s.add(server{
		part:  part{Name: "etcd", Version: version, Address: loopback(port), Probe: url + "/health"},
		data:  data,
		ports: []string{"etcd", "etcd-peer"},
		command: []string{binary, "--data-dir", filepath.Join(data, "member"),
			"--listen-client-urls", url, "--advertise-client-urls", url,
			"--listen-peer-urls", peerURL, "--initial-advertise-peer-urls", peerURL, "--initial-cluster", "default=" + peerURL,
			// Losing a test's cluster in a power cut is no loss.
			"--unsafe-no-fsync"},
	})
	return url, nil
}
