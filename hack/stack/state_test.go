package main

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"
)

func TestStateSurvivesBeingWritten(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	s, err := readState(dir)
	g.Expect(err).NotTo(HaveOccurred(), "no file is an empty state")
	s.Name, s.Kept = "dev", true
	s.Ports["redis"] = 20001
	s.put(part{Name: "kube-apiserver", Level: 1, Process: identity{PID: 7, Start: 9, Boot: "b"}})
	s.put(part{Name: "etcd", Level: 0})
	s.put(part{Name: "etcd", Level: 0, Version: "3.7.3"})
	g.Expect(s.write(dir)).To(Succeed())

	again, err := readState(dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(Equal(s))
	g.Expect(again.Parts).To(HaveLen(2))
	g.Expect(again.Parts[0]).To(Equal(part{Name: "etcd", Version: "3.7.3"}), "lower levels come first")
	again.drop("etcd")
	g.Expect(again.part("etcd")).To(BeNil())
	g.Expect(again.part("kube-apiserver").Process.PID).To(Equal(7))
}

func TestStateOfAnotherVersionIsRefused(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	g.Expect(os.WriteFile(stateFile(dir), []byte(`{"version": 2}`), 0o644)).To(Succeed())
	_, err := readState(dir)
	g.Expect(err).To(MatchError(ContainSubstring("has version 2, and this program knows version 1")))
}

func TestDeadUsersAreForgotten(t *testing.T) {
	g := NewWithT(t)
	me, err := identify(os.Getpid())
	g.Expect(err).NotTo(HaveOccurred())
	gone := me
	gone.Start--
	s := state{Users: []identity{gone, me}}
	s.dropDeadUsers()
	g.Expect(s.Users).To(Equal([]identity{me}))
}
