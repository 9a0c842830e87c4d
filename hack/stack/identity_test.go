package main

import (
	"os"
	"os/exec"
	"testing"

	. "github.com/onsi/gomega"
)

func TestParseStatReadsPastAnyCommandName(t *testing.T) {
	g := NewWithT(t)
	state, start, err := parseStat([]byte("42 (a) S (b) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 987654 20 21\n"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(state).To(Equal(byte('R')))
	g.Expect(start).To(Equal(uint64(987654)))
}

func TestParseStatRefusesWhatItDoesNotUnderstand(t *testing.T) {
	for _, stat := range []string{"", "42", "42 (a", "42 (a) R 1 2", "42 (a) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x 20"} {
		_, _, err := parseStat([]byte(stat))
		NewWithT(t).Expect(err).To(HaveOccurred(), stat)
	}
}

func TestARecycledPIDIsNotTheProcess(t *testing.T) {
	g := NewWithT(t)
	me, err := identify(os.Getpid())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(me.alive()).To(BeTrue())

	earlier := me
	earlier.Start--
	g.Expect(earlier.alive()).To(BeFalse(), "another process had this ID before")
	otherBoot := me
	otherBoot.Boot = "another"
	g.Expect(otherBoot.alive()).To(BeFalse(), "the ID is from before a reboot")
	g.Expect(identity{}.alive()).To(BeFalse())
}

func TestAnEndedProcessIsNotAliveEvenBeforeItIsReaped(t *testing.T) {
	g := NewWithT(t)
	cmd := exec.Command("cat")
	input, err := cmd.StdinPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cmd.Start()).To(Succeed())
	id, err := identify(cmd.Process.Pid)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(id.alive()).To(BeTrue())
	g.Expect(input.Close()).To(Succeed())
	g.Eventually(id.alive).Should(BeFalse())
	g.Expect(cmd.Wait()).To(Succeed())
}
